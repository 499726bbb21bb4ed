"""Bugs of storage in own models: which does the check of types see, without any other program?

    PYTHONPATH=tests python -m mutants.own_storage --frameworks torch --dtypes float16,bfloat16

Each is planted in one of the examples, small, and the emitted script trains one window of it. The
second table of a framework has right models, of which nothing may be said.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from changed_programs import Edit, changes_in
from crosscast.emit.compiler import compile_recipe
from crosscast.messages.output import write_files
from crosscast.recipe.document import Recipe
from crosscast.recipe.load import load
from crosscast_parity.checks.check import Check
from crosscast_parity.levels.dtypes import check_dtypes
from crosscast_parity.recordings.observations import Observation
from crosscast_parity.recordings.type_manifest import read_manifest
from frameworks.example_problems import problem

FRAMEWORKS = ("torch", "paddle", "tensorflow")
DTYPES = ("float16", "bfloat16")
OTHER = {"float16": "bfloat16", "bfloat16": "float16"}


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnModel:
    """A change of an example's model, or of the script that trains it.

    `edits`: texts and what takes their place, in the model or, if only it has them, in `train.py`.
    HALF and OTHER stand for the recipe's half type and the other one. `says`: a part of what is
    said of it; empty for a right model. `precision`: what its recipe says besides.
    """

    name: str
    example: str
    edits: tuple[Edit, ...]
    says: str = ""
    precision: str = ""


def plants_of(framework: str) -> Sequence[OwnModel]:
    """Return the bugs of a framework."""
    return _models(framework, "Bugs")


def unseen_of(framework: str) -> Sequence[OwnModel]:
    """Return the bugs of a framework that the check of types does not tell from right models."""
    return _models(framework, "Bugs that are not told from right models")


def rewrites_of(framework: str) -> Sequence[OwnModel]:
    """Return the right models of a framework."""
    return _models(framework, "Right models")


def _models(framework: str, group: str) -> Sequence[OwnModel]:
    path = Path(__file__).with_name(f"own_{framework}.diff")
    return [
        OwnModel(
            name=change.name,
            example=change.field(0),
            edits=change.edits,
            says=change.field(1),
            precision=change.field(2),
        )
        for change in changes_in(path)[group]
    ]


def checks_of(
    framework: str, dtype: str, models: Sequence[OwnModel], folder: Path, python: str
) -> Mapping[str, list[Check]]:
    """Train one window of each model in one process; return its checks of operations by name."""
    recipes, runs = {}, []
    for number, model in enumerate(models):
        recipe, script = _written(framework, dtype, model, folder / f"{number}")
        recipes[model.name] = recipe
        output = script.parent / "out"
        output.mkdir()
        arguments = ["--output", str(output), "--windows", "1", "--device", "cpu"]
        shown = {"script": str(script), "output": str(output), "arguments": arguments}
        runs.append({"name": str(number), **shown, "record": [0], "manifest": True})
    inside = f"crosscast_{framework}.inside"
    spec = folder / "spec.json"
    spec.write_text(json.dumps({"inside": inside, "emulate": True, "runs": runs}))
    command = [python, "-m", "crosscast_parity.inside.session", str(spec)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    checks = {}
    for model, run in zip(models, runs, strict=True):
        output = Path(str(run["output"]))
        path = output / "observed" / "manifest.json"
        if not path.exists():
            end = output / "done.json"
            words = end.read_text() if end.exists() else done.stderr
            raise RuntimeError(f"{model.name}: {words[-2000:]}")
        seen = Observation(windows=(), manifest=read_manifest(path))
        made = check_dtypes(recipes[model.name], seen, emulated=True)
        checks[model.name] = [check for check in made if check.name.startswith("operations")]
    return checks


def _written(framework: str, dtype: str, model: OwnModel, folder: Path) -> tuple[Recipe, Path]:
    """Write an example with a change; return its recipe and its script."""
    home = problem(model.example, folder, dtype)
    recipe, files = _compiled(framework, model.example, dtype, model.precision)
    write_files(home, files)
    script = home / "train.py"
    data = home / "data.py"
    text = data.read_text()
    for many in ("8192, 512", "4096, 512"):
        text = text.replace(f"TRAIN_ROWS, EVAL_ROWS = {many}", "TRAIN_ROWS, EVAL_ROWS = 64, 8")
    data.write_text(text)
    texts = (script.parent / f"model_{framework}.py", script)
    for _, old, new in model.edits:
        file = next((file for file in texts if old in file.read_text()), None)
        if file is None:
            raise RuntimeError(f"{model.name}: {old!r} is in no file")
        file.write_text(file.read_text().replace(old, typed(new, dtype)))
    return recipe, script


@cache
def _compiled(framework: str, example: str, dtype: str, precision: str) -> tuple[Recipe, Any]:
    """Compile the recipe of an example; with another `precision` it is one of version 2."""
    with TemporaryDirectory() as folder:
        path = problem(example, Path(folder), dtype) / "recipe.yaml"
        text = path.read_text()
        if precision:
            more = f"compute_dtype: {dtype}, {precision}"
            text = text.replace("version: 1", "version: 2")
            text = text.replace(f"compute_dtype: {dtype}", more)
            path.write_text(text)
        recipe = load(str(path))
        return recipe, compile_recipe(recipe, [framework])[0].files


def typed(text: str, dtype: str) -> str:
    return text.replace("HALF", dtype).replace("OTHER", OTHER[dtype])


def main(argv: Sequence[str] | None = None) -> int:
    """Try the models; return 1 if a right one is accused."""
    parser = argparse.ArgumentParser(prog="mutants.own_storage", description=__doc__)
    add = parser.add_argument
    add("--frameworks", type=lambda text: text.split(","), default=FRAMEWORKS, metavar="F,...")
    add("--dtypes", type=lambda text: text.split(","), default=DTYPES, metavar="TYPE,...")
    add("--output", type=Path, default=Path("build/own-storage"), help="a new folder")
    options = parser.parse_args(argv)
    accused = False
    for framework in options.frameworks:
        for dtype in options.dtypes:
            plants = [*plants_of(framework), *unseen_of(framework)]
            rewrites = rewrites_of(framework)
            folder = options.output / f"{framework}-{dtype}"
            folder.mkdir(parents=True)
            models = [*plants, *rewrites]
            checks = checks_of(framework, dtype, models, folder.resolve(), sys.executable)
            wrong = {name: wrong_of(of) for name, of in checks.items()}
            for model in models:
                print(f"{framework} {dtype} {model.name}: {wrong[model.name] or 'nothing'}")
            caught = sum(bool(wrong[plant.name]) for plant in plants)
            alarms = sum(bool(wrong[model.name]) for model in rewrites)
            print(f"{framework} {dtype}: {caught} of {len(plants)} caught,", end=" ")
            print(f"{alarms} of {len(rewrites)} right models accused", flush=True)
            accused |= alarms > 0
    return int(accused)


def wrong_of(checks: Sequence[Check]) -> str:
    """Return what failed checks say; empty if none failed."""
    return "; ".join(check.wording for check in checks if check.result == "fail")


if __name__ == "__main__":
    sys.exit(main())
