"""The docs page about what releases of the frameworks do differently."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast.drift.changes import Change, changes, observed
from crosscast.drift.observations import packages
from crosscast.drift.words import counts, steps_of
from crosscast_reading.pysource.libraries.signatures import known_names


def drift_page() -> str:
    """Return the docs page docs/reference/drift.md."""
    lines = [
        "# What changed between releases",
        "",
        "Generated from observations; do not edit.",
        "",
        "Each release below was installed and run: the [probes](../design.md#tables) were asked",
        "what it does, and its functions which parameters they have. `crosscast drift` answers",
        "questions about it, for example which release of Keras changed what `iterations` counts",
        "under accumulation (the schedule is asked for micro-batches in all of them):",
        "",
        "```",
        "crosscast drift keras 3.4 3.15 --name iterations",
        "```",
        "",
        'From Python it is `cc.drift("keras", "3.4", "3.15", name="iterations")`.',
        "",
        "Here are all facts that changed, and the parameters of functions that crosscast reads or",
        "writes; the command knows the other public functions and classes of these modules, too.",
        "`make drift` installs the releases and the newest that there are, observes them, and",
        "exits with 1 if anything differs from what is kept.",
    ]
    for package in packages():
        lines += ["", *_section(package)]
    return "\n".join(lines) + "\n"


def _section(package: str) -> Iterator[str]:
    found, known = observed(package), {*known_names()}
    different = changes(found, found.releases[0], found.releases[-1])
    yield f"## {package}"
    yield ""
    yield f"Observed: {', '.join(found.releases)}. From the first to the last: {counts(different)}."
    facts = [change for change in different if change.kind == "behavior"]
    asked = sum(timeline.kind == "behavior" for timeline in found.timelines)
    yield ""
    yield f"Of {asked} facts, {len(facts)} changed."
    if facts:
        yield from ("", "| fact | release | answer |", "|---|---|---|")
        for change in facts:
            yield from _rows(change.text, change)
    named = [change for change in different if change.name in known]
    if named:
        yield from ("", "| name | release | parameters |", "|---|---|---|")
        for change in named:
            yield from _rows(f"`{change.name}`", change)


def _rows(name: str, change: Change) -> Iterator[str]:
    for release, text in steps_of(change):
        yield f"| {name} | {release} | {_code(text)} |"
        name = ""


def _code(text: str) -> str:
    return f"`{text}`".replace("|", "\\|")
