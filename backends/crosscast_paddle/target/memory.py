"""How much memory the emitted Paddle script needs: one window, rehearsed.

Modelled: dynamic graphs, weights in float32. On a CPU Paddle computes in float32 where a recipe
says mixed precision. For a GPU the rows of the CPU are taken over, with a larger margin.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from crosscast.memory.bert import Bert, Casts, Types, parameters_of, types_of
from crosscast.memory.records import Device
from crosscast.memory.tape import Block, Tape, Value, Weight
from crosscast.recipe.document import BertModel, Recipe
from crosscast.targets.backend import Dialect
from crosscast.targets.capability import adaptations, judge
from crosscast.targets.half_kernels import kernel_types
from crosscast_paddle.target.adaptations import PaddleAdaptation as Adapt
from crosscast_paddle.target.dialects import DIALECTS
from crosscast_paddle.target.memory_ops import OPS
from crosscast_paddle.target.rows import ROWS

NOTES = MappingProxyType(
    {
        "parameters": "what the model computes with",
        "gradients": "`.grad` of every parameter",
        "optimizer": "moments",
        "ema": "averaged weights",
        "half_copies": "weights that auto_cast has cast, or the copies that layers compute with",
        "buckets": "the copy of the gradients that DataParallel exchanges",
        "batch": "ids and masks",
        "activations": "what autograd keeps, and tensors that still have a name",
        "temporaries": "of the operations at the peak",
    }
)
MOMENTS = {"adam": 2, "adamw": 2, "sgd": 0}
MARGIN = 0.05
MARGIN_ON_GPU = 0.25
"""Share of the peak to keep free; on a GPU nothing was measured."""
ID_ARRAYS = 3


@dataclass(slots=True)
class PaddleRehearsal:
    """A window on a tape."""

    tape: Tape
    fixed_bytes: int = 0
    forward_bytes: int = 0
    margin_bytes: int = 0
    notes: Mapping[str, str] = field(default_factory=lambda: NOTES)


@dataclass(slots=True)
class PaddleBert(Bert):
    """`templates/paddle/bert_layers.j2`, where it differs from PyTorch's."""

    composed: bool = False
    """Whether fused attention is several operations."""

    def become(self, x: Value, dtype: str) -> Value:
        """`x = x.astype(dtype)`."""
        if x.dtype != dtype:
            cast = self.cast(x, dtype)
            self.tape.free(x)
            return cast
        view = self.tape.view("cast", x)
        self.tape.free(x)
        return view

    def attention(self, prefix: str, x: Value, mask: Value) -> Value:
        """`SelfAttention.forward`."""
        tape, types = self.tape, self.types
        named = []
        for part in ("query", "key", "value"):
            dense = self.linear(f"{prefix}.{part}", x)
            named.append(tape.view("unflatten", dense))
            tape.free(dense)
        q, k, v = named
        if types.fused:
            return self.fused_attention(q, k, v)
        if self.composed:
            return self._composed_attention(q, k, v, mask)
        count = self.rows * self.model.attention_heads * self.length**2
        scores = self.store("matmul", tape.op("scores", [q, k], count, types.matmul))
        scores = self._for_softmax(scores)
        scaled = tape.op("scale", [scores], count, scores.dtype)
        shifted = self.add(scaled, mask, count)
        tape.free(scaled)
        weights = self.store("reductions", tape.op("softmax", [shifted], count, shifted.dtype))
        tape.free(shifted)
        if self.model.dropout and weights.dtype != types.pointwise:
            weights = self.become(weights, types.pointwise)
        weights = self.dropout(weights)
        cast_weights = self.cast(weights, types.matmul)
        context = tape.op("context", [cast_weights, v], x.count, types.matmul)
        context = self.store("matmul", context)
        tape.free(cast_weights)
        flat = tape.op("copy", [context], x.count, context.dtype)
        tape.free(context, q, k, v, scores, weights)
        return flat

    def add_norm(self, prefix: str, x: Value, residual: Value) -> Value:
        """`AddNorm.forward`."""
        dense = self.dropout(self.pointwise_input(self.linear(f"{prefix}.dense", x)))
        if dense.dtype != self.types.residual:
            dense = self.become(dense, self.types.residual)
        beside = self.cast(residual, self.types.residual)
        total = self.add(beside, dense)
        self.tape.free(beside)
        out = self.norm(f"{prefix}.LayerNorm", total)
        self.tape.free(total, dense)
        return out

    def _for_softmax(self, scores: Value) -> Value:
        """`scores` in the type of softmax; half copies leave it as it is."""
        copies = self.types.casts == "copies"
        return scores if copies else self.become(scores, self.types.reductions)

    def _composed_attention(self, q: Value, k: Value, v: Value, mask: Value) -> Value:
        """What `F.scaled_dot_product_attention` does where there is no kernel for it."""
        tape = self.tape
        count = self.rows * self.model.attention_heads * self.length**2
        scaled = tape.op("scale", [q], q.count, q.dtype)
        product = tape.op("scores", [scaled, k], count, q.dtype)
        tape.free(scaled)
        shifted = self.add(product, mask, count)
        tape.free(product)
        weights = self.dropout(tape.op("softmax", [shifted], count, q.dtype))
        context = tape.op("context", [weights, v], q.count, q.dtype)
        tape.free(shifted, weights)
        flat = tape.op("copy", [context], q.count, q.dtype)
        tape.free(context, q, k, v)
        return flat


