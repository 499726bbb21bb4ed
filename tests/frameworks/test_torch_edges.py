"""PyTorch's steps at the edge: gradients that are few or none, and layers with half weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from frameworks.emitted_script import emit, tiny_recipe
from frameworks.step_cases import FULL_BFLOAT16, NORM, SGD, VALUE
from frameworks.subprocesses import run_python
from frameworks.torch_cases import EACH_NORM, OLD

pytestmark = pytest.mark.torch

ALL_EXEMPT = {"exempt": ["embedding"]}
EDGES: dict[str, dict[str, Any]] = {
    "stock": {"clipping": NORM | ALL_EXEMPT},
    "own": {"clipping": NORM | ALL_EXEMPT | {"eps": 0.0}},
    "each": {"clipping": EACH_NORM | ALL_EXEMPT},
    "each-own": {"clipping": EACH_NORM | ALL_EXEMPT | {"eps": 0.0}},
    "value": {"clipping": VALUE | ALL_EXEMPT},
    "none": {},
}
HALVES = {name: {"precision": FULL_BFLOAT16} for name in ("half", "half@2.1")}
NORMS_OF_2_4 = {"half": [], "half@2.1": ["RMSNorm"]}


@pytest.fixture(scope="module")
def edges(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Steps whose gradients are few, and steps with half weights, run in one process."""
    root = tmp_path_factory.mktemp("edges")
    old = {f"{name}{OLD}": sections for name, sections in EDGES.items()}
    cases = EDGES | old | HALVES
    for name, sections in cases.items():
        recipe = tiny_recipe(**({"optimizer": SGD} | sections))
        target = f"torch{OLD}" if name.endswith(OLD) else "torch"
        emit(recipe, target, root / name, form="step")
    program = Path(__file__).with_name("run_edges_torch.py")
    found = run_python(program, "torch", *(root / name for name in cases))
    return {name: found[str(root / name)] for name in cases}


@pytest.mark.parametrize("old", ["", OLD])
@pytest.mark.parametrize("name", EDGES)
def test_the_norm_of_no_gradients_is_zero(edges: dict[str, Any], name: str, old: str) -> None:
    norms = edges[f"{name}{old}"]["norms"]
    assert norms[3:] == [0.0] * 3  # no gradients at all
    exempt = name != "none"
    assert [norm == 0.0 for norm in norms[:3]] == [exempt] * 3


@pytest.mark.parametrize("name", HALVES)
def test_normalization_layers_keep_float32_weights(edges: dict[str, Any], name: str) -> None:
    # nn.RMSNorm came with 2.4: scripts for older versions cannot name it.
    expected = [*NORMS_OF_2_4[name], "Conv2d", "Embedding", "Linear"]
    assert edges[name]["halves"] == expected
