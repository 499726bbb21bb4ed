"""The rehearsal of the emitted TensorFlow step: its laws, and what it refuses."""

from __future__ import annotations

from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosscast.bert_shapes import bert_shapes
from crosscast.diagnostics import DiagnosticError
from crosscast.memory.estimate import estimate
from crosscast.memory.records import COMPONENTS, PHASES, Device, Estimate
from crosscast.recipe import BertModel, Recipe
from crosscast.target import find_target
from recipe_texts import FLOAT16, recipe_of

BFLOAT16 = "{mode: mixed, compute_dtype: bfloat16}"
PRECISIONS = ("{mode: none, compute_dtype: float32}", BFLOAT16, FLOAT16)
CLIP = "{kind: global_norm, max_norm: 1.0}"
DEVICES: st.SearchStrategy[Device] = st.sampled_from(("cpu", "cuda"))


def of(recipe: Recipe, device: Device = "cpu", target: str = "tensorflow") -> Estimate:
    return estimate(recipe, find_target(target), device=device)


def part(found: Estimate, name: str) -> int:
    return sum(one.bytes for one in found.components if one.name == name)


def sizes(recipe: Recipe) -> dict[str, int]:
    """Bytes of every parameter, by name."""
    assert isinstance(recipe.model, BertModel)
    return {name: 4 * prod(shape) for name, shape in bert_shapes(recipe.model).items()}


@st.composite
def berts(draw: st.DrawFn) -> dict[str, str]:
    heads = draw(st.integers(1, 4))
    model = {
        "kind": "bert",
        "layers": draw(st.integers(1, 3)),
        "hidden_size": heads * draw(st.integers(1, 16)),
        "attention_heads": heads,
        "intermediate_size": draw(st.integers(1, 64)),
        "vocab_size": draw(st.integers(200, 500)),
        "labels": 3,
        "dropout": draw(st.sampled_from((0.0, 0.1))),
    }
    return {
        "model": "{" + ", ".join(f"{name}: {value}" for name, value in model.items()) + "}",
        "precision": draw(st.sampled_from(PRECISIONS)),
        "clipping": CLIP,
        "accumulation": f"{{steps: {draw(st.integers(1, 3))}}}",
        "data": f"{{source: synthetic, sequence_length: {draw(st.integers(9, 64))}}}",
    }


def sized(fields: dict[str, str], rows: int, checkpointing: bool = False) -> Recipe:
    batch = f"{{micro_batch_size: {rows}}}"
    flag = str(checkpointing).lower()
    return recipe_of(**fields | {"batch": batch, "activation_checkpointing": flag})


@settings(max_examples=30, deadline=None)
@given(berts(), st.integers(1, 9), DEVICES, st.booleans())
def test_components_are_what_the_peak_consists_of(
    fields: dict[str, str], rows: int, device: Device, checkpointing: bool
) -> None:
    recipe = sized(fields, rows, checkpointing)
    found = of(recipe, device)
    assert sum(one.bytes for one in found.components) == found.peak_bytes
    assert all(one.bytes > 0 for one in found.components)
    names = [one.name for one in found.components]
    assert names == [name for name in COMPONENTS if name in names]
    assert found.peak_phase in PHASES
    assert 0 < found.fixed_bytes <= found.forward_bytes <= found.peak_bytes < found.total
    every = sum(sizes(recipe).values())
    assert (part(found, "parameters"), part(found, "optimizer")) == (every, 2 * every)


@settings(max_examples=30, deadline=None)
@given(berts(), st.integers(1, 9), st.integers(1, 5), DEVICES, st.booleans())
def test_more_rows_or_tokens_need_no_less(
    fields: dict[str, str], rows: int, more: int, device: Device, checkpointing: bool
) -> None:
    here = of(sized(fields, rows, checkpointing), device)
    assert of(sized(fields, rows + more, checkpointing), device).peak_bytes >= here.peak_bytes
    longer = fields | {"data": "{source: synthetic, sequence_length: 70}"}
    assert of(sized(longer, rows, checkpointing), device).peak_bytes >= here.peak_bytes


@settings(max_examples=30, deadline=None)
@given(berts(), st.integers(2, 9))
def test_checkpointing_keeps_less_for_backward(fields: dict[str, str], rows: int) -> None:
    kept = of(sized(fields, rows))
    assert of(sized(fields, rows, checkpointing=True)).forward_bytes < kept.forward_bytes


@pytest.mark.parametrize("precision", PRECISIONS)
def test_checkpointing_lowers_the_peak_of_several_layers(precision: str) -> None:
    fields = {
        "model": "{kind: bert, preset: small, vocab_size: 200, labels: 3}",
        "data": "{source: synthetic, sequence_length: 128}",
        "precision": precision,
        "clipping": CLIP,
    }
    kept, again = (of(sized(fields, 64, flag)).peak_bytes for flag in (False, True))
    assert again < 0.75 * kept


def test_half_copies_are_those_of_dense_layers() -> None:
    fields = {"batch": "{micro_batch_size: 512}", "clipping": CLIP}
    wide, half = (of(recipe_of(**fields | {"precision": one})) for one in PRECISIONS[:2])
    assert (half.peak_phase, part(wide, "half_copies")) == ("backward", 0)
    assert half.forward_bytes < wide.forward_bytes
    kernels = [
        size
        for name, size in sizes(recipe_of()).items()
        if name.endswith(".weight") and "embeddings" not in name and "LayerNorm" not in name
    ]
    assert 0 < part(half, "half_copies") <= sum(kernels) // 2


REFUSED = {
    "half-weights": {"precision": "{mode: full, compute_dtype: bfloat16}"},
    "half-gelu": {"precision": "{mode: mixed, compute_dtype: bfloat16, ops: {pointwise: compute}}"},
    "lamb": {"optimizer": "{name: lamb, learning_rate: 1e-3}"},
    "norm-each": {"clipping": "{kind: per_param_norm, max_norm: 1.0}"},
    "average": {"ema": "{decay: 0.9}"},
    "processes": {"distributed": "{strategy: data_parallel, processes_per_node: 2}"},
    "xla": {"overrides": "{tensorflow: {jit_compile: true}}"},
}


@pytest.mark.parametrize("fields", REFUSED.values(), ids=REFUSED)
def test_what_is_not_modelled_is_told(fields: dict[str, str]) -> None:
    with pytest.raises(DiagnosticError) as caught:
        of(recipe_of(**{"clipping": CLIP} | fields))
    assert [one.code for one in caught.value.diagnostics] == ["CC451"]


@pytest.mark.parametrize("target", ["tensorflow@2.10"])
def test_older_keras_is_not_modelled(target: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        of(recipe_of(clipping=CLIP), target=target)
    assert [one.code for one in caught.value.diagnostics] == ["CC451"]
