"""The docs page about what releases of the frameworks do differently."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from crosscast.drift.changes import Change, changes, observed
from crosscast.drift.observations import packages
from crosscast.drift.words import counts, steps_of
from crosscast.targets.backend import Backend
from crosscast_reading.pysource.libraries.signatures import known_names

Releases = Sequence[tuple[str, str]]
"""Packages that are installed together, each with its release."""


def drift_page(backends: Sequence[Backend], environments: Sequence[Releases]) -> str:
    """Return the docs page docs/reference/drift.md.

    Args:
        backends: those whose tables of defaults name functions, beside the tables of signatures.
        environments: what was observed.
    """
    known = {*known_names(), *(entry.api for backend in backends for entry in backend.defaults)}
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
        lines += ["", *_section(package, known)]
    lines += ["", *_together(environments)]
    return "\n".join(lines) + "\n"


def _section(package: str, known: Collection[str]) -> Iterator[str]:
    found = observed(package)
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


def _together(environments: Sequence[Releases]) -> Iterator[str]:
    """Yield a table for packages that are installed together: either may be why a fact changed."""
    yield "## Which releases were observed together"
    yield ""
    yield "A fact may have changed because of another package in the same row."
    titles: list[str] = []
    for releases in environments:
        names = [name for name, _ in releases]
        if len(names) < 2 or not all(release for _, release in releases):
            continue
        if names != titles:
            titles = names
            yield from ("", f"| {' | '.join(titles)} |", "|---" * len(titles) + "|")
        yield f"| {' | '.join(release for _, release in releases)} |"


def _rows(name: str, change: Change) -> Iterator[str]:
    for release, text in steps_of(change):
        yield f"| {name} | {release} | {_code(text)} |"
        name = ""


def _code(text: str) -> str:
    return f"`{text}`".replace("|", "\\|")
