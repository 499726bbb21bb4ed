"""How much memory the emitted Paddle script needs: one window, rehearsed.

Modelled: dynamic graphs, weights in float32. On a CPU Paddle computes in float32 where a recipe
says mixed precision. For a GPU the rows of the CPU are taken over, with a larger margin.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from crosscast.memory.bert import Bert, Types, parameters_of, types_of
from crosscast.memory.records import Device
from crosscast.memory.tape import Tape, Value, Weight
from crosscast.recipe.document import BertModel, Recipe
from crosscast.targets.backend import Dialect
from crosscast_paddle.target.dialects import DIALECTS
from crosscast_paddle.target.memory_ops import OPS

NOTES = MappingProxyType(
    {
        "parameters": "what the model computes with",
        "gradients": "`.grad` of every parameter",
        "optimizer": "moments",
        "ema": "averaged weights",
        "half_copies": "weights that auto_cast has cast",
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


class PaddleBert(Bert):
    """`templates/paddle/bert_layers.j2`, where it differs from PyTorch's."""

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
        tape, half = self.tape, self.types.matmul
        named = []
        for part in ("query", "key", "value"):
            dense = self.linear(f"{prefix}.{part}", x)
            named.append(tape.view("unflatten", dense))
            tape.free(dense)
        q, k, v = named
        count = self.rows * self.model.attention_heads * self.length**2
        scores = self.become(tape.op("scores", [q, k], count, half), "float32")
        scaled = tape.op("scale", [scores], count, "float32")
        shifted = self.add(scaled, mask, count)
        tape.free(scaled)
        weights = tape.op("softmax", [shifted], count, "float32")
        tape.free(shifted)
        weights = self.dropout(weights)
        cast_weights = self.cast(weights, half)
        context = tape.op("context", [cast_weights, v], x.count, half)
        tape.free(cast_weights)
        flat = tape.op("copy", [context], x.count, half)
        tape.free(context, q, k, v, scores, weights)
        return flat


def modelled(recipe: Recipe, dialect: Dialect) -> bool:
    """Whether the model covers a recipe: optimizers of Paddle's own, no half weights."""
    return (
        isinstance(recipe.model, BertModel)
        and dialect in DIALECTS
        and recipe.precision.mode != "full"
        and recipe.optimizer.name in MOMENTS
    )


def rehearse(recipe: Recipe, device: Device) -> PaddleRehearsal:
    """Return the allocations of a window of the emitted script, once there are moments."""
    gpu = device != "cpu"
    tape = Tape(OPS)
    rehearsal = PaddleRehearsal(tape)
    weights = parameters_of(recipe)
    types = types_of(recipe, casts="explicit") if gpu else Types("float32")
    moments = MOMENTS[recipe.optimizer.name] + bool(getattr(recipe.optimizer, "momentum", 0.0))
    for weight in weights.values():
        tape.block(weight.count, "float32", "parameters")
        for _ in range(moments):
            tape.block(weight.count, "float32", "optimizer")
        if recipe.ema.decay is not None:
            tape.block(weight.count, "float32", "ema")
        if recipe.processes > 1:
            tape.block(weight.count, "float32", "buckets")
    rehearsal.fixed_bytes = tape.total
    for _ in range(min(2, recipe.accumulation.steps)):
        _micro_batch(recipe, rehearsal, weights, types)
    tape.phase = "clip"
    largest = max(weight.count for weight in weights.values())
    with tape.scratch((largest, "float32")):  # squares of one gradient after the other
        pass
    rehearsal.margin_bytes = int(tape.peak.total * (MARGIN_ON_GPU if gpu else MARGIN))
    return rehearsal


def _micro_batch(
    recipe: Recipe, rehearsal: PaddleRehearsal, weights: dict[str, Weight], types: Types
) -> None:
    tape, model = rehearsal.tape, recipe.model
    assert isinstance(model, BertModel)
    tape.phase = "forward"
    rows, length = recipe.batch.micro_batch_size, recipe.data.sequence_length
    ids = tape.block(ID_ARRAYS * rows * length, "int64", "batch")
    again = recipe.activation_checkpointing
    bert = PaddleBert(tape, model, types, rows, length, weights, checkpointing=again)
    loss = bert.become(bert.forward(), "float32")
    rehearsal.forward_bytes = max(rehearsal.forward_bytes, tape.total)
    tape.phase = "backward"
    tape.free(loss)
    tape.backward(loss)
    ids.drop()
