"""How much memory the emitted PyTorch script needs: one window, rehearsed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from crosscast.memory.records import Device, TracedModel
from crosscast.memory.tape import Block, Tape, Weight
from crosscast.recipe import Recipe
from crosscast.target import Dialect
from crosscast_torch.memory_bert import Bert, parameters_of, types_of
from crosscast_torch.memory_ops import CPU, CUDA

MOMENTS = {"sgd": 0, "adam": 2, "adamw": 2, "lamb": 2, "lion": 1, "adafactor": 0}
SCRATCH = {"sgd": 0, "adam": 0, "adamw": 0, "lamb": 4, "lion": 3, "adafactor": 4}
"""Copies of the largest parameter that a step of the optimizer needs for a while."""

_NOTES = {
    "half_copies": "weights that autocast has cast",
    "gradients": "`.grad` of every parameter",
    "optimizer": "moments of the optimizer",
    "activations": "what autograd keeps, and tensors with a name",
    "temporaries": "of the operation at the peak",
    "buckets": "of DistributedDataParallel",
}


@dataclass(slots=True)
class TorchRehearsal:
    """A window on a tape."""

    tape: Tape
    fixed_bytes: int = 0
    forward_bytes: int = 0
    margin_bytes: int = 0
    notes: Mapping[str, str] = field(default_factory=lambda: dict(_NOTES))


def rehearse(
    recipe: Recipe, dialect: Dialect, device: Device, traced: TracedModel | None
) -> TorchRehearsal:
    """Return what a window of the emitted script allocates."""
    tape = Tape(CUDA if device == "cuda" else CPU, round_to=512 if device == "cuda" else 1)
    done = TorchRehearsal(tape)
    weights = parameters_of(recipe)
    _hold_fixed(recipe, tape, weights)
    done.fixed_bytes = tape.total
    sums: dict[int, Block] = {}
    for _ in range(min(2, recipe.accumulation.steps)):
        _micro_batch(recipe, done, weights, sums)
    grads = list(weights.values())
    tape.phase = "step"
    largest = max(weight.count for weight in grads)
    with tape.scratch(*[(largest, "float32")] * SCRATCH[recipe.optimizer.name]):
        pass
    done.margin_bytes = tape.peak.total // 20
    return done


def _hold_fixed(recipe: Recipe, tape: Tape, weights: Mapping[str, Weight]) -> None:
    optimizer = recipe.optimizer
    moments = MOMENTS[optimizer.name] + bool(getattr(optimizer, "momentum", 0.0))
    for weight in weights.values():
        tape.block(weight.count, weight.dtype, "parameters")
        if weight.dtype != "float32":
            tape.block(weight.count, "float32", "masters")
        for _ in range(moments):
            tape.block(weight.count, "float32", "optimizer")
        if recipe.ema.decay is not None:
            tape.block(weight.count, "float32", "ema")
        if recipe.processes > 1:
            tape.block(weight.count, weight.dtype, "buckets")


def _micro_batch(
    recipe: Recipe,
    done: TorchRehearsal,
    weights: dict[str, Weight],
    sums: dict[int, Block],
) -> None:
    tape = done.tape
    tape.phase = "forward"
    rows, length = recipe.batch.micro_batch_size, recipe.data.sequence_length
    assert recipe.model.kind == "bert"
    bert = Bert(
        tape,
        recipe.model,
        types_of(recipe),
        rows,
        length,
        weights,
        checkpointing=recipe.activation_checkpointing,
    )
    logits = bert.forward()
    loss = bert.cast(logits, bert.types.losses)
    bert.leave_autocast()
    done.forward_bytes = max(done.forward_bytes, tape.total)
    tape.phase = "backward"
    tape.free(logits)
    tape.backward(loss)
    tape.free(loss)
    if recipe.precision.mode == "full" and recipe.accumulation.dtype == "float32":
        tape.phase = "collect"
        for weight in weights.values():
            if weight.dtype == "float32" or weight.gradient is None:
                continue
            wide = tape.block(weight.count, "float32", "gradients")
            if id(weight) in sums:
                wide.drop()
            else:
                sums[id(weight)] = wide
            weight.gradient.drop()
            weight.gradient = None
