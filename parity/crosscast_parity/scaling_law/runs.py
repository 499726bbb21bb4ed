"""Make all runs of a target: a single process in a session, several by the emitted launch.sh."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crosscast.recipe.document import Recipe
from crosscast.targets.backend import harness_of
from crosscast_parity.inputs.shared import Inputs
from crosscast_parity.planning.half_precision import Execution, choose_execution
from crosscast_parity.planning.options import Half
from crosscast_parity.processes.process import Outcome, child_environment, with_modules
from crosscast_parity.processes.run_cache import Store
from crosscast_parity.processes.sessions import (
    EventKind,
    Limits,
    SessionJob,
    SessionPool,
    SessionRun,
)
from crosscast_parity.processes.work_done import OnProgress, Progress
from crosscast_parity.recipes.derived import in_float32, is_half
from crosscast_parity.runs.workspace import COMPILED, place_runner
from crosscast_parity.scaling_law.ranks import RankJob, run_ranks
from crosscast_parity.scaling_law.recipes import Subject
from crosscast_parity.scaling_law.scenes import Scene, faults_of
from crosscast_parity.scaling_law.shapes import Shape
from crosscast_parity.scaling_law.steps import Steps, read_steps

CompileTo = Callable[[Recipe, Sequence[str], Path], object]
BUDGET = 64_000_000
"""Values that the kept states of a run may have; there are up to four tensors a weight."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How runs are made. `stall`: seconds without a finished window that end a run."""

    folder: Path
    compile_to: CompileTo
    on_progress: OnProgress
    stall: float
    half: Half = "auto"
    python: str = sys.executable


@dataclass(frozen=True, slots=True)
class ShapeRun:
    """A run: its outcome and the files of every process."""

    outcome: Outcome
    ranks: tuple[Steps, ...]


