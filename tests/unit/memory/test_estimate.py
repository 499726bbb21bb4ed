"""The memory of a training step: laws of the estimate, and the ways in which it can refuse."""

from __future__ import annotations

from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosscast.fit.devices import DEVICES as GPUS
from crosscast.fit.devices import find_device
from crosscast.fit.model_traces import Estimates
from crosscast.memory.estimate import estimate
from crosscast.memory.records import Device, Estimate, Moment, TracedModel, TracedWeight
from crosscast.memory.simple_formula import simple_formula
from crosscast.messages.diagnostics import DiagnosticError
from crosscast.recipe.bert_shapes import bert_shapes
from crosscast.recipe.document import BertModel, Recipe
from crosscast.targets.backend import find_target
from memory_recipes import DEVICES, adds_up, estimated, grows, part, sized, small_berts
from property_settings import examples
from recipe_texts import FLOAT16, recipe_of

PRECISIONS = (
    "{mode: none, compute_dtype: float32}",
    "{mode: mixed, compute_dtype: bfloat16}",
    FLOAT16,
    "{mode: full, compute_dtype: bfloat16}",
    "{mode: mixed, compute_dtype: bfloat16, ops: {pointwise: compute, reductions: compute}}",
)
OPTIMIZERS = (
    "{name: adamw, learning_rate: 1e-3}",
    "{name: sgd, learning_rate: 1e-3, momentum: 0.9}",
    "{name: sgd, learning_rate: 1e-3}",
    "{name: lamb, learning_rate: 1e-3}",
    "{name: lion, learning_rate: 1e-3}",
    "{name: adafactor, learning_rate: 1e-3}",
)
OWN = "{kind: custom, factory: {torch: 'net:build'}}"
OWN_DATA = "{source: npz, train: a.npz, eval: b.npz}"
OWN_OPTIMIZER = "{name: adamw, learning_rate: 1e-3, no_decay: []}"


def of(recipe: Recipe, device: Device = "cpu", target: str = "torch") -> Estimate:
    return estimated(recipe, target, device)


def berts() -> st.SearchStrategy[dict[str, str]]:
    return small_berts({"precision": PRECISIONS, "optimizer": OPTIMIZERS})


@settings(max_examples=examples(60))
@given(berts(), st.integers(1, 9), DEVICES, st.booleans())
def test_components_are_what_the_peak_consists_of(
    fields: dict[str, str], rows: int, device: Device, checkpointing: bool
) -> None:
    found = of(sized(fields, rows, checkpointing), device)
    adds_up(found)


@settings(max_examples=examples(60))
@given(berts(), DEVICES)
def test_parameters_are_exact(fields: dict[str, str], device: Device) -> None:
    recipe = sized(fields, 2)
    assert isinstance(recipe.model, BertModel)
    found = of(recipe)
    sizes = {name: prod(shape) for name, shape in bert_shapes(recipe.model).items()}
    full = recipe.precision.mode == "full"
    wanted = {name: 2 if full and "LayerNorm" not in name else 4 for name in sizes}
    assert part(found, "parameters") == sum(sizes[name] * wanted[name] for name in sizes)
    assert part(found, "masters") == sum(4 * sizes[name] for name in sizes if wanted[name] == 2)
    if recipe.optimizer.name in ("adamw", "lamb"):
        assert part(found, "optimizer") == 8 * sum(sizes.values())


@settings(max_examples=examples(60))
@given(berts(), st.integers(1, 9), st.integers(1, 5), DEVICES, st.booleans())
def test_more_rows_or_tokens_need_no_less(
    fields: dict[str, str], rows: int, more: int, device: Device, checkpointing: bool
) -> None:
    grows(lambda recipe: of(recipe, device).peak_bytes, fields, rows, more, checkpointing)


@settings(max_examples=examples(60))
@given(berts(), st.integers(2, 9), DEVICES)
def test_checkpointing_keeps_less_for_backward(
    fields: dict[str, str], rows: int, device: Device
) -> None:
    """At the end of forward; a peak of one layer is that of the layer computed again."""
    kept = of(sized(fields, rows), device)
    again = of(sized(fields, rows, checkpointing=True), device)
    assert again.forward_bytes < kept.forward_bytes


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_checkpointing_lowers_the_peak_of_several_layers(precision: str, device: Device) -> None:
    fields = {
        "model": "{kind: bert, preset: small, vocab_size: 200, labels: 3}",
        "data": "{source: synthetic, sequence_length: 128}",
        "precision": precision,
    }
    kept, again = (of(sized(fields, 64, flag), device).peak_bytes for flag in (False, True))
    assert again < 0.75 * kept


def test_a_second_micro_batch_finds_gradients_there() -> None:
    first = of(recipe_of(accumulation="{steps: 1}", batch="{micro_batch_size: 64}"))
    two = of(recipe_of(accumulation="{steps: 2}", batch="{micro_batch_size: 64}"))
    three = of(recipe_of(accumulation="{steps: 3}", batch="{micro_batch_size: 64}"))
    assert first.peak_bytes < two.peak_bytes == three.peak_bytes
    assert part(first, "gradients") < part(two, "gradients") == part(two, "parameters")


def test_averages_and_processes_hold_a_copy_each() -> None:
    plain = of(recipe_of())
    ema = of(recipe_of(ema="{decay: 0.9}"))
    both = of(recipe_of(distributed="{strategy: data_parallel, processes_per_node: 2}"))
    assert part(ema, "ema") == ema.peak_bytes - plain.peak_bytes == part(plain, "parameters")
    assert part(both, "buckets") == both.peak_bytes - plain.peak_bytes


