"""The folder of a comparison: inputs, scripts, and what is asked of the processes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from crosscast.recipe import Recipe
from crosscast_parity.adapters.registry import ADAPTERS
from crosscast_parity.cache import Store, content_hash, file_hash, folder_hash, versions
from crosscast_parity.contestants import Contestant
from crosscast_parity.exchange import Inputs, write_inputs
from crosscast_parity.options import Options
from crosscast_parity.planning import RunSpec, Stage, cost
from crosscast_parity.process import child_environment
from crosscast_parity.sessions import SessionJob, SessionRun
from crosscast_parity.variants import weights_of

CompileTo = Callable[[Recipe, Sequence[str], Path], object]
"""`compile_to(recipe, targets, directory)` writes directory/<target>/train.py and the rest."""


OWN_WAYS = ("CC737",)


class Workspace:
    """Writes what runs need, and turns them into the work of processes."""

    def __init__(self, options: Options, compile_to: CompileTo) -> None:
        self.options = options
        self.folder = options.workdir
        self.store = Store(options.cache or options.workdir / "runs")
        self._compile_to = compile_to
        self._scripts: dict[tuple[str, str, str], Path] = {}
        self.notes: dict[str, None] = {}
        """What third-party trainers do in their own way, each once."""

    def prepare(self) -> None:
        """Place the files that runs need in interpreters without crosscast."""
        self.store.root.mkdir(parents=True, exist_ok=True)
        self.store.sweep()
        place_runner(self.folder)

    def inputs(self, stage: Stage, recipe: Recipe) -> Inputs:
        """Write the rows and weights of a stage."""
        return write_inputs(recipe, self.folder / "inputs" / stage.name, stage.twins)

    def script(self, contestant: Contestant, spec: RunSpec) -> Path:
        """Return the script that a run is made with, compiled the first time it is asked for."""
        if contestant.script is not None:
            return contestant.script
        key = (contestant.name, spec.stage, spec.variant)
        if key not in self._scripts:
            folder = self.folder / "scripts" / "-".join(key)
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            script = self._emit(contestant, spec.recipe, folder)
            for edit in contestant.edits:
                edit(script.parent)
            self._scripts[key] = script
        return self._scripts[key]

    def _emit(self, contestant: Contestant, recipe: Recipe, folder: Path) -> Path:
        if contestant.adapter:
            own = folder / contestant.adapter
            for note in ADAPTERS[contestant.adapter].write(recipe, own):
                if note.code in OWN_WAYS:
                    self.notes.setdefault(f"{contestant.name}: {note.message}")
            return own / "train.py"
        self._compile_to(recipe, (contestant.target,), folder)
        return next(iter(sorted(folder.glob("*/train.py"))))

    def session_run(self, contestant: Contestant, spec: RunSpec, *, emulate: bool) -> SessionRun:
        """Return what a session is told of a run, and the key of its result."""
        script = self.script(contestant, spec)
        options = self.options
        files = {
            "--train": spec.inputs.train,
            # The end of any other run is not looked at.
            "--eval": spec.inputs.eval if spec.name == "main" else spec.inputs.few,
            "--weights": spec.weights,
        }
        settings = {
            "--windows": spec.windows,
            "--device": options.device,
            "--threads": options.threads,
        }
        faults = [str(fault) for fault in spec.faults]
        inside = Path(__file__).with_name("inside")
        key = content_hash(
            {
                "script": folder_hash(script.parent),
                "files": {flag: file_hash(path) for flag, path in files.items()},
                "settings": settings,
                "faults": faults,
                "record": spec.record,
                "manifest": spec.manifest,
                "repeat": spec.repeat,
                "framework": contestant.framework,
                "emulate": emulate,
                "versions": versions(contestant.python),
                "environment": dict(options.environment),
                "runner": folder_hash(inside),
            }
        )
        arguments = [str(part) for pair in (files | settings).items() for part in pair]
        return SessionRun(
            key=key,
            title=f"{spec.contestant} {spec.stage}/{spec.name}",
            cost=cost(spec, weights_of(spec.recipe)),
            spec={
                "script": str(script),
                "arguments": arguments,
                "faults": faults,
                "record": spec.record,
                "manifest": spec.manifest,
            },
        )

    def session(
        self, contestant: Contestant, name: str, runs: Sequence[SessionRun], *, emulate: bool
    ) -> SessionJob:
        """Return the process that makes some runs of a contestant."""
        found = os.environ.get("PYTHONPATH")
        runner = str(self.folder / "runner")
        extra = {"PYTHONPATH": f"{runner}{os.pathsep}{found}" if found else runner}
        return SessionJob(
            name=name,
            python=contestant.python,
            framework=contestant.framework,
            emulate=emulate,
            environment=child_environment(
                threads=self.options.threads,
                device=self.options.device,
                extra=extra | dict(self.options.environment),
            ),
            runs=tuple(runs),
        )


def place_runner(workdir: Path) -> None:
    """Copy the package `inside` beside the runs, for interpreters without crosscast."""
    package = workdir / "runner" / "crosscast_parity"
    source = Path(__file__).with_name("inside")
    shutil.copytree(
        source, package / "inside", dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__")
    )
    (package / "__init__.py").touch()
