"""Train programs on the same weights and batches, and compare them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, Literal

from crosscast.api.calls import Texts, Words, public, targets_of, texts_of
from crosscast.api.parameters import DEVICE, INTERPRETERS, RECIPE, TARGETS, Parameter
from crosscast.api.parity_result import Parity
from crosscast.api.recipes import LoadedRecipe, RecipeLike, folder_of, loaded
from crosscast.messages.diagnostics import failure
from crosscast.messages.missing_packages import package_missing

if TYPE_CHECKING:
    from crosscast.recipe.document import Recipe
    from crosscast_parity.judge.records import ParityReport
    from crosscast_parity.modules.command import Result as Modules
    from crosscast_parity.planning.contestants import Contestant
    from crosscast_parity.planning.options import Options
    from crosscast_parity.processes.work_done import Progress


@public
def parity(
    recipe: Annotated[RecipeLike, RECIPE],
    to: Annotated[Words, TARGETS],
    *,
    out: str | os.PathLike[str] | None = None,
    check: Annotated[
        Literal["quick", "model", "full", "nightly"],
        Parameter("quick: a tiny model, or yours for a few windows; model: the recipe's model."),
    ] = "quick",
    stress: Annotated[bool, Parameter("Derive a recipe in which every feature is active.")] = False,
    add: Annotated[
        Texts,
        Parameter(
            "Add another version, recipe, script or trainer to the comparison.",
            "NAME=TARGET[,python=PATH][,recipe=PATH][,script=PATH][,adapter=NAME]",
        ),
    ] = (),
    reference: Annotated[
        str | None, Parameter("Program that the others are compared with; default: torch.")
    ] = None,
    bisect: Annotated[bool, Parameter("Name the fields that explain a difference.")] = False,
    self_test: Annotated[
        bool, Parameter("Plant known bugs and check that every level detects its own.")
    ] = False,
    windows: Annotated[
        int | None, Parameter("Optimizer steps of a run.", least=1, default="64")
    ] = None,
    twins: Annotated[int, Parameter("Number of perturbed runs of the reference.", least=0)] = 3,
    fault: Annotated[
        Texts | None,
        Parameter(
            "Inject an overflow, optionally only into the gradients of these parameters; `none` "
            "disables the default faults.",
            "WINDOW:MICRO=inf|-inf|nan[@NAMES]",
        ),
    ] = None,
    threads: Annotated[int, Parameter("CPU threads per process.", least=1)] = 1,
    jobs: Annotated[int | None, Parameter("Number of parallel processes.", least=1)] = None,
    timeout: Annotated[float, Parameter("Time limit of a run in seconds.", positive=True)] = 1800.0,
    memory: Annotated[
        float, Parameter("Memory limit of a process in GiB; 0 for none.", least=0)
    ] = 0.0,
    device: Annotated[Literal["cpu", "gpu"], DEVICE] = "cpu",
    half: Annotated[
        Literal["auto", "native", "emulated"],
        Parameter("How to compute half precision; auto emulates it on CPUs."),
    ] = "auto",
    save_reference: Annotated[
        str | os.PathLike[str] | None,
        Parameter("Store the runs of the reference in this folder.", "DIR"),
    ] = None,
    reference_run: Annotated[
        str | os.PathLike[str] | None,
        Parameter("Compare with runs stored by `save_reference`.", "DIR"),
    ] = None,
    python: Annotated[Texts, INTERPRETERS] = (),
    cache: Annotated[
        str | os.PathLike[str] | None,
        Parameter("Folder with finished runs; default: in the folder of `out`.", "DIR"),
    ] = None,
    command: str = "",
    on_progress: Callable[[Progress], None] | None = None,
) -> Parity:
    """Train programs on the same weights and batches and compare them, level by level.

    Every program runs in a process of its own; added scripts and your own models are executed.

    Args:
        out: Folder for the runs and the report; without it, the runs are deleted and the report is
            part of the result only.
        command: What the report says it was made with.
        on_progress: Called whenever a run begins or ends.

    Raises:
        DiagnosticError: the recipe or an argument is invalid, or a requirement is missing. That
            programs differ or cannot run is part of the result.
    """
    targets = targets_of(to)
    given = loaded(recipe)
    from crosscast.messages.folder_lock import hold_folder

    try:
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
        from crosscast.messages.output import write_files
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
        from crosscast.emit.folders import compile_to_folders
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
        comparison = self._written(as_report(findings, self._contestants[0], self._options))
        return replace(comparison, self_test=findings, diagnostics=tuple(missed(findings)))

    def _written(self, report: ParityReport) -> Parity:
        from crosscast_parity.modules.outputs import write_all

        page = write_all(report, self.models, self._options.workdir) if self._kept else None
        return Parity(recipe=self._recipe, report=report, models=self.models, page=page)


def _read(path: Path) -> Recipe:
    return loaded(path).fields
