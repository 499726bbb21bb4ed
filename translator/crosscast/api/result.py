"""What all results of public functions have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast.api import html
from crosscast.messages.console import Exit
from crosscast.messages.diagnostics import Diagnostic, render

if TYPE_CHECKING:
    from typing import Self


class Result(ABC):
    """What a function of crosscast returns. Results are frozen.

    `str()` is a sentence and the diagnostics. In a notebook, a result shows itself as tables.
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
        """Yield what a notebook shows between the sentence and the diagnostics."""
        yield from ()

    def __str__(self) -> str:
        return "\n".join([self.summary, *([render(self.diagnostics)] if self.diagnostics else [])])

    def __repr__(self) -> str:
        first = self.summary.partition("\n")[0]
        return f"<{type(self).__name__}: {first}>"

    def _repr_html_(self) -> str:
        parts = html.paragraph(self.summary), *self._html(), html.problems(self.diagnostics)
        return html.block(*parts)