@pytest.mark.parametrize(
    ("optimizer", "copies"),
    [
        ("{name: lamb, learning_rate: 1e-3}", 4),
        ("{name: lamb, learning_rate: 1e-3, bias_correction: false}", 2),
        ("{name: lion, learning_rate: 1e-3}", 3),
        ("{name: sgd, learning_rate: 1e-3, momentum: 0.9, rate_in_momentum: true}", 2),
        (
            "{name: sgd, learning_rate: 1e-3, momentum: 0.9, rate_in_momentum: true,"
            " nesterov: true}",
            3,
        ),
    ],
)
def test_updates_in_python_need_copies_of_the_largest_parameter(
    optimizer: str, copies: int
) -> None:
    found = of(recipe_of(optimizer=optimizer, batch="{micro_batch_size: 1}"))
    assert found.peak_phase == "step"
    assert part(found, "temporaries") == copies * 4 * 30522 * 128


def test_an_older_dialect_has_no_fused_update() -> None:
    recipe = recipe_of(batch="{micro_batch_size: 1}")
    assert of(recipe).peak_phase == "backward"
    assert of(recipe, target="torch@2.1").peak_phase == "step"


PADDLE_CASES = {
    "half-weights": {"precision": "{mode: full, compute_dtype: bfloat16}"},
    "own-optimizer": {"optimizer": "{name: lamb, learning_rate: 1e-3}"},
}


@pytest.mark.parametrize("fields", PADDLE_CASES.values(), ids=PADDLE_CASES)
def test_what_is_not_modelled_of_paddle_is_told(fields: dict[str, str]) -> None:
    with pytest.raises(DiagnosticError) as caught:
        of(recipe_of(**fields), target="paddle")
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["CC451"]


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_paddle_in_half_is_float32_on_a_cpu(device: Device) -> None:
    batch = "{micro_batch_size: 64}"
    wide = of(recipe_of(batch=batch), device, "paddle")
    half = of(recipe_of(batch=batch, precision=FLOAT16), device, "paddle")
    assert sum(component.bytes for component in half.components) == half.peak_bytes
    assert (half.forward_bytes < wide.forward_bytes) == (device == "cuda")
    assert part(wide, "parameters") == part(half, "parameters")


def test_on_a_gpu_memory_comes_in_pieces_and_libraries_want_some() -> None:
    cpu, gpu = of(recipe_of()), of(recipe_of(), "cuda")
    assert part(gpu, "workspace") == 2 * 8320 * 1024
    assert not part(cpu, "workspace")
    assert not [size for size in (part(gpu, "parameters"), gpu.fixed_bytes) if size % 512]


def test_libraries_want_more_of_a_hopper() -> None:
    before, hopper = (of(recipe_of(), device) for device in ("cuda", "hopper"))
    more = 2 * (32 * 2**20 - 8320 * 2**10)
    assert part(hopper, "workspace") - part(before, "workspace") == more
    assert hopper.peak_bytes - before.peak_bytes == more
    assert [gpu.name for gpu in GPUS if gpu.memory_model == "hopper"] == ["H100", "H200"]
    for gpu, peak in (
        (None, before),
        (find_device("A100-80"), before),
        (find_device("H100"), hopper),
    ):
        assert Estimates(None, gpu).of(recipe_of(), "torch").peak_bytes == peak.peak_bytes


def test_the_simple_formula() -> None:
    recipe = recipe_of(
        model="{kind: bert, layers: 1, hidden_size: 4, attention_heads: 1, intermediate_size: 8,"
        " vocab_size: 200, max_positions: 16, labels: 3}",
        data="{source: synthetic, sequence_length: 9}",
        batch="{micro_batch_size: 3}",
    )
    tables, norms = (200 + 16 + 2) * 4, 3 * 8
    dense = 4 * (16 + 4) + (32 + 8) + (32 + 4) + (16 + 4) + (12 + 3)
    outputs = 9 * (4 * 4 + 7 * 4 + 8) + 4 + 3
    wanted = (tables + norms + dense) * 16 + 3 * outputs * 4 * 2
    assert simple_formula(recipe) == of(recipe).simple_formula_bytes == wanted


def own_model() -> Recipe:
    return recipe_of(
        model=OWN, data=OWN_DATA, optimizer=OWN_OPTIMIZER, batch="{micro_batch_size: 10}"
    )


def test_a_model_of_ones_own_needs_a_trace() -> None:
    with pytest.raises(DiagnosticError) as caught:
        of(own_model())
    assert [(diagnostic.code, diagnostic.path) for diagnostic in caught.value.diagnostics] == [
        ("CC450", "model")
    ]


@pytest.mark.parametrize("target", ["deepspeed", "accelerate"])
def test_targets_that_are_no_scripts_are_refused(target: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        of(recipe_of(), target=target)
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["CC451"]


def test_a_trace_is_counted_for_the_rows_of_the_recipe() -> None:
    low, high = Moment("backward", 0, 5000, 10), Moment("forward", 0, 100, 700)
    traced = TracedModel(
        weights=(TracedWeight(1000, "float32", 10), TracedWeight(10, "float32")),
        frozen_bytes=64,
        first=(low,),
        later=(low, high),
        forward_end=high,
        outputs_per_row=300,
        sequence_length=0,
    )
    found = estimate(own_model(), find_target("torch"), device="cpu", traced=traced)
    fixed = 3 * 4040 + 64
    assert found.fixed_bytes == fixed
    assert found.peak_phase == "forward"
    # The gradients of the first micro-batch are counted by the moments of the second one.
    assert found.peak_bytes == fixed + 100 + 10 * 700
    assert found.simple_formula_bytes == 1010 * 16 + 10 * 300 * 2
