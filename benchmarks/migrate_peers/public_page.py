"""The part of docs/measurements/migration-peers.md about public programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from public import PUBLIC_TOOLS

HEAD = """\
## Public programs

The same public programs as in [migrated-programs.md](migrated-programs.md), whole, each by
crosscast and by the tool made for its era. No tool was given more than the files.

- parses: programs of which every file that parsed before still does; of a new folder, every file.
- names absent: programs that still name something that Paddle 3.3.1 does not have, and how many
  such names there are in all.
- runs: of the programs whose data can be made up, those that reach 20 updates, or their end, on a
  CPU with the same stand-ins.
- scaled: of these runs, those in which a loss scale was observed at the optimizer.

PaConvert and `crosscast migrate --to paddle` both start from PyTorch, but they write different
things: PaConvert rewrites each file of a program, and crosscast writes one training script with
the model, the data and what it could not read left to fill in. Only parsing and names are compared,
because neither result runs without further work. tf_upgrade_v2 and paddle_upgrade_tool upgrade to
the first releases of the next version, TensorFlow 2.0 and Paddle 2.0, and are judged here by
today's, because those cannot be installed any more. None of them claims to move mixed precision.
No public tool brings Paddle 2 to Paddle 3, or apex to torch.amp.

| era | tool | programs | written | parses | names absent | runs | scaled |
|---|---|--:|--:|--:|--:|--:|--:|
"""


def public_part(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of the part; none if the public programs were not measured."""
    if not found:
        return
    rows = found["rows"]
    yield HEAD.rstrip("\n")
    eras = dict.fromkeys(name.partition("/")[0] for name in rows)
    for era in eras:
        for name, tool in PUBLIC_TOOLS.items():
            mine = [of[name] for key, of in rows.items() if key.startswith(f"{era}/") if name in of]
            if mine:
                yield f"| {era} | {tool.title} | {' | '.join(_cells(mine))} |"
    yield ""
    versions = (f"{name} {version}" for name, version in sorted(found["versions"].items()))
    yield f"Versions: {', '.join(versions)}.\n"
    yield "How each run ended:\n"
    yield "| program | tool | updates | end |"
    yield "|---|---|--:|---|"
    for key, of in rows.items():
        for name, row in of.items():
            if "runs" in row:
                why = " ".join(word for word in row["why"].split() if word.count("/") < 3)
                end = "ran" if row["runs"] else why.replace("|", "/")
                yield f"| {key} | {PUBLIC_TOOLS[name].title} | {row['updates']} | {end} |"
    yield ""


def _cells(rows: list[Mapping[str, Any]]) -> Iterator[str]:
    written = [row for row in rows if row["answer"] == "written"]
    yield str(len(rows))
    yield str(len(written))
    yield str(sum(not row["broken"] for row in written))
    named = [row["absent"] for row in written if "absent" in row]
    yield f"{sum(map(bool, named))} ({sum(map(len, named))})" if named else ""
    ran = [row for row in rows if "runs" in row]
    yield f"{sum(row['runs'] for row in ran)} of {len(ran)}" if ran else ""
    yield str(sum(row["scaled"] and row["runs"] for row in ran)) if ran else ""
