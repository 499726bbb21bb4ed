"""How much memory the emitted TensorFlow script needs: one window, rehearsed.

A graph has no lines: its executor chooses the order of what is ready, and a tensor is given back
when its last reader has run. What decides about the peak is the same in every order, though: what
gradients read lives until they do, and roots of a graph (casts of weights, products with moments)
run first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import prod
from types import MappingProxyType

from crosscast.memory.records import Device
from crosscast.memory.tape import Block, Node, Tape, Value, Weight
from crosscast.recipe.bert_shapes import bert_shapes
from crosscast.recipe.document import BertModel, Recipe
from crosscast.recipe.policies import POLICIES
from crosscast.targets.backend import Dialect
from crosscast_tensorflow.target.memory_ops import OPS
from crosscast_tensorflow.target.overrides import TensorflowOverrides

NOTES = MappingProxyType(
    {
        "parameters": "variables of the model",
        "half_copies": "weights that layers have cast; all are made as a graph begins",
        "gradients": "their sums over a window, of embeddings also between windows",
        "optimizer": "moments",
        "batch": "ids and masks",
        "activations": "what gradients read",
        "temporaries": "of the operations at the peak",
        "workspace": "zeros that graphs hold as constants",
    }
)
OPTIMIZERS = frozenset({"adam", "adamw"})
MARGIN = 0.2
MARGIN_RECOMPUTED = 0.4
MARGIN_ON_GPU = 0.25
"""Share of the peak to keep free. The estimate counts what is asked for; the pieces that the
allocator makes of it were up to 17 % more. With checkpointing a peak in backward was 17 % too low.
On a GPU nothing was measured."""


@dataclass(slots=True)
class TensorflowRehearsal:
    """A window on a tape."""

    tape: Tape
    fixed_bytes: int = 0
    forward_bytes: int = 0
    margin_bytes: int = 0
    notes: Mapping[str, str] = field(default_factory=lambda: NOTES)


@dataclass(slots=True)
class GraphBert:
    """`templates/tensorflow/model.py.j2` as a graph of forward and backward."""

    tape: Tape
    model: BertModel
    half: str
    """Type of the products: `float32`, or a half type."""
    stream: str
    """Type of everything else but the insides of softmax and normalization."""
    rows: int
    length: int
    weights: Mapping[str, Weight]
    checkpointing: bool
    casts: dict[str, Block] = field(default_factory=dict)

    @property
    def hidden(self) -> int:
        """Numbers of one tensor of the residual stream."""
        return self.rows * self.length * self.model.hidden_size

    @property
    def scores(self) -> int:
        """Numbers of all scores of a layer."""
        return self.rows * self.model.attention_heads * self.length**2

    @contextmanager
    def cast_weights(self, prefix: str = "") -> Iterator[None]:
        """Hold the kernels of dense layers in half: roots of a graph, which wait for nothing."""
        blocks = {
            name: self.tape.block(weight.count, self.half, "half_copies")
            for name, weight in self.weights.items()
            if self.half != "float32" and name.startswith(prefix) and _is_kernel(name)
            if bool(prefix) or not (self.checkpointing and ".layer." in name)
        }
        self.casts |= blocks
        yield
        for block in blocks.values():
            block.drop()

    def dense(self, name: str, x: Value, *, widen: bool = True) -> Value:
        """A dense layer of an input in the type of its product; that of the stream comes out."""
        tape = self.tape
        weight, bias = (self.weights[f"{name}.{part}"] for part in ("weight", "bias"))
        kept = [self.casts[f"{name}.weight"]] if self.half != "float32" else []
        count = x.count // (weight.count // bias.count) * bias.count
        owners = ((weight, self.half), (bias, self.half))
        out = tape.op("dense", [x], count, self.half, weights=owners, kept=kept)
        return self.become(out, self.stream) if widen else out

    def become(self, x: Value, dtype: str) -> Value:
        """`tf.cast(x, dtype)`, where nothing else reads `x`."""
        out = self.cast(x, dtype)
        self.tape.free(x)
        return out

    def cast(self, x: Value, dtype: str) -> Value:
        """`tf.cast(x, dtype)`: the tensor itself where it has the type."""
        if x.dtype == dtype:
            x.block.hold()
            return x
        return self.tape.op("cast", [x], x.count, dtype)

    def dropout(self, x: Value, *, in_place: bool = True) -> Value:
        """`dropout(x)`: a mask of one byte a number is kept."""
        if not self.model.dropout:
            return x
        tape = self.tape
        with tape.scratch((x.count, "float32")):  # draws
            pass
        if not in_place:
            out = tape.op("masked", [x], x.count, x.dtype, extra=x.count)
            tape.free(x)
            return out
        out = Value(x.count, x.dtype, x.block, x.differentiable)
        if tape.keeping:
            mask = tape.block(x.count, "bool")
            tape.nodes.append(Node(tape.rows["masked"], (x,), out, [mask]))
        return out

    def add_norm(self, x: Value, residual: Value) -> Value:
        """`norm(residual + x)`; the sum is made in the memory of `x`."""
        total = Value(x.count, x.dtype, x.block, True)
        if self.tape.keeping:
            self.tape.nodes.append(Node(self.tape.rows["add"], (residual, x), total, []))
        return self.norm(total)

    def norm(self, x: Value) -> Value:
        """`LayerNormalization` of a tensor that nothing else reads; it computes in float32."""
        if self.stream != "float32":
            x = self.become(x, self.stream)
            out = self.tape.op("rounded layer_norm", [x], x.count, self.stream)
            self.tape.free(x)
            return out
        x = self.become(self.become(x, self.stream), "float32")
        out = self.tape.op("layer_norm", [x], x.count, self.stream, extra=x.count)
        self.tape.free(x)
        return out

    def layer(self, number: int, x: Value) -> Value:
        """`EncoderLayer.call`; `x` stays the caller's."""
        tape, prefix = self.tape, f"bert.encoder.layer.{number}"
        half_input = self.cast(x, self.half)
        q, k, v = (
            self._heads(self.dense(f"{prefix}.attention.self.{part}", half_input, widen=False))
            for part in ("query", "key", "value")
        )
        tape.free(half_input)
        if self.stream == "float32":
            weights = tape.op("scores", [q, k], self.scores, "float32", extra=self.scores)
        else:
            weights = tape.op("rounded scores", [q, k], self.scores, self.stream)
        tape.free(q, k)
        weights = self.dropout(weights, in_place=False)
        weights = self.become(weights, self.half)
        context = tape.op("context", [weights, v], self.hidden, self.half)
        tape.free(weights, v)
        context = self._heads(context)
        attended = self.dense(f"{prefix}.attention.output.dense", context)
        tape.free(context)
        x = self.add_norm(self.dropout(attended), x)
        half_input = self.cast(x, self.half)
        inner = self.dense(f"{prefix}.intermediate.dense", half_input)
        tape.free(half_input)
        if self.stream == "float32":
            wide = tape.op("gelu", [inner], inner.count, self.stream, extra=2 * inner.count)
        else:
            wide = tape.op("rounded gelu", [inner], inner.count, self.stream)
        tape.free(inner)
        wide = self.become(wide, self.half)
        y = self.dense(f"{prefix}.output.dense", wide)
        tape.free(wide)
        out = self.add_norm(self.dropout(y), x)
        tape.free(x)
        return out

    def _heads(self, x: Value) -> Value:
        out = self.tape.op("transpose", [x], x.count, x.dtype)
        self.tape.free(x)
        return out

    def forward(self) -> Value:
        """The logits, in float32."""
        tape = self.tape
        looked_up = tape.value(self.hidden, "float32", "activations", differentiable=True)
        x = self.dropout(self.norm(looked_up))
        for number in range(self.model.layers):
            after = self._recomputed(number, x) if self.checkpointing else self.layer(number, x)
            tape.free(x)
            x = after
        first = tape.op("select", [x], self.rows * self.model.hidden_size, x.dtype)
        tape.free(x)
        pooled = self.dense("bert.pooler.dense", self.become(first, self.half))
        pooled = self.dropout(tape.op("tanh", [pooled], pooled.count, pooled.dtype))
        logits = self.dense("classifier", self.become(pooled, self.half))
        logits.block.recategorize("logits")
        return logits

    def _recomputed(self, number: int, x: Value) -> Value:
        """`recomputed`: the inputs are kept, and the layer runs again before its gradient."""
        tape, prefix = self.tape, f"bert.encoder.layer.{number}."
        tape.keeping = False
        with self.cast_weights(prefix):
            out = self.layer(number, x)
        tape.keeping = True
        out.differentiable = True
        held = x.block.hold()

        def back(node: Node) -> None:
            start, phase, tape.phase = len(tape.nodes), tape.phase, "recompute"
            with self.cast_weights(prefix):
                again = self.layer(number, x)
            again.gradient, node.output.gradient = node.output.gradient, None
            tape.free(again)
            tape.phase = phase
            tape.backward(again, start)
            held.drop()

        tape.nodes.append(Node(tape.rows["add"], (x,), out, [], run=back))
        return out


