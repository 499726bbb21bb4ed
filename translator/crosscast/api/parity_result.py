"""Whether programs train the same: what a comparison found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crosscast.api import html
from crosscast.api.recipes import LoadedRecipe
from crosscast.api.result import Result
from crosscast.messages.code import Exit
from crosscast.messages.console import EXIT_FINDINGS, EXIT_INTERRUPTED
from crosscast.messages.console import exit_code as exit_code_of
from crosscast.messages.diagnostics import Diagnostic
from crosscast.messages.screens import Part

if TYPE_CHECKING:
    from crosscast_parity.judge.records import ParityReport
    from crosscast_parity.modules.command import Result as Modules
    from crosscast_parity.self_test.experiments import Detection

COLUMNS = ("program", "against", "verdict", "why")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Parity(Result):
    """Whether programs train the same."""

    recipe: LoadedRecipe
    report: ParityReport | None
    """Everything that was found: programs, runs, checks and verdicts. None if the models of a
    recipe differ already, or the user interrupted a self-test."""
    models: Modules | None = None
    """How the models of a recipe with `model.kind: custom` compare, module by module."""
    self_test: tuple[Detection, ...] = ()
    """What became of the planted bugs, with `self_test`."""
    page: Path | None = None
    """The report as an HTML file, if `out` was given."""
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def verdicts(self) -> Mapping[str, str]:
        """Program to EQUIVALENT, DIFFERENT, INCONCLUSIVE, NOT TESTED or ERROR."""
        pairs = self.report.pairs if self.report else ()
        return {pair.contestant: pair.verdict for pair in pairs}

    @property
    def html(self) -> str:
        """The report as one HTML page; empty without a report, and without models that differ."""
        from crosscast_parity.modules.outputs import page_of

        return page_of(self.report, self.models, self.recipe.name)

    @property
    def junit(self) -> str:
        """The checks as JUnit XML, a suite per pair."""
        from crosscast_parity.modules.outputs import junit_of

        return junit_of(self.report, self.models)

    @property
    def badge(self) -> str:
        """The verdict as an SVG image, green only if everything was tested."""
        from crosscast_parity.modules.outputs import verdict_badge

        return verdict_badge(self.report, self.models).svg()

    @property
    def lines(self) -> list[str]:
        """The report in lines of at most 80 columns."""
        if self.self_test:
            from crosscast_parity.self_test.experiments import in_words

            return [*in_words(self.self_test)]
        lines: list[str] = []
        if self.models is not None:
            from crosscast_parity.modules.report import text_of

            lines += text_of(self.models)
        if self.report is not None:
            from crosscast_parity.report.terminal import summary_lines

            lines += summary_lines(self.report)
        return lines

    @property
    def exit_code(self) -> Exit:
        """0 if every requested comparison was made and passed."""
        if self.models is not None and not self.models.trains_alike:
            return EXIT_FINDINGS
        if self.report is None:
            return EXIT_INTERRUPTED
        if self.self_test:
            return exit_code_of(self.diagnostics)
        from crosscast_parity.compare.command import exit_code

        return Exit(exit_code(self.report))

    @property
    def summary(self) -> str:
        """The verdict on every program in a sentence."""
        if self.report is not None and self.report.pairs and not self.self_test:
            lines = [
                f"{pair.contestant} against {pair.reference}: {pair.verdict}: {pair.wording}"
                for pair in self.report.pairs
            ]
            return "\n".join([*lines, *self._beside_training])
        if self.models is not None and not self.models.same:
            return "the models differ"
        return self.lines[-1] if self.lines else "interrupted"

    def to_json(self) -> dict[str, Any]:
        """Return the report as plain data."""
        data: dict[str, Any] = {} if self.report is None else self.report.to_json()
        if self.models is not None:
            from crosscast_parity.modules.report import as_json

            data["modules"] = as_json(self.models)
        return data

    @property
    def _about(self) -> str:
        return f"{self.recipe.source.name} ({self.recipe.name})"

    @property
    def _verdict(self) -> str:
        if self.report is None or not self.report.pairs or self.self_test:
            return self.summary
        words = [f"{p.contestant} against {p.reference}: {p.verdict}" for p in self.report.pairs]
        return "; ".join([*words, *self._beside_training])

    @property
    def _beside_training(self) -> list[str]:
        """What models differ in that were trained and compared all the same."""
        kinds = self.models.beside_training if self.models is not None else []
        return [f"the models differ in {', '.join(kinds)}"] if kinds else []

    @property
    def _next(self) -> str:
        if self.page is not None:
            return f"open {self.page}"
        return "out=FOLDER writes the report as a page"

    def _parts(self, *, all: bool) -> Iterator[Part]:
        yield "\n".join(self.lines)

    def _html(self) -> Iterator[str]:
        if self.report is not None and self.report.pairs:
            pairs = self.report.pairs
            rows = [(p.contestant, p.reference, p.verdict, p.wording) for p in pairs]
            yield html.table(COLUMNS, rows, long=("why",))
            yield html.page(self.html, f"parity of {self.recipe.name}")
        elif self.html:
            yield html.page(self.html, f"parity of {self.recipe.name}")
        else:
            yield html.pre("\n".join(self.lines))
