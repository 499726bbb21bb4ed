"""Train programs on the same weights and batches, and compare them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

from crosscast.api import html
from crosscast.api.calls import Texts, Words, check_choice, public, targets_of, texts_of
from crosscast.api.recipes import LoadedRecipe, RecipeLike, folder_of, loaded
from crosscast.api.result import Result
from crosscast.emit.folders import compile_to_folders
from crosscast.messages.code import Exit
from crosscast.messages.console import EXIT_FINDINGS, EXIT_INTERRUPTED
from crosscast.messages.console import exit_code as exit_code_of
from crosscast.messages.diagnostics import Diagnostic, failure
from crosscast.messages.missing_packages import package_missing
from crosscast.messages.output import write_files
from crosscast.messages.screens import Part

if TYPE_CHECKING:
    from crosscast.recipe.document import Recipe
    from crosscast_parity.judge.records import ParityReport
    from crosscast_parity.modules.command import Result as Modules
    from crosscast_parity.planning.contestants import Contestant
    from crosscast_parity.planning.options import Options
    from crosscast_parity.processes.work_done import Progress
    from crosscast_parity.self_test.experiments import Detection

Depth = Literal["quick", "model", "full", "nightly"]
Device = Literal["cpu", "gpu"]
Half = Literal["auto", "native", "emulated"]
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
        found: list[str] = []
        if self.models is not None:
            from crosscast_parity.modules.report import text_of

            found += text_of(self.models)
        if self.report is not None:
            from crosscast_parity.report.terminal import summary_lines

            found += summary_lines(self.report)
        return found

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


@public
def parity(
    recipe: RecipeLike,
    to: Words,
    *,
    check: Depth = "quick",
    stress: bool = False,
    add: Texts = (),
    reference: str | None = None,
    bisect: bool = False,
    self_test: bool = False,
    windows: int | None = None,
    twins: int = 3,
    fault: Texts | None = None,
    threads: int = 1,
    jobs: int | None = None,
    timeout: float = 1800.0,
    memory: float = 0.0,
    device: Device = "cpu",
    half: Half = "auto",
    save_reference: str | os.PathLike[str] | None = None,
    reference_run: str | os.PathLike[str] | None = None,
    python: Texts = (),
    cache: str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    command: str = "",
    on_progress: Callable[[Progress], None] | None = None,
) -> Parity:
    """Train programs on the same weights and batches and compare them, level by level.

    Every program runs in a process of its own; added scripts and your own models are executed.

    Args:
        recipe: the recipe or its path.
        to: targets to compile to.
        check: quick: a tiny model, or yours for a few windows; model: the recipe's model.
        stress: derive a recipe in which every feature is active.
        add: more programs, as NAME=TARGET[,python=PATH][,recipe=PATH][,script=PATH][,adapter=NAME].
        reference: program that the others are compared with; without it, torch.
        bisect: name the fields that explain a difference.
        self_test: plant known bugs and check that every level detects its own.
        windows: optimizer steps of a run.
        twins: number of perturbed runs of the reference.
        fault: overflows to inject, as WINDOW:MICRO=inf|-inf|nan[@NAMES]; `none` for none.
        threads: CPU threads per process.
        jobs: number of parallel processes.
        timeout: time limit of a run in seconds.
        memory: memory limit of a process in GiB; 0 for none.
        device: device to train on.
        half: how to compute half precision; auto emulates it on CPUs.
        save_reference: folder to store the runs of the reference in.
        reference_run: folder with runs stored by `save_reference`, to compare with.
        python: interpreters as TARGET=PATH.
        cache: folder with finished runs; without it, in `out`.
        out: folder for the runs and the report; without it, the runs are deleted and the report is
            part of the result only.
        command: what the report says it was made with.
        on_progress: called whenever a run begins or ends.

    Raises:
        DiagnosticError: the recipe or an argument is invalid, or a requirement is missing. That
            programs differ or cannot run is part of the result.
    """
    targets = targets_of(to)
    given = loaded(recipe)
    check_choice("check", check, ("quick", "model", "full", "nightly"))
    check_choice("device", device, ("cpu", "gpu"))
    check_choice("half", half, ("auto", "native", "emulated"))
    try:
        from crosscast.messages.folder_lock import hold_folder
        from crosscast_parity.planning.options import make_options, read_interpreters
    except ModuleNotFoundError as error:
        raise package_missing("the parity harness needs", error) from None
    with ExitStack() as stack:
        own = TemporaryDirectory(prefix="crosscast-") if out is None else None
        folder = stack.enter_context(own) if own else str(out)
        options = make_options(
            Path(folder),
            check=check,
            windows=windows,
            twins=twins,
            threads=threads,
            jobs=jobs,
            timeout=timeout,
            memory=memory,
            device=device,
            reference=reference,
            faults=None if fault is None else texts_of(fault),
            half=half,
            cache=Path(cache) if cache is not None else None,
            stress=stress,
            bisect=bisect,
            save_reference=Path(save_reference) if save_reference is not None else None,
        )
        stack.enter_context(hold_folder(options.workdir, denied="CC708"))
        options = replace(options, held=True)  # until the reports are written
        comparison = _Comparison(
            given, targets, options, read_interpreters(texts_of(python), targets), out is not None
        )
        comparison.add(texts_of(add))
        if given.fields.model.kind == "custom":
            given_options = {
                "--stress": stress,
                "--save-reference": save_reference is not None,
                "--reference-run": reference_run is not None,
            }
            unused = [name for name, used in given_options.items() if used]
            if not comparison.models_train_alike(folder_of(recipe), timeout, unused):
                return Parity(
                    recipe=given, report=None, models=comparison.models, page=comparison.page
                )
        if reference_run is not None:
            comparison.add_stored(Path(reference_run))
        return comparison.run(self_test, command, on_progress)


class _Comparison:
    """The programs of a comparison, and how they are compared."""

    def __init__(
        self,
        recipe: LoadedRecipe,
        targets: Sequence[str],
        options: Options,
        interpreters: Mapping[str, str],
        kept: bool,
    ) -> None:
        from crosscast_parity.planning.contestants import of_targets

        self._recipe = recipe
        self._targets = targets
        self._options = options
        self._interpreters = interpreters
        self._kept = kept
        self._contestants: list[Contestant] = of_targets(targets, recipe.fields, interpreters)
        self.models: Modules | None = None
        self.page: Path | None = None

    def add(self, texts: Sequence[str]) -> None:
        """Add programs that were named."""
        from crosscast_parity.planning.contestants import parse_contestant

        fields = self._recipe.fields
        self._contestants += [
            parse_contestant(text, fields, _read, self._interpreters) for text in texts
        ]

    def add_stored(self, folder: Path) -> None:
        """Add stored runs, as the reference unless another was named."""
        from crosscast_parity.runs.kept_reference import stored_contestant

        kept = stored_contestant(folder, {program.name for program in self._contestants})
        self._contestants.append(kept)
        self._options = replace(self._options, reference=self._options.reference or kept.name)

    def models_train_alike(self, folder: Path, timeout: float, unused: Sequence[str]) -> bool:
        """Compare the user's models module by module, and write what was found.

        Raises:
            DiagnosticError: CC704 for unused options, CC760 to CC763 for the models.
        """
        from crosscast_parity.modules.command import compare_modules
        from crosscast_parity.modules.outputs import report_files, write_untrained
        from crosscast_parity.planning.contestants import check_custom
        from crosscast_parity.planning.stages import seeds_of
        from crosscast_parity.weights.command import Request

        frameworks = [target.partition("@")[0] for target in self._targets]
        check_custom(self._contestants, frameworks, folder)
        if unused:
            hint = "your own models are compared without them"
            raise failure("CC704", f"{', '.join(unused)}: only with model.kind: bert", hint)
        request = Request(
            recipe=self._recipe.fields,
            folder=folder,
            targets=self._targets,
            python=self._interpreters,
            timeout=timeout,
            seeds=seeds_of(self._recipe.fields, self._options.check),
        )
        self.models = compare_modules(request)
        if self._kept:
            workdir = self._options.workdir
            write_files(workdir, report_files(self.models), force=True, manifest=False)
            if not self.models.trains_alike:  # else they are written after the training
                self.page = write_untrained(self.models, self._recipe.name, workdir)
        reference = self._options.reference or self._targets[0]
        self._options = replace(self._options, reference=reference)
        return self.models.trains_alike

    def run(
        self, self_test: bool, command: str, on_progress: Callable[[Progress], None] | None
    ) -> Parity:
        """Train and compare all programs."""
        from crosscast_parity.compare.harness import compare, ignore

        arguments: dict[str, Any] = {
            "options": self._options,
            "compile_to": compile_to_folders,
            "on_progress": on_progress or ignore,
            "custom": self.models.trained if self.models else None,
        }
        if self_test:
            return self._self_test(arguments)
        report = replace(compare(self._contestants, **arguments), command=command)
        return self._written(report)

    def _self_test(self, arguments: Mapping[str, Any]) -> Parity:
        from crosscast_parity.self_test.experiments import Interrupted, as_report, missed, self_test

        try:
            findings = tuple(self_test(self._contestants, **arguments))
        except Interrupted:
            return Parity(recipe=self._recipe, report=None, models=self.models)
        found = self._written(as_report(findings, self._contestants[0], self._options))
        return replace(found, self_test=findings, diagnostics=tuple(missed(findings)))

    def _written(self, report: ParityReport) -> Parity:
        from crosscast_parity.modules.outputs import write_all

        page = write_all(report, self.models, self._options.workdir) if self._kept else None
        return Parity(recipe=self._recipe, report=report, models=self.models, page=page)


def _read(path: Path) -> Recipe:
    return loaded(path).fields