def _is_kernel(name: str) -> bool:
    return name.endswith(".weight") and "LayerNorm" not in name and "_embeddings" not in name


def modelled(recipe: Recipe, dialect: Dialect) -> bool:
    """Whether the memory model covers a recipe: measured configurations and other sizes of them."""
    own = TensorflowOverrides.model_validate(recipe.overrides.get("tensorflow", {}))
    return (
        isinstance(recipe.model, BertModel)
        and "keras3" in dialect.features
        and not own.jit_compile
        and recipe.precision.mode != "full"
        and _stream(recipe) is not None
        and recipe.optimizer.name in OPTIMIZERS
        and recipe.clipping.kind in ("none", "global_norm")
        and recipe.ema.decay is None
        and recipe.processes == 1
    )


def _stream(recipe: Recipe) -> str | None:
    """Return the type of the residual stream where it was measured."""
    ops = recipe.precision.ops.model_dump()
    others = {ops[name] for name in ("pointwise", "reductions", "embeddings", "residual")}
    if others == {"float32"}:
        return "float32"
    stored = POLICIES["stored_half"]
    return recipe.half if {**ops, "losses": ""} == {**stored, "losses": ""} else None


def rehearse(recipe: Recipe, device: Device) -> TensorflowRehearsal:
    """Return the allocations of a window of the emitted script, once there are moments."""
    assert isinstance(recipe.model, BertModel)
    tape = Tape(OPS)
    rehearsal = TensorflowRehearsal(tape)
    shapes = bert_shapes(recipe.model)
    weights = {name: Weight(prod(shape), "float32") for name, shape in shapes.items()}
    tables = [weight for name, weight in weights.items() if "_embeddings." in name]
    for weight in weights.values():
        tape.block(weight.count, "float32", "parameters")
        for _ in range(2):
            tape.block(weight.count, "float32", "optimizer")
    for shape in set(shapes.values()):
        tape.block(prod(shape), "float32", "workspace")
    for table in tables:  # a sum to which rows are added has memory of its own for good
        table.gradient = tape.block(table.count, "float32", "gradients")
    half = recipe.half if recipe.precision.ops.matmul == "half" else ""
    rows, length = recipe.batch.micro_batch_size, recipe.data.sequence_length
    again = recipe.activation_checkpointing
    products, stream = half or "float32", _stream(recipe) or "float32"
    bert = GraphBert(tape, recipe.model, products, stream, rows, length, weights, again)
    if recipe.model.dropout:
        for count in (bert.scores, bert.hidden):
            tape.block(count, "float32", "workspace")
    rehearsal.fixed_bytes = tape.total
    # One call gets all rows of the window.
    stacked = tape.block(3 * rows * length * recipe.accumulation.steps, "int64", "batch")
    for _ in range(min(2, recipe.accumulation.steps)):
        _micro_batch(rehearsal, bert)
    _step(tape, weights, tables)
    stacked.drop()
    share = MARGIN if device == "cpu" else MARGIN_ON_GPU
    if again:
        share = MARGIN_RECOMPUTED
    rehearsal.margin_bytes = int(tape.peak.total * share)
    return rehearsal


def _micro_batch(rehearsal: TensorflowRehearsal, bert: GraphBert) -> None:
    tape = rehearsal.tape
    tape.phase = "forward"
    ids = tape.block(3 * bert.rows * bert.length, "int64", "batch")
    with bert.cast_weights():
        loss = bert.forward()
    rehearsal.forward_bytes = max(rehearsal.forward_bytes, tape.total)
    tape.phase = "backward"
    tape.free(loss)
    tape.backward(loss)
    ids.drop()


def _step(tape: Tape, weights: Mapping[str, Weight], tables: list[Weight]) -> None:
    """`window_step`: products of the moments wait for nothing, and all of them are made first.

    Sums of embeddings are copied when they are read, and when zeros are assigned to them. Without
    clipping nothing waits for the norm, and some parameters are done before others begin: the
    estimate is too high.
    """
    tape.phase = "step"
    every = sum(weight.count for weight in weights.values())
    read = sum(table.count for table in tables)
    largest = max(table.count for table in tables)
    with tape.scratch(*((size, "float32") for size in (every, every, read, largest))):
        pass
