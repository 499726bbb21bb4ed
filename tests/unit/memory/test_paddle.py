"""Memory of Paddle's scripts whose recipe says what is stored in half, and of fused attention."""

from __future__ import annotations

from math import prod

from crosscast.memory.estimate import estimate
from crosscast.memory.records import Device, Estimate
from crosscast.recipe.bert_shapes import bert_shapes
from crosscast.recipe.document import BertModel
from crosscast.targets.backend import find_target
from recipe_texts import recipe_of

BFLOAT16 = "{mode: mixed, compute_dtype: bfloat16}"
ROWS, LENGTH, HEADS, LAYERS = 4, 512, 2, 2
SCORES = ROWS * HEADS * LENGTH**2
"""Entries of the scores of a layer of BERT-tiny."""


def of(device: Device, *, attention: str = "fused", **fields: str) -> Estimate:
    model = f"{{kind: bert, preset: tiny, labels: 3, dropout: 0.0, attention: {attention}}}"
    data = f"{{source: synthetic, sequence_length: {LENGTH}}}"
    whole = {"version": "2", "accumulation": "{steps: 1}"}  # forward, there are no gradients
    recipe = recipe_of(**whole, model=model, data=data, **fields)
    return estimate(recipe, find_target("paddle"), device=device)


def part(found: Estimate, name: str) -> int:
    return sum(component.bytes for component in found.components if component.name == name)


def test_layers_have_half_copies_on_a_gpu_and_tables_do_not() -> None:
    model = recipe_of().model
    assert isinstance(model, BertModel)
    sizes = {name: prod(shape) for name, shape in bert_shapes(model).items()}
    layers = sum(n for name, n in sizes.items() if not name.endswith("_embeddings.weight"))
    found = of("cuda", precision=BFLOAT16)
    assert part(found, "half_copies") == 2 * layers
    assert part(found, "parameters") == 4 * sum(sizes.values())
    assert part(of("cpu", precision=BFLOAT16), "half_copies") == 0  # --use_bf16=false


def test_what_is_stored_in_half_takes_half_of_the_memory() -> None:
    half, wide = (of("cuda", **fields) for fields in ({"precision": BFLOAT16}, {}))
    kept = [found.forward_bytes - found.fixed_bytes for found in (half, wide)]
    assert 0.49 < kept[0] / kept[1] < 0.53
    assert half.peak_bytes < wide.peak_bytes


def test_fused_attention_keeps_no_scores_on_a_gpu() -> None:
    for fields, size in (({"precision": BFLOAT16}, 2), ({}, 4)):
        fused, explicit = (
            of("cuda", attention=attention, **fields) for attention in ("fused", "explicit")
        )
        assert explicit.forward_bytes - fused.forward_bytes > 0.98 * LAYERS * SCORES * size
    fused, explicit = (of("cpu", attention=attention) for attention in ("fused", "explicit"))
    assert abs(fused.forward_bytes - explicit.forward_bytes) < SCORES  # of several operations
