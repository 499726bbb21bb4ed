"""What migrations in place and across frameworks have in common."""

from __future__ import annotations

import os
from abc import abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crosscast.api.result import Result
from crosscast.messages.code import Exit
from crosscast.messages.console import EXIT_FINDINGS, EXIT_OK
from crosscast.messages.diagnostics import printable
from crosscast.messages.unread import unread_parts

if TYPE_CHECKING:
    from crosscast_migrate.summary import State, Summary


class Migration(Result):
    """Programs that were moved to another API or framework."""

    __slots__ = ()

    if TYPE_CHECKING:
        no_run: bool

        @property
        def said(self) -> Summary:
            """What was done, what to decide, and what is at risk: a sentence for each."""

    @property
    def summary(self) -> str:
        """What was done, what to decide, and what is at risk, in three lines."""
        return "\n".join(self.said.lines)

    @property
    def head(self) -> tuple[str, str, str]:
        """What was done, what to decide, and what is at risk; first what could not be read."""
        done, decide, risk = self.said.lines
        unread = unread_parts(self.diagnostics)
        return done, decide, risk.replace(" ", f" {printable(unread)}; ", 1) if unread else risk

    @property
    def state(self) -> State:
        """Whether it is verified, converted, open, or unchanged.

        Verified: it was run, with the same updates. Converted: nothing is left to decide, and it
        was not run. Open: something is left. Unchanged: there was nothing to convert.
        """
        return self.said.state

    @property
    def _exit_of_state(self) -> Exit:
        """What the state alone means for the exit code."""
        fine = ("unchanged", "verified", *(["converted"] if self.no_run else []))
        return EXIT_OK if self.state in fine else EXIT_FINDINGS

    @property
    def _about(self) -> str:
        return self.said.done

    @property
    def _next(self) -> str:
        return self.said.decide

    @abstractmethod
    def write(
        self, folder: str | os.PathLike[str] | None = None, *, force: bool = False
    ) -> tuple[Path, ...]:
        """Write what was migrated; return the paths.

        Args:
            folder: of a migration to another framework; one in place changes the files themselves.
            force: overwrite files that crosscast did not write.

        Raises:
            DiagnosticError: CC501 to CC503 if they cannot be written, CC016 for a folder where
                there is none, or none where there is one.
        """

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return plain data as `schema/migrate-v1.json` describes it."""
