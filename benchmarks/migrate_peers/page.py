"""Write docs/migration-peers.md from what was measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cases import CASES, Case
from tools import TOOLS

Row = Mapping[str, Any]

HEAD = """\
# Migration: the tools of today on the same scripts

Written by one run of `python benchmarks/migrate_peers`; do not edit. See the end for how to
measure again.

Thirteen small training scripts (`benchmarks/migrate_peers/inputs/`) go through the tools that
people would use today. Each script trains on made-up rows in seconds on a CPU and prints its
losses.

- parses: `ast.parse`.
- runs: in a process of its own, with the frameworks named below.
- same curve: largest relative deviation of the first 50 losses from those of the source, where the
  source still runs; a loss below a hundredth of the largest counts as that. Bold: not the same.
- lost silently: of a list of facts written by hand for each input (decay, epsilon, scale, clip
  limit, ...), those that `crosscast lift` no longer reads in the output, or that were not in effect
  in the run, and that no warning of the tool names. Those that a warning names stand under "told".

Where the sources run: those of torch.cuda.amp and of Paddle in today's versions; those of
TensorFlow in TensorFlow 2.5; those of apex in today's PyTorch with a stand-in for apex (forty
lines, `benchmarks/migrate_peers/stand_in/`), because apex.amp is no longer to be had and never ran
on a CPU. Without a GPU the scripts of torch.amp, apex and Paddle compute in float32, and loss
scales are powers of two that cancel: there a curve shows optimizer, accumulation, clipping and
schedule, and is the same within 1e-5.

What crosscast writes for PyTorch and for Keras computes in float16 on a CPU too. Beside a source
that does not, it is run twice: as it is written, where the bound is 3e-2 ("in half"), and from the
same source with half precision turned off by `--set`, where the bound is 1e-5. Both must hold.
Sources of Keras compute in float16 themselves, as does the model halved by hand: the bound is 3e-2.
Half precision itself is a matter of the facts.

To be fair:

- PaConvert is for the names of the API, line by line; what it does not know it marks with
  `>>>>>>`, and says so. Such a file does not parse until it is edited by hand, on purpose.
- Ivy is for functions and classes of models, not for training scripts; it is given `main`, which
  brings the layers, losses and optimizers of PyTorch with it. That takes minutes for an input, so
  Ivy is given a choice of them (`--ivy-inputs`); the others are "not tried".
- `tf_upgrade_v2` is for TensorFlow 1 to TensorFlow 2 as of 2.0; it does not claim to know what was
  removed since. Its `legacy` optimizers are those of the package tf_keras, which is not installed.
- TorchFix is for deprecated functions of PyTorch; apex and torch.cuda.amp are not on its list.
- Nobody else takes TensorFlow or Paddle to another framework here; their rows stand alone.
- The inputs were chosen by the authors of crosscast, for what it is made for. The facts are read by
  crosscast's own reader, for all tools alike.
- For another framework, crosscast wants a person to fill in the model, the data and what no source
  says (batch size, number of steps, length of a warm-up behind a function). The benchmark does so;
  what it fills in stands in `benchmarks/migrate_peers/cases.py`.
"""

FOOT = """\
## Scripts of others

`python benchmarks/migrate_corpus.py FOLDER` brings every Python file of a folder to its framework's
present API, in place, in memory, for all three APIs one after the other. It is no part of the
command above, and the files are not in this repository, so its counts are told here rather than in
a table: of 121 public scripts that nobody had looked at before, 55 of them with apex, 49 changed,
21 were refused (all or in part) and 51 had nothing to change; of 147 others, 84 of them with apex,
58, 43 and 46, after 53, 48 and 46 had shown what was refused without need. Every output parsed, a
second run changed nothing, no comment was lost.

## Measure again

    python benchmarks/migrate_peers --paconvert PYTHON --ivy PYTHON --torchfix PYTHON \\
      --tensorflow-2.5 PYTHON [--ivy-inputs NAME,...] [--limit SECONDS] [--jobs NUMBER]

