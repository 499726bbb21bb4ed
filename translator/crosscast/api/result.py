"""What all results of public functions have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast.api import html
from crosscast.messages.code import Exit
from crosscast.messages.diagnostics import Diagnostic, render
from crosscast.messages.screens import Part, head, screen
from crosscast.messages.unread import unread_parts

if TYPE_CHECKING:
    from typing import Self


class Result(ABC):
    """What a function of crosscast returns. Results are frozen.

    `str()` is what the command of this name prints: three lines (what was looked at, the verdict,
    what to do next), then what is not as wanted, and the diagnostics. In a notebook, a result shows
    itself as tables.
    """

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def diagnostics(self) -> tuple[Diagnostic, ...]:
            """Messages with code, place and hint; a result may have errors among them."""

    @property
    @abstractmethod
    def exit_code(self) -> Exit:
        """What the command of this name would end with."""

    @property
    @abstractmethod
    def summary(self) -> str:
        """The result in a sentence."""

    @property
    def head(self) -> tuple[str, str, str]:
        """What was looked at, the verdict, and what to do next.

        A part that could not be read comes first in the verdict: the rest is not the whole.
        """
        unread = unread_parts(self.diagnostics)
        verdict = f"{unread}; {self._verdict}" if unread else self._verdict
        return head(self._about, verdict, self._next)

    @property
    def _verdict(self) -> str:
        """The result in a line."""
        return "; ".join(self.summary.splitlines())

    @property
    @abstractmethod
    def _about(self) -> str:
        """What was looked at."""

    @property
    @abstractmethod
    def _next(self) -> str:
        """What to do next."""

    def _parts(self, *, all: bool) -> Iterator[Part]:
        """Yield the parts after the three lines; without `all`, only what is not as wanted."""
        yield from ()

    def parts(self, *, all: bool = False) -> tuple[Part, ...]:
        """Return the paragraphs and tables that the command of this name prints after three lines.

        Args:
            all: everything, as with `--all`; without it, only what is not as wanted.
        """
        return tuple(self._parts(all=all))

    def screen(self, *, all: bool = False, width: int | None = None) -> str:
        """Return the text that the command of this name prints, without the diagnostics.

        Args:
            all: everything, as with `--all`; without it, only what is not as wanted.
            width: wrap lines to a number of cells; without it, a row of a table is one line.
        """
        lines = screen(self.head, self.parts(all=all), width)
        return "\n".join(line.text for line in lines)

    @property
    def ok(self) -> bool:
        """Whether the command of this name would end with 0."""
        return self.exit_code is Exit.OK

    def raise_errors(self) -> Self:
        """Return the result itself.

        Raises:
            DiagnosticError: one of the diagnostics is an error.
        """
        from crosscast.messages.diagnostics import Collector

        Collector(list(self.diagnostics)).raise_errors()
        return self

    def _html(self) -> Iterator[str]:
        """Yield the HTML that a notebook shows between the three lines and the diagnostics."""
        yield from ()

    def __str__(self) -> str:
        return "\n".join([self.screen(), *([render(self.diagnostics)] if self.diagnostics else [])])

    def __repr__(self) -> str:
        first = self.summary.partition("\n")[0]
        return f"<{type(self).__name__}: {first}>"

    def _repr_html_(self) -> str:
        parts = html.paragraph("\n".join(self.head)), *self._html(), html.problems(self.diagnostics)
        return html.block(*parts)
