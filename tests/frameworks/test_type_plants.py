"""Own models in other types are found, with operation and module; right rewrites are not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from crosscast_parity.checks.check import Check
from crosscast_parity.levels.dtypes import check_dtypes
from crosscast_parity.levels.operation_types import compare_operations
from crosscast_parity.recordings.observations import Observation
from crosscast_parity.recordings.type_manifest import Manifest, read_manifest
from custom_fakes import own_recipe
from frameworks.names import FRAMEWORKS, MARKS, QUICK
from frameworks.subprocesses import require, run_python
from frameworks.type_plants import PLANTS, REWRITES, TypePlant
from tiers import Lazy, cases, selected, with_exhaustive

pytestmark = MARKS
EXAMPLE = Path(__file__).parents[2] / "examples" / "gpt"
HALF: dict[str, Any] = {"precision": {"mode": "mixed", "compute_dtype": "float16"}}
QUICK_PLANTS = ("torch residual in half", "keras residual in half", "paddle residual in half")
SAME = tuple(TypePlant(framework, framework, ()) for framework in FRAMEWORKS)
MEAN = {
    "jax": ("self.norm(x)", "self.norm(x - x.mean(-1, keepdims=True))"),
    "torch": ("self.norm(x)", "self.norm(x - x.mean(-1, keepdim=True))"),
    "tensorflow": ("self.norm(x), self", "self.norm(x - ops.mean(x, -1, keepdims=True)), self"),
    "paddle": ("self.norm(x)", "self.norm(x - x.mean(-1, keepdim=True))"),
}
"""What the models are given in addition: a mean."""


def source(framework: str, edits: Any) -> str:
    text = (EXAMPLE / f"model_{framework}.py").read_text()
    for _, old, new in edits:
        assert old in text, old
        text = text.replace(old, new)
    old, new = MEAN[framework]
    return text.replace(old, new)


@pytest.fixture(scope="module")
def manifests(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, Manifest]:
    """What a model computes in, by the name of the plant or the framework.

    One process computes all selected programs of a framework when the first is asked for.
    """
    folder = tmp_path_factory.mktemp("types")
    wanted = [*selected(request, "plant"), *selected(request, "rewrite")]
    program = Path(__file__).with_name("own_model_types.py")

    def computed(framework: str) -> Mapping[str, Manifest]:
        require(framework)
        programs: list[Any] = [(framework, source(framework, ()), {})]
        programs += [
            (plant.name, source(framework, plant.edits), dict(plant.options))
            for plant in wanted
            if plant.framework == framework
        ]
        path = folder / f"{framework}.json"
        path.write_text(json.dumps(programs))
        found = {}
        for name, told in run_python(program, framework, framework, path, timeout=600).items():
            path.write_text(json.dumps(told))
            found[name] = read_manifest(path)
        return found

    by_framework: Lazy[Mapping[str, Manifest]] = Lazy(computed)
    frameworks = {plant.name: plant.framework for plant in (*PLANTS, *REWRITES)}
    return Lazy(lambda name: by_framework[frameworks.get(name, name)][name])


@pytest.fixture(scope="module")
def references(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """What models are compared with; JAX only where its models are looked at."""
    return FRAMEWORKS if with_exhaustive(request) else QUICK


def judged(manifests: Mapping[str, Manifest], name: str, reference: str) -> list[Check]:
    """Return the checks of the types of operations, by the recipe and against the reference."""
    ours = Observation(windows=(), manifest=manifests[name])
    by_recipe = check_dtypes(own_recipe(**HALF), ours, emulated=True)
    products = [check for check in by_recipe if check.name == "operations"]
    return [*products, *compare_operations(manifests[name], manifests[reference])]


@pytest.mark.parametrize(
    "plant",
    cases(
        [pytest.param(plant, id=plant.name) for plant in PLANTS],
        [plant for plant in PLANTS if plant.name in QUICK_PLANTS],
        "more planted types of operations",
    ),
)
def test_another_type_is_found_and_named(
    plant: TypePlant, manifests: Mapping[str, Manifest], references: tuple[str, ...]
) -> None:
    for reference in references:
        found = judged(manifests, plant.name, reference)
        wrong = [check.wording for check in found if check.result == "fail"]
        assert wrong, (reference, [check.wording for check in found])
        assert any(plant.kind in words for words in wrong), wrong
        assert any(plant.place in words for words in wrong), wrong


@pytest.mark.parametrize(
    "rewrite",
    cases(
        [pytest.param(rewrite, id=rewrite.name) for rewrite in (*SAME, *REWRITES)],
        [same for same in SAME if same.framework in QUICK],
        "more programs of the same types",
    ),
)
def test_other_programs_of_the_same_types_are_not_accused(
    rewrite: TypePlant, manifests: Mapping[str, Manifest], references: tuple[str, ...]
) -> None:
    for reference in references:
        found = judged(manifests, rewrite.name, reference)
        assert {check.result for check in found} == {"pass"}, (
            reference,
            [check.wording for check in found],
        )
