"""How much memory the emitted PyTorch script needs: one window, rehearsed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from crosscast.memory.bert import Bert, Casts, Types, parameters_of, types_of
from crosscast.memory.records import Device, TracedModel
from crosscast.memory.tape import Block, Tape, Weight
from crosscast.recipe.document import BertModel, Recipe
from crosscast.targets.backend import Dialect
from crosscast.targets.half_kernels import kernel_types
from crosscast_torch.target.adaptations import TorchAdaptation
from crosscast_torch.target.memory_ops import CPU, CUDA, STEPS
from crosscast_torch.target.optimizer import STOCK_ADAFACTOR, optimizer_view
from crosscast_torch.target.overrides import TorchOverrides
from crosscast_torch.target.rows import adapted_plan

NOTES = MappingProxyType(
    {
        "parameters": "what the model computes with",
        "masters": "float32 weights behind half ones",
        "half_copies": "weights that autocast has cast",
        "gradients": "`.grad` of every parameter",
        "optimizer": "moments",
        "ema": "averaged weights",
        "buckets": "the copy of the gradients that DistributedDataParallel exchanges",
        "batch": "the mask that is added to the scores",
        "activations": "what autograd keeps, and tensors that still have a name",
        "temporaries": "of the operations at the peak",
        "workspace": "of cuBLAS, one for each of two threads",
    }
)
MOMENTS = {"adam": 2, "adamw": 2, "lamb": 2, "lion": 1}
ROUND_ON_GPU = 512
"""The caching allocator of PyTorch gives out multiples of this."""
CUBLAS_WORKSPACE = {"cuda": 2 * (4096 * 2 + 16 * 8) * 1024, "hopper": 2 * 4096 * 8 * 1024}
"""Default of CUBLAS_WORKSPACE_CONFIG: `:4096:2:16:8` in KiB, from Hopper on `:4096:8`; PyTorch
holds one for each thread that multiplies: that of forward, that of backward."""
MARGIN = 0.05
MARGIN_ON_GPU = 0.1
"""Share of the peak to keep free: what was measured lies within 5 %, on a GPU within 4 %
(docs/explanation/memory.md), where fragments come on top."""


@dataclass(slots=True)
class TorchRehearsal:
    """A window on a tape."""

    tape: Tape
    fixed_bytes: int = 0
    forward_bytes: int = 0
    margin_bytes: int = 0
    notes: Mapping[str, str] = field(default_factory=lambda: NOTES)


def rehearse(
    recipe: Recipe, dialect: Dialect, device: Device, traced: TracedModel | None
) -> TorchRehearsal:
    """Return the allocations of a window of the emitted script, once there are moments."""
    gpu = device != "cpu"
    tape = Tape(CUDA, round_to=ROUND_ON_GPU) if gpu else Tape(CPU)
    rehearsal = TorchRehearsal(tape)
    types = types_in(recipe, dialect, device)
    if traced is None:
        weights = parameters_of(recipe, copies=types.casts == "copies")
    else:
        weights = _traced_weights(traced)
    _hold_fixed(recipe, tape, weights)
    if traced is not None:
        tape.block(traced.frozen_bytes, "uint8", "parameters")
    if gpu:
        tape.block(CUBLAS_WORKSPACE[device], "uint8", "workspace")
    rehearsal.fixed_bytes = tape.total
    masters = Masters(tape, casts=not gpu or types.casts != "copies")
    half_sums = recipe.accumulation.dtype == "compute"
    for number in range(min(2, recipe.accumulation.steps)):
        if traced is None:
            _micro_batch(recipe, rehearsal, weights, types)
        else:
            _replay(recipe, traced, rehearsal, weights, later=number > 0)
        if not half_sums:
            masters.collect(weights)
    masters.collect(weights)
    _step(recipe, dialect, tape, weights, device)
    rehearsal.margin_bytes = int(tape.peak.total * (MARGIN_ON_GPU if gpu else MARGIN))
    return rehearsal


def _hold_fixed(recipe: Recipe, tape: Tape, weights: Mapping[str, Weight]) -> None:
    for weight in weights.values():
        tape.block(weight.count, weight.dtype, "parameters")
        if weight.dtype != "float32":
            tape.block(weight.count, "float32", "masters")
        for count in moments(recipe, weight):
            tape.block(count, "float32", "optimizer")
        if recipe.ema.decay is not None:
            tape.block(weight.count, "float32", "ema")
        if recipe.processes > 1:
            tape.block(weight.count, weight.dtype, "buckets")


def moments(recipe: Recipe, weight: Weight) -> Sequence[int]:
    """Return the sizes of what the optimizer keeps about a parameter."""
    optimizer = recipe.optimizer
    if optimizer.name == "adafactor":
        return (weight.rows, weight.count // weight.rows) if weight.rows else (weight.count,)
    count = MOMENTS.get(optimizer.name, 0) + bool(getattr(optimizer, "momentum", 0.0))
    return [weight.count] * count


def types_in(recipe: Recipe, dialect: Dialect, device: Device) -> Types:
    """Return the types of the emitted model's operations.

    On a CPU there is no fused attention with dropout: PyTorch computes it from products.
    """
    has = adapted_plan(recipe, dialect).adapted.__contains__
    casts: Casts = "explicit" if has(TorchAdaptation.EXPLICIT_CASTS) else "autocast"
    if has(TorchAdaptation.HALF_COPIES):
        casts = "copies"
    composed = device == "cpu" and isinstance(recipe.model, BertModel) and recipe.model.dropout > 0
    fused = has(TorchAdaptation.FUSED_ATTENTION) and not composed
    return types_of(recipe, casts=casts, kinds=kernel_types(recipe.precision.ops), fused=fused)


def _micro_batch(
    recipe: Recipe, rehearsal: TorchRehearsal, weights: dict[str, Weight], types: Types
) -> None:
    tape, model = rehearsal.tape, recipe.model
    assert isinstance(model, BertModel)
    tape.phase = "forward"
    bert = Bert(
        tape,
        model,
        types,
        recipe.batch.micro_batch_size,
        recipe.data.sequence_length,
        weights,
        checkpointing=recipe.activation_checkpointing,
    )
    logits = bert.forward()
    loss = bert.become(logits, bert.types.losses)
    bert.leave_autocast()
    rehearsal.forward_bytes = max(rehearsal.forward_bytes, tape.total)
    tape.phase = "backward"
    tape.free(loss)
    tape.backward(loss)


def _traced_weights(traced: TracedModel) -> dict[str, Weight]:
    return {str(i): Weight(w.count, w.dtype, w.rows) for i, w in enumerate(traced.weights)}


def _replay(
    recipe: Recipe,
    traced: TracedModel,
    rehearsal: TorchRehearsal,
    weights: Mapping[str, Weight],
    *,
    later: bool,
) -> None:
    """Hold, moment by moment, what the trace saw."""
    tape, rows = rehearsal.tape, recipe.batch.micro_batch_size
    # With half weights those of normalizations alone keep their gradients over a micro-batch.
    has_gradients = all(weight.gradient is not None for weight in weights.values())
    rehearsal.forward_bytes = tape.total + traced.forward_end.at(rows)
    for weight in weights.values():
        if weight.gradient is not None:
            weight.gradient.drop()
            weight.gradient = None
    for moment in traced.later if later and has_gradients else traced.first:
        tape.phase = moment.phase
        with (
            tape.scratch((moment.gradients, "uint8"), category="gradients"),
            tape.scratch((moment.at(rows), "uint8"), category="activations"),
        ):
            pass
    for weight in weights.values():
        weight.gradient = tape.block(weight.count, weight.dtype, "gradients")


@dataclass(slots=True)
class Masters:
    """`collect_gradients`: half gradients are added to those of float32 masters."""

    tape: Tape
    casts: bool
    """Whether an addition makes a float32 copy first; one of GPUs need not."""
    sums: dict[int, Block] = field(default_factory=dict)

    def collect(self, weights: Mapping[str, Weight]) -> None:
        """Move the half gradients of all parameters."""
        self.tape.phase = "collect"
        for weight in weights.values():
            if weight.dtype == "float32" or weight.gradient is None:
                continue
            later = id(weight) in self.sums
            if self.casts or not later:
                wide = self.tape.block(weight.count, "float32", "gradients")
                if later:
                    wide.drop()
                else:
                    self.sums[id(weight)] = wide
            weight.gradient.drop()
            weight.gradient = None


def _step(
    recipe: Recipe, dialect: Dialect, tape: Tape, weights: Mapping[str, Weight], device: Device
) -> None:
    tape.phase = "step"
    row = STEPS[step_form(recipe, dialect, device)]
    counts = [weight.count for weight in weights.values()]
    sizes = [max(counts)] * row.largest + [sum(counts)] * row.every
    with tape.scratch(*((size, "float32") for size in sizes)):
        pass


def step_form(recipe: Recipe, dialect: Dialect, device: Device) -> str:
    """Return the row of `STEPS` that says how the script updates."""
    overrides = TorchOverrides.model_validate(recipe.overrides.get("torch", {}))
    view = optimizer_view(adapted_plan(recipe, dialect), overrides, dialect.features)
    optimizer = recipe.optimizer
    decay = " decay" if optimizer.weight_decay else ""
    if view.cls == STOCK_ADAFACTOR:
        return STOCK_ADAFACTOR
    match view.own:
        case "lamb":
            return "lamb" if view.op.bias_correction else "lamb uncorrected"
        case "momentum":
            return "momentum" + (" nesterov" if view.op.nesterov else decay)
        case "":
            if "fused=True" in view.arguments:
                return "fused"
            way = "foreach" if device != "cpu" else "loop"
            coupled = decay if optimizer.name != "adamw" else ""
            return f"{way} {'sgd' if optimizer.name == 'sgd' else 'adam'}{coupled}"
        case own:
            return own
