"""Every form of an optimizer that scripts are emitted with is read back from them."""

from __future__ import annotations

import re

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lift.flat_recipe import flat
from lift_round_trip import compared, emitted, read_back
from recipe_texts import recipe_of
from tiers import cases

FRAMEWORKS = ("torch", "tensorflow", "paddle", "jax")
OLDER = ("torch@1.8", "tensorflow@2.10", "tensorflow@graph-rewrite", "paddle@2.6", "paddle@fleet")
TARGETS = cases([*FRAMEWORKS, *OLDER], FRAMEWORKS, "optimizers of older dialects, read back")
MOMENTUM = [
    f"name: sgd, momentum: 0.9, nesterov: {nesterov}, rate_in_momentum: {inside}"
    for nesterov in ("true", "false")
    for inside in ("true", "false")
]
ADAM = [
    f"name: {name}, bias_correction: {corrected}, eps_placement: {place}_correction"
    for name in ("adam", "adamw")
    for corrected in ("true", "false")
    for place in ("after", "before")
]
LAMB = [
    f"name: lamb, no_decay: [bias], bias_correction: {corrected}, always_adapt: {always}"
    for corrected in ("true", "false")
    for always in ("true", "false")
]
OTHERS = ["name: sgd", "name: lion", "name: adafactor"]


@pytest.mark.parametrize("optimizer", [*MOMENTUM, *ADAM, *LAMB, *OTHERS])
@pytest.mark.parametrize("target", TARGETS)
def test_optimizers_are_read_back(target: str, optimizer: str) -> None:
    recipe = recipe_of(optimizer=f"{{{optimizer}, learning_rate: 1.0e-3}}")
    sources = emitted(recipe, target)
    if sources is not None:
        assert compared(recipe, read_back(sources), target) == {}


@pytest.mark.parametrize("optimizer", OTHERS)
@pytest.mark.parametrize("target", FRAMEWORKS)
def test_attention_is_read_back_beside_every_optimizer(target: str, optimizer: str) -> None:
    """Scripts with Adafactor name a later release than others of their generation."""
    recipe = recipe_of(version="2", optimizer=f"{{{optimizer}, learning_rate: 1.0e-3}}")
    sources = emitted(recipe, target)
    if sources is not None:
        assert compared(recipe, read_back(sources), target) == {}


@pytest.mark.parametrize("target", FRAMEWORKS)
def test_an_edited_optimizer_is_not_called_one_of_a_recipe(target: str) -> None:
    sources = emitted(recipe_of(), target)
    assert sources is not None
    edited = [
        Source(s.name, re.sub(r"\b(?:AdamW|scale_by_adam)\b", "Novel", s.text)) for s in sources
    ]
    found = [path for path in read_back(edited) if path.startswith("optimizer.")]
    assert found == ["optimizer.learning_rate"]


WINDOWS = [
    ("accelerate", "{steps: 4, tail: flush}", 1),
    ("accelerate", "{steps: 4, tail: carry}", 1),
    ("accelerate", "{steps: 1}", 2),
    ("fabric", "{steps: 4, tail: flush}", 2),
    ("fabric", "{steps: 4, tail: carry, normalize_by: sample}", 1),
    ("fabric", "{steps: 4, tail: drop, normalize_by: sample}", 1),
    ("fabric", "{steps: 4, tail: drop, normalize_by: microbatch}", 1),
    ("fabric", "{steps: 4, tail: flush_renormalized, normalize_by: sample}", 2),
    ("fabric", "{steps: 4, tail: flush_renormalized, normalize_by: microbatch}", 1),
]


@pytest.mark.parametrize(("target", "accumulation", "processes"), WINDOWS)
def test_windows_of_layers_are_read_back(target: str, accumulation: str, processes: int) -> None:
    distributed = f"{{strategy: data_parallel, processes_per_node: {processes}}}"
    recipe = recipe_of(
        accumulation=accumulation, distributed=distributed if processes > 1 else None
    )
    sources = emitted(recipe, target)
    assert sources is not None
    found, wanted = read_back(sources), flat(recipe)
    assert found["accumulation.steps"] == wanted["accumulation.steps"]
    several = wanted["accumulation.steps"] > 1
    assert found.get("accumulation.tail") == (wanted["accumulation.tail"] if several else None)
    unit = wanted["accumulation.normalize_by"]
    assert found.get("accumulation.normalize_by", unit) == unit
    shared = found.get("distributed.strategy"), found.get("distributed.processes_per_node")
    assert shared == (("data_parallel", processes) if processes > 1 else (None, None))
