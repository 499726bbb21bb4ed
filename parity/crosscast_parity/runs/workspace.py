"""The folder of a comparison: inputs, scripts, and requests to the processes."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from compileall import compile_dir
from contextlib import ExitStack
from pathlib import Path

from crosscast.messages.folder_lock import hold_folder
from crosscast.recipe.document import Recipe
from crosscast.targets.backend import harness_of, installed_backends
from crosscast_parity.adapters.registry import ADAPTERS
from crosscast_parity.inputs.custom import CustomModels, write_custom_inputs
from crosscast_parity.inputs.shared import Inputs, write_inputs
from crosscast_parity.inputs.stored import row_files
from crosscast_parity.judge.judgement_store import Judgements
from crosscast_parity.planning.contestants import Contestant
from crosscast_parity.planning.options import Options
from crosscast_parity.planning.pace import cost
from crosscast_parity.planning.runs import RunSpec, Stage
from crosscast_parity.processes.freed_memory import VARIABLES as KEPT
from crosscast_parity.processes.process import child_environment, with_modules
from crosscast_parity.processes.run_cache import (
    Store,
    content_hash,
    file_hash,
    folder_hash,
    interpreter,
    numeric_environment,
    user_folder_hash,
)
from crosscast_parity.processes.sessions import SessionJob, SessionRun
from crosscast_parity.toy.course import course_of
from crosscast_parity.toy.model import TOY_FILE, make_toy

CompileTo = Callable[[Recipe, Sequence[str], Path], object]
"""`compile_to(recipe, targets, directory)` writes directory/<target>/train.py and the rest."""


INSIDE = Path(__file__).parents[1] / "inside"
OWN_WAYS = ("CC737",)
COMPILED = "compiled"
"""Folder of what frameworks compiled, which the processes of one comparison share."""


class Workspace:
    """Writes what runs need, and turns them into the work of processes."""

    def __init__(
        self, options: Options, compile_to: CompileTo, custom: CustomModels | None = None
    ) -> None:
        self.options = options
        self.custom = custom
        self._models: tuple[str, str] | None = None
        self.folder = options.workdir
        self.store = Store(options.cache or options.workdir / "runs")
        self.judgements = Judgements(self.store.root)
        self._compile_to = compile_to
        self._held = ExitStack()
        self._scripts: dict[tuple[str, str, str], Path] = {}
        self._inputs: dict[Path, Inputs] = {}
        self._watching: dict[str, list[str]] = {}
        self.notes: dict[str, None] = {}
        """What third-party trainers do in their own way, each once."""

    def prepare(self) -> None:
        """Take the folder, and place the files that interpreters without crosscast need.

        Raises:
            DiagnosticError: CC505 if another comparison works in the folder.
        """
        if not self.options.held:
            self._held.enter_context(hold_folder(self.folder, denied="CC708"))
        self.store.root.mkdir(parents=True, exist_ok=True)
        self.store.sweep()
        self.judgements.sweep()
        place_runner(self.folder)

    def release(self) -> None:
        """Leave the folder to others."""
        self._held.close()

    def inputs(self, stage: Stage, recipe: Recipe) -> Inputs:
        """Write the rows and weights of a stage, the first time; its recipe is one and the same."""
        folder = self.folder / "inputs" / stage.name
        if folder not in self._inputs:
            self._inputs[folder] = (
                write_inputs(recipe, folder, stage.twins)
                if self.custom is None
                else write_custom_inputs(recipe, folder, stage.twins, stage.windows, self.custom)
            )
        return self._inputs[folder]

    def inputs_of(self, inputs: Inputs, contestant: Contestant) -> Inputs:
        """Return the inputs as a program reads them."""
        return inputs if self.custom is None else inputs.of(contestant.framework)

    def toy(self, stage: Stage, recipe: Recipe) -> Inputs:
        """Write the toy that a recipe trains in a stage, the first time."""
        name = content_hash({"recipe": recipe.model_dump(mode="json")})
        folder = self.folder / "inputs" / stage.name / name
        if folder not in self._inputs:
            folder.mkdir(parents=True, exist_ok=True)
            make_toy(recipe, course_of(recipe, stage)).save(folder)
            self._inputs[folder] = Inputs.of_toy(folder / TOY_FILE)
        return self._inputs[folder]

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
        """Return the input of a session for a run, and the key of its result."""
        script = self.script(contestant, spec)
        options = self.options
        files = {
            "--train": spec.trained,
            "--eval": spec.evaluated,
            "--weights": spec.weights,
        }
        toy = spec.inputs.weights.parent if spec.toy else None
        settings = {
            "--windows": spec.windows,
            "--device": options.device,
            "--threads": options.threads,
        }
        faults = [str(fault) for fault in spec.faults]
        kept = {"resume": spec.resume, "checkpoint": spec.checkpoint}
        key = content_hash(
            {
                "script": self._identity(contestant, script),
                "files": {flag: file_hash(path) for flag, path in files.items()},
                "settings": settings,
                "faults": faults,
                "record": list(spec.record),
                "manifest": spec.manifest,
                "autocast": spec.autocast,
                "repeat": spec.repeat,
                **kept,
                "toy": spec.toy,
                "masks": spec.masks,
                "models": None if spec.toy else self._code_of_models(spec.recipe),
                "framework": contestant.framework,
                "emulate": emulate,
                "interpreter": interpreter(contestant.python),
                "environment": self._numeric(),
                "runner": self._watchers(contestant.framework),
            }
        )
        arguments = [str(part) for pair in (files | settings).items() for part in pair]
        custom = None if toy else self.custom
        return SessionRun(
            key=key,
            title=f"{spec.contestant} {spec.stage}/{spec.name}",
            cost=cost(spec, spec.inputs.count, contestant.framework),
            spec={
                "script": str(script),
                "arguments": arguments,
                "faults": faults,
                "record": list(spec.record),
                "manifest": spec.manifest,
                "autocast": spec.autocast,
                **kept,
                "toy": str(toy) if toy else "",
                "folder": str(custom.folder.absolute()) if custom else "",
                "last": str(custom.folder.absolute() / contestant.framework) if custom else "",
                "masks": spec.masks,
            },
        )

    def _watchers(self, framework: str) -> list[str]:
        """Return the hashes of the modules that watch a script, as they were at the beginning."""
        if framework not in self._watching:
            self._watching[framework] = [folder_hash(folder) for folder in _loaded(framework)]
        return self._watching[framework]

    def _code_of_models(self, recipe: Recipe) -> tuple[str, str] | None:
        """Return the identity of custom models: where they lie, and all files but the rows."""
        if self.custom is None:
            return None
        if self._models is None:
            folder = self.custom.folder.resolve()
            without = {self.folder, self.store.root, *row_files(recipe, folder)}
            self._models = str(folder), user_folder_hash(folder, without)
        return self._models

    def _identity(self, contestant: Contestant, script: Path) -> tuple[str, str]:
        """Return the identity of a script and the files in its folder."""
        if not contestant.own:
            return script.name, folder_hash(script.parent)
        # Where it lies, too: it may read files by a path from there.
        without = (self.folder, self.store.root)
        return str(script.resolve()), user_folder_hash(script.parent, without)

    def _numeric(self) -> dict[str, str]:
        """Return the variables that decide about numbers, without the folder's own path."""
        values = self._environment({})
        chosen = {"PYTHONPATH", *dict(self.options.environment)}
        return numeric_environment(values) | {k: values[k] for k in chosen if k in values}

    def _environment(self, extra: dict[str, str]) -> dict[str, str]:
        return child_environment(
            threads=self.options.threads,
            device=self.options.device,
            extra=extra | dict(self.options.environment),
            compiled=self.folder / COMPILED,
        )

    def session(
        self,
        contestant: Contestant,
        name: str,
        runs: Sequence[SessionRun],
        *,
        emulate: bool,
        rank: int = 0,
    ) -> SessionJob:
        """Return the process that makes some runs of a contestant."""
        runner, own = str(self.folder / "runner"), str(self.custom.folder) if self.custom else ""
        return SessionJob(
            name=name,
            python=contestant.python,
            inside=contestant.inside,
            emulate=emulate,
            environment=with_modules(self._environment(KEPT), runner, own),
            runs=tuple(runs),
            rank=rank,
        )


def _loaded(framework: str) -> Iterator[Path]:
    """Yield the folders of the modules that watch a script of a framework."""
    yield INSIDE
    harness = harness_of(framework)
    if harness is not None:
        yield harness.folder


def place_runner(workdir: Path) -> None:
    """Copy the recording modules into the folder, for interpreters without crosscast.

    With their bytecode: processes write none, and each would compile what it imports.
    """
    packages = {"crosscast_parity.inside": INSIDE}
    for backend in installed_backends():
        if backend.harness is not None:
            packages[backend.harness.inside] = backend.harness.folder
    for name, source in packages.items():
        target = (workdir / "runner").joinpath(*name.split("."))
        if not sys.dont_write_bytecode:
            compile_dir(source, quiet=2)
        unfinished = shutil.ignore_patterns("*.pyc.*")
        shutil.copytree(source, target, dirs_exist_ok=True, ignore=unfinished)
        (target.parent / "__init__.py").touch()
