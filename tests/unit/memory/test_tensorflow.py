"""The rehearsal of the emitted TensorFlow step: its laws, and what it refuses."""

from __future__ import annotations

from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosscast.memory.records import Device, Estimate
from crosscast.messages.diagnostics import DiagnosticError
from crosscast.recipe.bert_shapes import bert_shapes
from crosscast.recipe.document import BertModel, Recipe
from memory_recipes import DEVICES, adds_up, estimated, grows, part, sized, small_berts
from property_settings import examples
from recipe_texts import FLOAT16, recipe_of

BFLOAT16 = "{mode: mixed, compute_dtype: bfloat16}"
PRECISIONS = ("{mode: none, compute_dtype: float32}", BFLOAT16, FLOAT16)
CLIP = "{kind: global_norm, max_norm: 1.0}"


def of(recipe: Recipe, device: Device = "cpu", target: str = "tensorflow") -> Estimate:
    return estimated(recipe, target, device)


def berts() -> st.SearchStrategy[dict[str, str]]:
    return small_berts({"precision": PRECISIONS, "clipping": (CLIP,)})


def sizes(recipe: Recipe) -> dict[str, int]:
    """Bytes of every parameter, by name."""
    assert isinstance(recipe.model, BertModel)
    return {name: 4 * prod(shape) for name, shape in bert_shapes(recipe.model).items()}


@settings(max_examples=examples(30))
@given(berts(), st.integers(1, 9), DEVICES, st.booleans())
def test_components_are_what_the_peak_consists_of(
    fields: dict[str, str], rows: int, device: Device, checkpointing: bool
) -> None:
    recipe = sized(fields, rows, checkpointing)
    found = of(recipe, device)
    adds_up(found)
    every = sum(sizes(recipe).values())
    assert (part(found, "parameters"), part(found, "optimizer")) == (every, 2 * every)


@settings(max_examples=examples(30))
@given(berts(), st.integers(1, 9), st.integers(1, 5), DEVICES, st.booleans())
def test_more_rows_or_tokens_need_no_less(
    fields: dict[str, str], rows: int, more: int, device: Device, checkpointing: bool
) -> None:
    grows(lambda recipe: of(recipe, device).peak_bytes, fields, rows, more, checkpointing)


@settings(max_examples=examples(30))
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
    wide, half = (
        of(recipe_of(**fields | {"precision": precision})) for precision in PRECISIONS[:2]
    )
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
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["CC451"]


@pytest.mark.parametrize("target", ["tensorflow@2.10"])
def test_older_keras_is_not_modelled(target: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        of(recipe_of(clipping=CLIP), target=target)
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["CC451"]
