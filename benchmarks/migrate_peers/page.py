"""Write docs/measurements/migration-peers.md from what was measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cases import CASES, Case
from public_page import public_part
from tools import TOOLS

Row = Mapping[str, Any]

HEAD = """\
# Migration: current tools on the same scripts

Written by one run of `python benchmarks/migrate_peers`; do not edit. The command is at the end of
the page.

Thirteen small training scripts (`benchmarks/migrate_peers/inputs/`) are migrated with the tools
available today. Each script trains on synthetic rows in seconds on a CPU and prints its losses.

- parses: the output passes `ast.parse`.
- runs: the output runs in a separate process, with the versions listed below.
- same curve: largest relative deviation of the first 50 losses from those of the source, if the
  source still runs; losses below a hundredth of the largest one are compared relative to that
  hundredth. Bold: not the same.
- lost silently: facts from a list written by hand for each input (decay, epsilon, scale, clip
  limit, ...) that `crosscast lift` does not find in the output, or that had no effect in the run,
  without a warning from the tool. Facts lost with a warning are listed under "told".

Sources that use torch.cuda.amp or Paddle run in current versions, those that use TensorFlow in
TensorFlow 2.5, and those that use apex in current PyTorch with a substitute for apex (forty lines,
`benchmarks/migrate_peers/stand_in/`), because apex.amp is no longer available and never ran on a
CPU. Without a GPU, scripts that use torch.amp, apex or Paddle compute in float32, and loss scales
are powers of two that cancel: their curves compare the optimizer, accumulation, clipping and the
schedule, with a bound of 1e-5.

The scripts that crosscast writes for PyTorch and Keras compute in float16 on a CPU, too. If the
source does not, the output is run twice: unchanged, with a bound of 3e-2 ("in half"), and compiled
from the same source with half precision disabled by `--set`, with a bound of 1e-5. Both must hold.
Keras sources compute in float16 themselves, as does the model converted to half by hand: their
bound is 3e-2. Whether half precision itself is preserved is one of the facts.

Notes on the comparison:

- PaConvert translates API names line by line and marks what it cannot translate with `>>>>>>`.
  Such a file intentionally does not parse until it is edited by hand.
- Ivy translates functions and classes of models, not training scripts; it gets `main`, which
  includes layers, losses and optimizers of PyTorch. That takes minutes per input, so Ivy gets a
  selection (`--ivy-inputs`); the others are "not tried".
- `tf_upgrade_v2` upgrades TensorFlow 1 to TensorFlow 2.0 and does not cover later removals. Its
  `legacy` optimizers are those of the package tf_keras, which is not installed.
- TorchFix replaces deprecated PyTorch functions; apex and torch.cuda.amp are not on its list.
- No other tool here migrates TensorFlow or Paddle to another framework, so their rows have no
  comparison.
- The authors of crosscast chose the inputs for the purpose of crosscast. For all tools, the facts
  are read by crosscast's reader.
- To migrate to another framework, crosscast needs the user to fill in the model, the data and
  values that no source states (batch size, number of steps, length of a warm-up hidden in a
  function). The values that the benchmark fills in are in `benchmarks/migrate_peers/cases.py`.
"""

FOOT = """\
## Scripts from public repositories

`python benchmarks/migrate_corpus.py FOLDER` migrates every Python file of a folder in memory to
the current API of its framework, for all three APIs in turn. The command above does not include
it, and the files are not in this repository, so its counts are given as text. Of 121 public
scripts that had not been used in development, 55 of them with apex, 49 were changed, 21 were
refused (completely or in part) and 51 needed no change. Of 147 others, 84 of them with apex, the
counts were 58, 43 and 46, after a first result of 53, 48 and 46 had revealed unnecessary refusals.
Every output parsed, a second run changed nothing, and no comment was lost.

## Measure again

    python benchmarks/migrate_peers --paconvert PYTHON --ivy PYTHON --torchfix PYTHON \\
      --tensorflow-2.5 PYTHON [--ivy-inputs NAME,...] [--limit SECONDS] [--jobs NUMBER]
    python benchmarks/migrate_peers --public FILES --paconvert PYTHON --paddle-upgrade PYTHON

FILES holds the public programs (`benchmarks/migrate_programs FILES --get REPOSITORIES`); `pip
install paddle-upgrade-tool==0.0.27` is for `--paddle-upgrade`.

Each option takes the interpreter of an environment with the tool (`pip install paconvert==3.3.1`,
`ivy==1.0.0.5` with PyTorch and TensorFlow, `torchfix==0.7.0`, `tensorflow-cpu==2.5.3` in Python
3.8); a tool without one is "not installed". With `--only TOOL,...` or `--inputs NAME,...` the
command prints its rows and does not change this page.
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
    return "\n".join([*parts, *public_part(found.get("public", {})), FOOT])


def _versions(versions: Mapping[str, str], limit: float) -> Iterator[str]:
    yield "## Versions\n"
    yield ", ".join(f"{name} {version}" for name, version in sorted(versions.items())) + "."
    yield f"Every tool had {limit:.0f} s of CPU time per input.\n"


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
    yield "Silent losses are counted only in outputs that run.\n"


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
