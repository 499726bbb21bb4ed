"""Generate docs/measurements/false-alarms.md."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from crosscast_parity.checks.kinds import LEVELS

Plain = Mapping[str, Any]


def page(found: Sequence[Plain]) -> str:
    """Return the page.

    Args:
        found: comparisons as plain data.
    """
    return "\n".join([*_head(found), *_settings(found), *_margins(found), *_alarms(found)])


def _head(found: Sequence[Plain]) -> Iterator[str]:
    alarms = sum(bool(entry["alarms"]) for entry in found)
    yield "# False alarms"
    yield ""
    yield "<!-- Written by `make false-alarms`; do not edit. -->"
    yield ""
    yield (
        f"{len(found)} comparisons of correct programs with PyTorch (one thread, half precision"
        f" emulated), each with the quick check: **{alarms} alarms**. An alarm is a failed check."
        " Every group has its own recipe, weights, rows and order. A rewritten script is emitted"
        " and then changed without another meaning (`tests/mutants/rewrites.py`)."
    )
    yield ""


def _settings(found: Sequence[Plain]) -> Iterator[str]:
    yield "| what differs from the reference | comparisons | equivalent | unclear | alarms |"
    yield "|---|---|---|---|---|"
    by_setting: dict[str, list[Plain]] = defaultdict(list)
    for trial in found:
        by_setting[f"{trial['framework']}, {trial['setting']}"].append(trial)
    for name, group in by_setting.items():
        same = sum(entry["verdict"] == "EQUIVALENT" for entry in group)
        accused = sum(bool(entry["alarms"]) for entry in group)
        rest = len(group) - same - accused
        yield f"| {name} | {len(group)} | {same} | {rest} | {accused} |"
    yield ""
    yield f"Groups: {'; '.join(dict.fromkeys(str(trial['group']) for trial in found))}."
    yield ""


def _margins(found: Sequence[Plain]) -> Iterator[str]:
    """How near the clean programs come to every limit."""
    worst: dict[str, tuple[float, str]] = {}
    for entry in found:
        where = f"{entry['framework']}, {entry['group']}, {entry['setting']}"
        for name, share in entry["used"].items():
            worst[name] = max(worst.get(name, (-1.0, "")), (share, where))
    yield "## Margins"
    yield ""
    yield "| check | largest share of its limit | where |"
    yield "|---|---|---|"
    order = {level: place for place, level in enumerate(LEVELS)}
    for name in sorted(worst, key=lambda name: order[name.partition(" ")[0]]):  # type: ignore[index]
        share, where = worst[name]
        yield f"| {name} | {share:.2g} | {where} |"
    yield ""


def _alarms(found: Sequence[Plain]) -> Iterator[str]:
    troubled = [entry for entry in found if entry["alarms"] or entry["verdict"] != "EQUIVALENT"]
    if not troubled:
        return
    yield "## Not equivalent"
    yield ""
    for entry in troubled:
        words = "; ".join(entry["alarms"]) or entry["wording"]
        where = f"{entry['group']}, {entry['setting']}, {entry['framework']}"
        yield f"- {where}: {entry['verdict']}: {words}"
    yield ""
