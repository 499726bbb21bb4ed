"""Own models in other types are found, with operation and module; right rewrites are not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from crosscast_parity.checks.check import Check
from crosscast_parity.levels.dtypes import check_dtypes
from crosscast_parity.levels.operation_types import compare_operations
from crosscast_parity.recordings.observations import Observation
from crosscast_parity.recordings.type_manifest import Manifest, read_manifest
from custom_fakes import own_recipe
from frameworks.subprocesses import require, run_python
from frameworks.type_plants import PLANTS, REWRITES, TypePlant

pytestmark = [pytest.mark.torch, pytest.mark.tensorflow, pytest.mark.paddle]
EXAMPLE = Path(__file__).parents[2] / "examples" / "gpt"
ALL = ("torch", "tensorflow", "paddle")
HALF: dict[str, Any] = {"precision": {"mode": "mixed", "compute_dtype": "float16"}}
MEAN = {
    "torch": ("self.norm(x)", "self.norm(x - x.mean(-1, keepdim=True))"),
    "tensorflow": ("self.norm(x), self", "self.norm(x - ops.mean(x, -1, keepdims=True)), self"),
    "paddle": ("self.norm(x)", "self.norm(x - x.mean(-1, keepdim=True))"),
}
"""What the models are given in addition: a mean."""


def source(framework: str, edits: Any) -> str:
    text = (EXAMPLE / f"model_{framework}.py").read_text()
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new)
    old, new = MEAN[framework]
    return text.replace(old, new)


@pytest.fixture(scope="module")
def manifests(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Manifest]:
    """What every model computes in, by the name of the plant or the framework."""
    folder = tmp_path_factory.mktemp("types")
    found = {}
    for framework in ALL:
        require(framework)
        programs = [(framework, source(framework, ()), {})]
        programs += [
            (plant.name, source(framework, plant.edits), dict(plant.options))
            for plant in (*PLANTS, *REWRITES)
            if plant.framework == framework
        ]
        (folder / "programs.json").write_text(json.dumps(programs))
        program = Path(__file__).with_name("own_model_types.py")
        for name, told in run_python(
            program, framework, framework, folder / "programs.json", timeout=900
        ).items():
            (folder / "manifest.json").write_text(json.dumps(told))
            found[name] = read_manifest(folder / "manifest.json")
    return found


def judged(manifests: dict[str, Manifest], name: str, reference: str) -> list[Check]:
    """Return the checks of the types of operations, by the recipe and against the reference."""
    ours = Observation(windows=(), manifest=manifests[name])
    by_recipe = check_dtypes(own_recipe(**HALF), ours, emulated=True)
    products = [check for check in by_recipe if check.name == "operations"]
    return [*products, *compare_operations(manifests[name], manifests[reference])]


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.name)
def test_another_type_is_found_and_named(plant: TypePlant, manifests: dict[str, Manifest]) -> None:
    for reference in ALL:
        found = judged(manifests, plant.name, reference)
        wrong = [check.wording for check in found if check.result == "fail"]
        assert wrong, (reference, [check.wording for check in found])
        assert any(words.startswith(plant.kind) for words in wrong), wrong
        assert any(plant.place in words for words in wrong), wrong


@pytest.mark.parametrize("name", [*ALL, *(rewrite.name for rewrite in REWRITES)])
def test_other_programs_of_the_same_types_are_not_accused(
    name: str, manifests: dict[str, Manifest]
) -> None:
    for reference in ALL:
        found = judged(manifests, name, reference)
        assert {check.result for check in found} == {"pass"}, (
            reference,
            [check.wording for check in found],
        )
