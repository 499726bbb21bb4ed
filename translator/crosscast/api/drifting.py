"""What releases of a framework do differently."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

from crosscast.api import html
from crosscast.api.calls import public
from crosscast.api.parameters import Parameter
from crosscast.api.result import Result
from crosscast.messages.code import Exit
from crosscast.messages.console import EXIT_OK
from crosscast.messages.diagnostics import Diagnostic, failure
from crosscast.messages.screens import Part

if TYPE_CHECKING:
    from crosscast.drift.changes import Change

COLUMNS = ("name", "release", "parameters")
_FEW = 12
"""Maximum number of functions whose parameters are listed without `all`."""
FACT_COLUMNS = ("fact", "release", "answer")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Drift(Result):
    """What changed between two releases of a package, as observed by running them."""

    package: str
    since: str
    """The first release."""
    until: str
    """The last release."""
    observed: tuple[str, ...]
    """All releases that were observed, oldest first."""
    changes: tuple[Change, ...]
    """Everything that changed: what was asked, parameters, and names."""
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def behavior(self) -> tuple[Change, ...]:
        """Facts with different answers."""
        return tuple(change for change in self.changes if change.kind == "behavior")

    @property
    def names(self) -> tuple[Change, ...]:
        """Names that are new or gone."""
        return tuple(change for change in self.changes if change.added or change.removed)

    @property
    def parameters(self) -> tuple[Change, ...]:
        """Names with other parameters."""
        others = (*self.behavior, *self.names)
        return tuple(change for change in self.changes if change not in others)

    @property
    def exit_code(self) -> Exit:
        """Always 0."""
        return EXIT_OK

    @property
    def summary(self) -> str:
        """The releases and the numbers of changes."""
        from crosscast.drift.words import counts

        return f"{self.package} {self.since} to {self.until}: {counts(self.changes)}"

    @property
    def _about(self) -> str:
        releases = f"{self.package} {self.since} to {self.until}"
        return f"{releases}, observed in {', '.join(self.observed)}"

    @property
    def _verdict(self) -> str:
        from crosscast.drift.words import counts

        return counts(self.changes)

    @property
    def _next(self) -> str:
        return "crosscast lint finds what scripts rely on; --all lists parameters and names"

    def _parts(self, *, all: bool) -> Iterator[Part]:
        from crosscast.drift.words import lines_of

        few = all or len(self.parameters) <= _FEW
        for title, changes in (
            ("Behavior", self.behavior),
            ("Parameters", self.parameters if few else ()),
            ("Names", self.names if all else ()),
        ):
            if changes:
                yield "\n".join([title, *(line for change in changes for line in lines_of(change))])
        if not few:
            yield f"{len(self.parameters)} functions have other parameters: --all lists them"
        if self.names and not all:
            yield f"{len(self.names)} names are new or gone: --names lists them"

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "package": self.package,
            "since": self.since,
            "until": self.until,
            "observed": list(self.observed),
            "changes": [asdict(change) for change in self.changes],
        }

    def _html(self) -> Iterator[str]:
        if self.behavior:
            yield html.table(FACT_COLUMNS, _rows(self.behavior), long=("fact",))
        if self.parameters:
            yield html.table(COLUMNS, _rows(self.parameters), long=("parameters",))
        if self.names:
            title = f"{len(self.names)} names are new or gone"
            yield html.folded(title, html.table(COLUMNS, _rows(self.names)))


def _rows(changes: Sequence[Change]) -> Iterator[tuple[str, str, str]]:
    from crosscast.drift.words import steps_of

    for change in changes:
        name = change.text or change.name
        for release, text in steps_of(change):
            yield name, release, text
            name = ""


@public
def drift(
    package: Annotated[str, Parameter("torch, tensorflow, keras or paddle.", words="packages")],
    since: Annotated[str, Parameter("The first release. Default: the oldest observed.")] = "",
    until: Annotated[str, Parameter("The last release. Default: the newest observed.")] = "",
    *,
    name: Annotated[
        str, Parameter("Only what has this word, or fits this pattern, in its name.")
    ] = "*",
) -> Drift:
    """Return the differences between releases of a framework, as observed by running them.

    The first release of a series is meant by its number: 3.4 is 3.4.1.

    Raises:
        DiagnosticError: CC980 if a release was not observed, or the last is older than the first.
    """
    from crosscast.drift.changes import changes, observed, release_of

    observations = observed(package)
    first = release_of(observations, since) if since else observations.releases[0]
    last = release_of(observations, until) if until else observations.releases[-1]
    if observations.releases.index(first) > observations.releases.index(last):
        message = f"{package} {first} is newer than {last}"
        raise failure("CC980", message, f"write crosscast drift {package} {last} {first}")
    return Drift(
        package=package,
        since=first,
        until=last,
        observed=observations.releases,
        changes=tuple(changes(observations, first, last, name)),
    )