def modelled(recipe: Recipe, dialect: Dialect) -> bool:
    """Whether the model covers a recipe: optimizers of Paddle's own, no half weights."""
    return (
        isinstance(recipe.model, BertModel)
        and dialect in DIALECTS
        and recipe.precision.mode != "full"
        and recipe.optimizer.name in MOMENTS
    )


def rehearse(recipe: Recipe, dialect: Dialect, device: Device) -> PaddleRehearsal:
    """Return the allocations of a window of the emitted script, once there are moments."""
    rows = [row for row in ROWS if not row.dialects or dialect.name in row.dialects]
    adapted = adaptations(judge(recipe, rows))
    gpu = device != "cpu"
    tape = Tape(OPS)
    rehearsal = PaddleRehearsal(tape)
    types = _types(recipe, adapted, device)
    copies = gpu and types.casts == "copies"
    weights = parameters_of(recipe, copies=copies)
    moments = MOMENTS[recipe.optimizer.name] + bool(getattr(recipe.optimizer, "momentum", 0.0))
    for weight in weights.values():
        tape.block(weight.count, "float32", "parameters")
        if weight.dtype != "float32":
            tape.block(weight.count, weight.dtype, "half_copies")
        for _ in range(moments):
            tape.block(weight.count, "float32", "optimizer")
        if recipe.ema.decay is not None:
            tape.block(weight.count, "float32", "ema")
        if recipe.processes > 1:
            tape.block(weight.count, "float32", "buckets")
    rehearsal.fixed_bytes = tape.total
    composed = not gpu and Adapt.FUSED_ATTENTION in adapted
    sums: dict[int, Block] = {}
    for _ in range(min(2, recipe.accumulation.steps)):
        _micro_batch(recipe, rehearsal, weights, types, composed=composed)
        _collect(tape, weights, sums)
    tape.phase = "clip"
    largest = max(weight.count for weight in weights.values())
    with tape.scratch((largest, "float32")):  # squares of one gradient after the other
        pass
    rehearsal.margin_bytes = int(tape.peak.total * (MARGIN_ON_GPU if gpu else MARGIN))
    return rehearsal


def _types(recipe: Recipe, adapted: frozenset[str], device: Device) -> Types:
    """Return the types of the emitted model's operations; on a CPU all is float32."""
    casts: Casts = "copies" if Adapt.HALF_COPIES in adapted else "explicit"
    if device == "cpu":
        return Types("float32", casts=casts)
    kinds = kernel_types(recipe.precision.ops)
    return types_of(recipe, casts=casts, kinds=kinds, fused=Adapt.FUSED_ATTENTION in adapted)


def _collect(tape: Tape, weights: Mapping[str, Weight], sums: dict[int, Block]) -> None:
    """`collect_gradients`: half gradients are added to float32 ones, in new memory."""
    tape.phase = "collect"
    for weight in weights.values():
        if weight.dtype == "float32" or weight.gradient is None:
            continue
        wide = tape.block(weight.count, "float32", "gradients")
        if id(weight) in sums:
            total = tape.block(weight.count, "float32", "gradients")
            sums.pop(id(weight)).drop()
            wide.drop()
            wide = total
        sums[id(weight)] = wide
        weight.gradient.drop()
        weight.gradient = None


def _micro_batch(
    recipe: Recipe,
    rehearsal: PaddleRehearsal,
    weights: dict[str, Weight],
    types: Types,
    *,
    composed: bool,
) -> None:
    tape, model = rehearsal.tape, recipe.model
    assert isinstance(model, BertModel)
    tape.phase = "forward"
    rows, length = recipe.batch.micro_batch_size, recipe.data.sequence_length
    ids = tape.block(ID_ARRAYS * rows * length, "int64", "batch")
    again = recipe.activation_checkpointing
    bert = PaddleBert(
        tape, model, types, rows, length, weights, checkpointing=again, composed=composed
    )
    loss = bert.become(bert.forward(), "float32")
    rehearsal.forward_bytes = max(rehearsal.forward_bytes, tape.total)
    tape.phase = "backward"
    tape.free(loss)
    tape.backward(loss)
    ids.drop()
