"""What releases of a framework do differently."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from crosscast.api import html
from crosscast.api.calls import public
from crosscast.api.result import Result
from crosscast.messages.console import EXIT_OK, Exit
from crosscast.messages.diagnostics import Diagnostic, failure

if TYPE_CHECKING:
    from crosscast.drift.changes import Change


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Drift(Result):
    """What changed between two releases of a package, as observed by running them."""

    package: str
    since: str
    """The first release."""
    until: str
    """The last release."""
    observed: tuple[str, ...]
    """All releases that were observed."""
    changes: tuple[Change, ...]
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def exit_code(self) -> Exit:
        """Always 0."""
        return EXIT_OK

    @property
    def summary(self) -> str:
        """The releases, and the number of changes of each kind."""
        from crosscast.drift.words import counts

        return f"{self.package} {self.since} to {self.until}: {counts(self.changes)}"

    def _html(self) -> Iterator[str]:
        from crosscast.drift.words import step_text, value_text

        rows = []
        for change in self.changes:
            for (_, before), (release, after) in pairwise(change.steps):
                of_behavior = change.kind == "behavior"
                what = value_text(after) if of_behavior else step_text(before, after)
                rows.append([change.name, change.text, release, what])
        yield html.table(("name", "question", "release", "change"), rows, long=("question",))


@public
def drift(package: str, since: str = "", until: str = "", *, name: str = "*") -> Drift:
    """Return what releases of a framework do differently, as observed by running them.

    Args:
        package: torch, tensorflow, keras or paddle.
        since: the first release; default: the oldest observed.
        until: the last release; default: the newest observed.
        name: only what has this word, or fits this pattern, in its name.

    Raises:
        DiagnosticError: CC980 for packages and releases that were not observed, or a first release
            that is newer than the last.
    """
    from crosscast.drift.changes import changes, observed, release_of

    found = observed(package)
    first = release_of(found, since) if since else found.releases[0]
    last = release_of(found, until) if until else found.releases[-1]
    if found.releases.index(first) > found.releases.index(last):
        message = f"{package} {first} is newer than {last}"
        raise failure("CC980", message, f"write crosscast drift {package} {last} {first}")
    return Drift(
        package=package,
        since=first,
        until=last,
        observed=tuple(found.releases),
        changes=tuple(changes(found, first, last, name)),
    )