Each option takes the interpreter of an environment that holds the tool (`pip install
paconvert==3.3.1`, `ivy==1.0.0.5` with PyTorch and TensorFlow, `torchfix==0.7.0`,
`tensorflow-cpu==2.5.3` in Python 3.8); a tool without one is "not installed". With `--only
TOOL,...` or `--inputs NAME,...` the command prints its rows and leaves this page alone.
"""


_COLUMNS = (
    *("tool", "answer", "parses", "runs", "deviation", "facts kept", "told", "lost silently"),
    "comments",
)


def page(found: Mapping[str, Any]) -> str:
    """Return the page."""
    parts = [HEAD, *_versions(found["versions"], found["limit"]), *_summary(found["rows"])]
    parts += ["## Input by input\n", "One block per input; losses compared: 50.\n"]
    parts += [line for case in CASES for line in _block(case, found["rows"].get(case.name, {}))]
    return "\n".join([*parts, FOOT])


def _versions(versions: Mapping[str, str], limit: float) -> Iterator[str]:
    yield "## Versions\n"
    yield ", ".join(f"{name} {version}" for name, version in sorted(versions.items())) + "."
    yield f"Every tool had {limit:.0f} s of processor time for an input.\n"


def _summary(rows: Mapping[str, Mapping[str, Row]]) -> Iterator[str]:
    yield "## All inputs\n"
    yield "| tool | inputs | refused | unchanged | parses | runs | same curve | silent losses |"
    yield "|---|--:|--:|--:|--:|--:|--:|--:|"
    for name, tool in TOOLS.items():
        mine = [rows[case.name][name] for case in CASES if name in rows.get(case.name, {})]
        mine = [row for row in mine if row["answer"] != "not tried"]
        if not mine:
            continue
        cells = [tool.title, str(len(mine)), _count(mine, "refused"), _count(mine, "unchanged")]
        cells += [str(sum(bool(row.get(what)) for row in mine)) for what in ("parses", "runs")]
        cells += [str(sum(bool(row.get("same")) for row in mine))]
        lost = [row for row in mine if row.get("runs") and row.get("lost")]
        facts = sum(len(row["lost"]) for row in lost)
        cells.append(f"{facts} in {len(lost)}" if lost else "0")
        yield f"| {' | '.join(cells)} |"
    yield ""
    yield "Silent losses are counted in outputs that run; a file that cannot run misleads nobody.\n"


def _count(rows: Sequence[Row], answer: str) -> str:
    return str(sum(row["answer"] == answer for row in rows))


def _block(case: Case, rows: Mapping[str, Row]) -> Iterator[str]:
    yield f"### {case.name}\n"
    yield f"{case.title}. Source ran in {case.runs_in}.\n"
    yield f"| {' | '.join(_COLUMNS)} |"
    yield "|---|---|---|---|--:|--:|---|---|--:|"
    for name, tool in TOOLS.items():
        if name in rows:
            yield f"| {tool.title} | {' | '.join(_cells(rows[name]))} |"
    yield ""
    if case.note:
        yield f"{case.note}\n"


def _cells(row: Row) -> Iterator[str]:
    why = _plain(str(row.get("why", "")))
    if row["answer"] in ("refused", "failed", "not installed", "not tried"):
        yield f"{row['answer']}: {why}" if why else row["answer"]
        yield from [""] * 7
        return
    yield str(row["answer"])
    yield _yes(row["parses"])
    yield _yes(row["runs"]) + (f": {why}" if why else "") if "runs" in row else ""
    yield _deviation(row)
    lost, told = row.get("lost", []), row.get("told", [])
    gone = [change for change in (*lost, *told) if " -> " in change]
    yield f"{row['facts'] - len(gone)} of {row['facts']}" if "facts" in row else ""
    yield _plain(", ".join(told))
    yield _plain(", ".join(lost))
    yield f"{row['comments'][0]} of {row['comments'][1]}" if row.get("comments") else ""


def _deviation(row: Row) -> str:
    if row.get("curve") is None:
        return ""
    worst = row["curve"]
    text = "0" if worst == 0 else f"{worst:.1e}"
    if row.get("rounded") is not None:
        text += f"; in half {row['rounded']:.1e}"
    return text if row["same"] else f"**{text}**"


def _yes(value: object) -> str:
    return "yes" if value else "**no**"


def _plain(text: str) -> str:
    """Return text that does not break a table, without anything like a path of this machine."""
    words = [word for word in text.replace("|", "/").split() if word.count("/") < 3]
    return " ".join(words)
