"""Simulation of the emitted BERT: `templates/torch/model.py.j2` line by line.

Other frameworks override what differs.

Local names keep tensors alive until the function ends, which `free` simulates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Literal

from crosscast.memory.tape import Block, Node, Tape, Value, Weight
from crosscast.recipe.bert_shapes import bert_shapes
from crosscast.recipe.document import BertModel, OpType, Recipe

Casts = Literal["autocast", "copies", "explicit"]


@dataclass(slots=True)
class Types:
    """The dtype that each class of operations in the emitted model computes in."""

    matmul: str
    pointwise: str = "float32"
    reductions: str = "float32"
    embeddings: str = "float32"
    losses: str = "float32"
    residual: str = "float32"
    stored: Mapping[str, str] = field(default_factory=dict)
    """Class to the dtype in which its results are stored, where it is another."""
    casts: Casts = "explicit"
    """Who casts: autocast and `.float()`, nobody since the weights are half, or every operation."""
    fused: bool = False
    """Whether attention is one operation."""

    @property
    def autocast(self) -> bool:
        """Whether autocast casts weights and what dense layers get."""
        return self.casts == "autocast"


def types_of(
    recipe: Recipe,
    *,
    casts: Casts,
    kinds: Mapping[str, OpType] | None = None,
    fused: bool = False,
) -> Types:
    """Return the types of a recipe's operations.

    Args:
        recipe: The recipe.
        casts: Who casts in the emitted model.
        kinds: How the framework writes the classes, if not as the recipe has them.
        fused: Whether attention is one operation.
    """
    half = recipe.precision.compute_dtype
    if recipe.precision.mode == "none":
        return Types("float32", casts=casts, fused=fused)
    chosen = recipe.precision.ops.model_dump() if kinds is None else kinds
    classes = {name: half if kind == "half" else "float32" for name, kind in chosen.items()}
    stored = {name: half for name, kind in chosen.items() if kind == "float32_stored_half"}
    return Types(**classes, stored=stored, casts=casts, fused=fused)


@dataclass(slots=True)
class Bert:
    """A BERT classifier on a tape."""

    tape: Tape
    model: BertModel
    types: Types
    rows: int
    length: int
    weights: dict[str, Weight]
    checkpointing: bool = False
    cache: dict[int, Block] = field(default_factory=dict)
    """Weights cast by autocast, kept until its context ends."""

    @property
    def tokens(self) -> int:
        """Tokens of a micro-batch."""
        return self.rows * self.length

    # layers

    def store(self, kind: str, x: Value) -> Value:
        """Round the result of an operation of a class, if it is stored in another type."""
        return self.become(x, self.types.stored[kind]) if kind in self.types.stored else x

    def cast(self, x: Value, dtype: str) -> Value:
        """`x.to(dtype)`: the tensor itself, with one more reference, if it has the dtype."""
        if x.dtype == dtype:
            x.block.hold()
            return x
        return self.tape.op("cast", [x], x.count, dtype, category=x.block.category)

    def become(self, x: Value, dtype: str) -> Value:
        """`x = x.to(dtype)`."""
        cast = self.cast(x, dtype)
        self.tape.free(x)
        return cast

    def _cast_weight(self, weight: Weight, dtype: str) -> Block | None:
        """Return the copy of a weight in another dtype, with a reference for the caller."""
        if weight.dtype == dtype:
            return None
        if not self.types.autocast:
            return self.tape.block(weight.count, dtype, "half_copies")
        if id(weight) not in self.cache:
            self.cache[id(weight)] = self.tape.block(weight.count, dtype, "half_copies")
        return self.cache[id(weight)].hold()

    def leave_autocast(self) -> None:
        """Empty the cache of autocast, as the end of its context does."""
        for block in self.cache.values():
            block.drop()
        self.cache.clear()

    def linear(self, name: str, x: Value) -> Value:
        """A dense layer."""
        dtype = self.types.matmul
        weight, bias = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        casts = [self._cast_weight(w, dtype) for w in (weight, bias)]
        cast_input = self.cast(x, dtype)
        outputs = bias.count
        rows = x.count // (weight.count // outputs)
        kept = [casts[0]] if casts[0] is not None else []
        owners = ((bias, dtype), (weight, dtype))
        out = self.tape.op("linear", [cast_input], rows * outputs, dtype, weights=owners, kept=kept)
        self.tape.free(cast_input)
        for block in casts:
            if block is not None:
                block.drop()
        return self.store("matmul", out)

    def norm(self, name: str, x: Value) -> Value:
        """LayerNorm over the hidden axis."""
        dtype = self.types.reductions
        cast_input = self.cast(x, dtype)
        weight, bias = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        extra = 2 * x.count // weight.count
        owners = ((weight, dtype), (bias, dtype))
        out = self.tape.op("layer_norm", [cast_input], x.count, dtype, weights=owners, extra=extra)
        self.tape.free(cast_input)
        return self.store("reductions", out)

    def dropout(self, x: Value) -> Value:
        """`x = F.dropout(x)`; no operation if the rate is 0."""
        if not self.model.dropout:
            return x
        out = self.tape.op("dropout", [x], x.count, x.dtype, extra=x.count)
        self.tape.free(x)
        return self.store("pointwise", out)

    def embedding(self, name: str, count: int) -> Value:
        """A lookup of `count` ids."""
        weight = self.weights[f"bert.embeddings.{name}_embeddings.weight"]
        numbers = count * self.model.hidden_size
        out = self.tape.op(
            "embedding", [], numbers, weight.dtype, weights=((weight, weight.dtype),)
        )
        return self.become(out, self.types.embeddings)

    def pointwise_input(self, x: Value) -> Value:
        """What a dense layer returns, as the pointwise operation after it gets it."""
        return x if self.types.casts == "copies" else self.become(x, self.types.pointwise)

    def add(self, a: Value, b: Value, count: int | None = None) -> Value:
        """A sum, in the wider type."""
        dtype = a.dtype if a.dtype == b.dtype else "float32"
        return self.tape.op("add", [a, b], count or a.count, dtype)

    # the model

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
        scores_count = self.rows * self.model.attention_heads * self.length**2
        left, right = self._merged(q), self._merged(k)
        raw = self.store("matmul", tape.op("bmm", [left, right], scores_count, left.dtype))
        tape.free(left, right)
        raw = raw if types.casts == "copies" else self.become(raw, types.reductions)
        scores = tape.op("scale", [raw], scores_count, raw.dtype)
        tape.free(raw)
        shifted = self.add(scores, mask, scores_count)
        weights = tape.op("softmax", [shifted], scores_count, shifted.dtype)
        tape.free(shifted)
        weights = self.store("reductions", weights)
        if self.model.dropout:
            explicit = types.casts == "explicit"
            cast = self.cast(weights, types.pointwise if explicit else weights.dtype)
            tape.free(weights)
            weights = self.dropout(cast)
        left, right = self.cast(weights, types.matmul), self._merged(v)
        context = self.store("matmul", tape.op("bmm", [left, right], x.count, types.matmul))
        tape.free(left, right)
        flat = tape.op("copy", [context], x.count, context.dtype)
        tape.free(context, q, k, v, scores, weights)
        return flat

    def fused_attention(self, q: Value, k: Value, v: Value) -> Value:
        """Attention in one operation, whose result lies in memory as the next layer wants it."""
        tape = self.tape
        lines = self.tokens * self.model.attention_heads
        context = tape.op("fused_attention", [q, k, v], q.count, q.dtype, extra=lines)
        flat = tape.view("unflatten", context)
        tape.free(context, q, k, v)
        return self.store("matmul", flat)

    def _merged(self, x: Value) -> Value:
        """Merge batch and heads into one axis: a copy unless one of the two is 1."""
        if self.rows == 1 or self.model.attention_heads == 1:
            return self.cast(x, x.dtype)
        return self.tape.op("copy", [x], x.count, x.dtype)

    def add_norm(self, prefix: str, x: Value, residual: Value) -> Value:
        """`AddNorm.forward`."""
        explicit = self.types.casts == "explicit"
        dense = self.pointwise_input(self.linear(f"{prefix}.dense", x))
        dense = self.dropout(dense)
        beside = self.cast(residual, self.types.residual) if explicit else residual
        dense = self.become(dense, self.types.residual) if explicit else dense
        total = self.add(beside, dense)
        if explicit:
            self.tape.free(beside)
        out = self.norm(f"{prefix}.LayerNorm", total)
        self.tape.free(total, dense)
        return out

    def layer(self, number: int, x: Value, mask: Value) -> Value:
        """`EncoderLayer.forward`; the caller keeps its reference to `x`."""
        prefix = f"bert.encoder.layer.{number}"
        context = self.attention(f"{prefix}.attention.self", x, mask)
        attended = self.add_norm(f"{prefix}.attention.output", context, x)
        self.tape.free(context)
        inner = self.pointwise_input(self.linear(f"{prefix}.intermediate.dense", attended))
        wide = self.tape.op("gelu", [inner], inner.count, inner.dtype)
        self.tape.free(inner)
        wide = self.store("pointwise", wide)
        out = self.add_norm(f"{prefix}.output", wide, attended)
        self.tape.free(wide, attended)
        return out

    def embeddings(self) -> Value:
        """`Embeddings.forward`."""
        tape = self.tape
        words = self.embedding("word", self.tokens)
        kinds = self.embedding("token_type", self.tokens)
        x = self.add(words, kinds)
        tape.free(words, kinds)
        positions = self.embedding("position", self.length)
        total = self.store("embeddings", self.add(x, positions, x.count))
        tape.free(positions)
        out = self.norm("bert.embeddings.LayerNorm", total)
        tape.free(total, x)
        if self.model.dropout and self.types.casts == "explicit":
            out = self.become(out, self.types.pointwise)
        return self.dropout(out)

    def forward(self) -> Value:
        """The logits."""
        tape = self.tape
        in_scores = self.types.matmul if self.types.fused else self.types.reductions
        mask = tape.value(self.tokens, in_scores, "batch", differentiable=False)
        x = self.embeddings()
        for number in range(self.model.layers):
            after = self._maybe_checkpointed(number, x, mask)
            tape.free(x)
            x = after
        first = tape.view("select", x, self.rows * self.model.hidden_size)
        tape.free(x)
        dense = self.pointwise_input(self.linear("bert.pooler.dense", first))
        pooled = tape.op("tanh", [dense], dense.count, dense.dtype)
        tape.free(first, dense, mask)
        pooled = self.store("pointwise", pooled)
        pooled = self.dropout(pooled)
        logits = self.linear("classifier", pooled)
        tape.free(pooled)
        logits.block.recategorize("logits")
        return logits

    def _maybe_checkpointed(self, number: int, x: Value, mask: Value) -> Value:
        tape = self.tape
        if not self.checkpointing:
            return self.layer(number, x, mask)
        tape.keeping = False
        out = self.layer(number, x, mask)
        tape.keeping = True
        out.differentiable = True
        held = [x.block.hold(), mask.block.hold()]

        def back(node: Node) -> None:
            """Recompute the layer, then run its backward pass."""
            start, phase, tape.phase = len(tape.nodes), tape.phase, "recompute"
            again = self.layer(number, x, mask)
            self.leave_autocast()
            again.gradient, node.output.gradient = node.output.gradient, None
            tape.free(again)
            tape.phase = phase
            tape.backward(again, start)
            for block in node.kept:
                block.drop()

        tape.nodes.append(Node(tape.rows["add"], (x,), out, held, run=back))
        return out


def parameters_of(recipe: Recipe, *, copies: bool = False) -> dict[str, Weight]:
    """Return the parameters of the emitted model by name, in the dtypes it computes with.

    Args:
        recipe: The recipe.
        copies: Whether layers compute with half copies of float32 weights, embeddings do not.
    """
    assert isinstance(recipe.model, BertModel)
    full = recipe.precision.mode == "full"
    weights = {}
    for name, shape in bert_shapes(recipe.model).items():
        table = name.endswith("_embeddings.weight")
        half = not table if copies else full and "LayerNorm" not in name
        dtype = recipe.precision.compute_dtype if half else "float32"
        weights[name] = Weight(prod(shape), dtype, shape[0] if len(shape) > 1 else 0)
    return weights