class Maker:
    """Compiles the shapes of a subject to one target and runs them.

    `inputs`: rows and weights, once `write_inputs` was called.
    """

    inputs: Inputs

    def __init__(self, subject: Subject, target: str, settings: Settings) -> None:
        self.subject = subject
        self.settings = settings
        self.target = target
        self.framework = target.partition("@")[0]
        self.half = is_half(subject.recipe)
        self.execution: Execution = choose_execution(
            self.half, self.framework, settings.half, "cpu"
        )
        harness = harness_of(self.framework)
        self._inside = "" if harness is None else harness.inside
        self._rank_variable = "RANK" if harness is None else harness.rank_variable
        self._folders: dict[str, Path] = {}
        self._done, self._total = 0, 1
        place_runner(settings.folder)

    def compile(self) -> None:
        """Write all scripts.

        Raises:
            DiagnosticError: the target refuses a shape, or files cannot be written.
        """
        for shape in self.subject.shapes:
            self._emit(shape.name, shape.applied(self.subject.recipe))
        if self.half:
            self._emit("float32", in_float32(self.subject.recipe))

    def write_inputs(self) -> None:
        """Write the rows and weights of all runs.

        Raises:
            DiagnosticError: as of `Problem.write`.
        """
        subject, folder = self.subject, self.settings.folder / "inputs"
        self.inputs = subject.problem.write(
            subject.recipe, subject.train_rows, folder, self.target, self.settings.python
        )

    def emitted(self, shape: Shape) -> Path:
        """Return the folder of the files of a shape."""
        return self._folders[shape.name]

    def _emit(self, name: str, recipe: Recipe) -> None:
        folder = self.settings.folder / "scripts" / name
        self.settings.compile_to(recipe, (self.target,), folder)
        self._folders[name] = next(iter(sorted(folder.glob("*/train.py")))).parent

    def alone(self, scenes: Sequence[Scene]) -> dict[str, ShapeRun]:
        """Make the runs of one process, in one session; by name."""
        runs = [run for scene in scenes for run in self._single_process_runs(scene)]
        self._total = len(runs) + sum(len(shapes_together(s, self.subject)) for s in scenes)
        job = SessionJob(
            name=self.target.replace("@", "-"),
            python=self.settings.python,
            inside=self._inside,
            emulate=self.execution == "emulated",
            environment=self._environment(),
            runs=tuple(runs),
        )
        pool = SessionPool(
            Store(self.settings.folder / "runs"),
            self.settings.folder,
            jobs=1,
            limits=Limits(self.settings.stall),
            on_event=lambda kind, run, outcome: self._report_progress(kind, run.title, outcome),
        )
        finished = pool.run([job])
        return {
            key: ShapeRun(run.outcome, (read_steps(run.folder / "steps"),))
            for key, run in finished.items()
        }

    def _report_progress(self, kind: EventKind, title: str, outcome: Outcome | None) -> None:
        self._done += kind == "ended"
        progress = Progress(kind, f"{self.target} {title}", outcome, self._done, self._total)
        self.settings.on_progress(progress)

    def _single_process_runs(self, scene: Scene) -> list[SessionRun]:
        first = self.subject.shapes[0]
        runs = [
            self._run(scene, shape, shape.name, self.inputs.weights)
            for shape in self.subject.shapes
            if shape.processes == 1
        ]
        # Without a loss scale the first overflow ends the run; up to there it is the plain one.
        if not scene.overflows or self.subject.recipe.scaling_on:
            runs += [
                self._run(scene, first, f"twin-{number}", path)
                for number, path in enumerate(self.inputs.twins, start=1)
            ]
        if self.half and scene.name == "plain":
            runs.append(self._run(scene, first, "float32", self.inputs.weights))
        return runs

    def _run(self, scene: Scene, shape: Shape, name: str, weights: Path) -> SessionRun:
        script = self._folders["float32" if name == "float32" else shape.name] / "train.py"
        faults = faults_of(scene, self.subject, shape).get(0, ())
        return SessionRun(
            key=f"{scene.name}-{name}",
            title=f"{scene.name} {name}",
            spec={
                "script": str(script),
                "arguments": list(self._arguments(weights)),
                "faults": [str(fault) for fault in faults],
                "steps": list(self._recorded_windows()),
                **self._places(),
            },
        )

    def _places(self) -> dict[str, Any]:
        """Return the settings of the problem for a run, with the folder that it searches last."""
        own = self.subject.problem.run
        last = str(Path(own["folder"]) / self.framework) if own["folder"] else ""
        return {**own, "last": last}

    def together(
        self, scene: Scene, shape: Shape, *, emitted: Path | None = None, name: str = ""
    ) -> ShapeRun:
        """Make a run of several processes.

        Args:
            scene: what happens to it.
            shape: how the rows are dealt.
            emitted: another folder than that of the shape, as with a changed script.
            name: of such a run.
        """
        title = f"{scene.name} {shape}"
        self._report_progress("started", title, None)
        output = self.settings.folder / "runs" / f"{scene.name}-{name or shape.name}"
        job = RankJob(
            emitted=emitted or self.emitted(shape),
            output=output,
            python=self.settings.python,
            inside=self._inside,
            rank_variable=self._rank_variable,
            emulate=self.execution == "emulated",
            processes=shape.processes,
            arguments=self._arguments(self.inputs.weights),
            faults=faults_of(scene, self.subject, shape),
            steps=self._recorded_windows(),
            more=self._places(),
            environment=self._environment(),
            stall=self.settings.stall,
        )
        outcome = run_ranks(job)
        self._report_progress("ended", title, outcome)
        ranks = (read_steps(output / f"rank-{n}" / "steps") for n in range(shape.processes))
        return ShapeRun(outcome, tuple(ranks))

    def _arguments(self, weights: Path) -> tuple[str, ...]:
        windows = str(self.subject.windows)
        pairs = {
            "--train": self.inputs.train,
            "--eval": self.inputs.few,
            "--weights": weights,
            "--windows": windows,
            "--checkpoint-every": windows,
            "--device": "cpu",
            "--threads": 1,
        }
        return tuple(str(part) for pair in pairs.items() for part in pair)

    def _recorded_windows(self) -> tuple[int, ...]:
        """Return the windows whose state is kept: the first ones, then fewer, and the last."""
        windows = self.subject.windows
        affordable = max(2, BUDGET // (4 * max(1, self.inputs.count)))
        wanted = [w for w in range(windows) if w < 4 or w % 4 == 3 or w == windows - 1]
        if len(wanted) > affordable:
            wanted = [*wanted[: affordable - 1], windows - 1]
        return tuple(wanted)

    def _environment(self) -> dict[str, str]:
        runner, own = str(self.settings.folder / "runner"), self.subject.problem.run["folder"]
        compiled = self.settings.folder / COMPILED
        own_variables = child_environment(threads=1, device="cpu", compiled=compiled)
        return with_modules(own_variables, runner, own)


def shapes_together(scene: Scene, subject: Subject) -> tuple[Shape, ...]:
    """Return the shapes of several processes: all run plainly, the last overflows."""
    many = tuple(shape for shape in subject.shapes if shape.processes > 1)
    return many[-1:] if scene.overflows else many
