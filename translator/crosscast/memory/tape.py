"""Simulation of a training step that counts bytes without computing anything.

The model of a framework (such as `crosscast_torch.target.memory`) calls the tape as the emitted
script calls the framework. The tape allocates the result of each operation, keeps what the
framework saves for backward (`OpRow`), and simulates the backward pass. The result is the peak.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from crosscast.memory.dtypes import BYTES
from crosscast.targets.evidence import Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class OpRow:
    """Memory behavior of one kind of operation in a framework."""

    keeps: tuple[str, ...] = ()
    """Tensors saved for backward: `input` (all of them), `first`, `second`, `output`, `weight`,
    `extra` (mask of dropout, statistics of a normalization)."""
    grad: str = "new"
    """Gradient of an input: `new` allocates memory; `same` passes on the output's gradient; `first`
    passes it to the first input and copies it for the others."""
    extra_dtype: str = ""
    """Dtype of `extra`; empty for the dtype of the output."""
    scratch: tuple[str, ...] = ()
    """Dtypes of temporaries of the operation, each with as many elements as the output."""
    backward_scratch: tuple[str, ...] = ()
    """Dtypes of temporaries of its backward, each of the size of the output's gradient."""
    contiguous: tuple[int, ...] = ()
    """Inputs that are transposed views and copied during the operation and its backward."""
    evidence: Evidence = Evidence.MEASURED_CPU
    note: str = ""


class Block:
    """A reference-counted piece of memory."""

    __slots__ = ("bytes", "category", "dtype", "holders", "tape")

    def __init__(self, tape: Tape, size: int, category: str, dtype: str) -> None:
        self.tape, self.bytes, self.category, self.dtype = tape, size, category, dtype
        self.holders = 1
        tape.grow(self)

    def hold(self) -> Block:
        """Add a reference."""
        self.holders += 1
        return self

    def drop(self) -> None:
        """Drop a reference; the last one frees the memory."""
        self.holders -= 1
        if not self.holders:
            self.tape.shrink(self)

    def recategorize(self, category: str) -> None:
        """Change its category."""
        self.tape.shrink(self)
        self.category = category
        self.tape.grow(self)


@dataclass(slots=True, eq=False)
class Value:
    """A simulated tensor: element count and dtype, in a block."""

    count: int
    dtype: str
    block: Block
    differentiable: bool = True
    gradient: Block | None = None
    """The part of its gradient computed so far in the backward pass."""

    @property
    def bytes(self) -> int:
        """Size in bytes."""
        return self.count * BYTES[self.dtype]


@dataclass(slots=True, eq=False)
class Weight:
    """A parameter. It outlives the step; its gradient lives until the end of the window."""

    count: int
    dtype: str
    rows: int = 0
    """Length of the first axis of a matrix; 0 for a vector."""
    gradient: Block | None = None


@dataclass(slots=True)
class Node:
    """An operation of the backward pass."""

    row: OpRow
    inputs: tuple[Value, ...]
    output: Value
    kept: list[Block]
    weights: tuple[tuple[Weight, str], ...] = ()
    """Parameters with the dtypes of their gradients."""
    run: Callable[[Node], None] | None = None
    """A custom backward function."""


@dataclass(frozen=True, slots=True)
class Peak:
    """The memory at the peak."""

    total: int
    phase: str
    parts: Mapping[tuple[str, str], int]
    """Bytes by category and dtype."""


@dataclass(slots=True)
class Tape:
    """The current allocations and the recorded operations."""

    rows: Mapping[str, OpRow]
    round_to: int = 1
    """Allocation granularity in bytes."""
    phase: str = "forward"
    total: int = 0
    held: Counter[tuple[str, str]] = field(default_factory=Counter)
    peak: Peak = Peak(0, "forward", {})
    nodes: list[Node] = field(default_factory=list)
    keeping: bool = True
    """Whether operations save tensors for backward."""
    on_gradient: Callable[[Weight, Block], None] | None = None

    # memory

    def rounded(self, size: int) -> int:
        """Return the allocated size for `size` bytes."""
        return -(-size // self.round_to) * self.round_to

    def grow(self, block: Block) -> None:
        """Add a block to the allocated memory."""
        self.held[block.category, block.dtype] += block.bytes
        self.total += block.bytes
        if self.total > self.peak.total:
            self.peak = Peak(self.total, self.phase, dict(self.held))

    def shrink(self, block: Block) -> None:
        """Remove a block from the allocated memory."""
        self.held[block.category, block.dtype] -= block.bytes
        self.total -= block.bytes

    def block(self, count: int, dtype: str, category: str = "activations") -> Block:
        """Allocate `count` elements."""
        return Block(self, self.rounded(count * BYTES[dtype]), category, dtype)

    @contextmanager
    def scratch(self, *parts: tuple[int, str], category: str = "temporaries") -> Iterator[None]:
        """Allocate (count, dtype) for the duration of a context."""
        blocks = [self.block(count, dtype, category) for count, dtype in parts if count]
        yield
        for block in blocks:
            block.drop()

    # forward

    def value(self, count: int, dtype: str, category: str, *, differentiable: bool) -> Value:
        """Return a tensor that is not the result of an operation."""
        return Value(count, dtype, self.block(count, dtype, category), differentiable)

    def op(
        self,
        kind: str,
        inputs: Sequence[Value],
        count: int,
        dtype: str,
        *,
        weights: Iterable[tuple[Weight, str]] = (),
        kept: Iterable[Block] = (),
        extra: int = 0,
        category: str = "activations",
    ) -> Value:
        """Run an operation that returns a new tensor.

        Args:
            kind: Name of the row.
            inputs: Its input tensors; differentiable ones receive gradients.
            count: Number of elements of its result.
            dtype: Dtype of its result.
            weights: Its parameters, with the dtypes of their gradients.
            kept: Saved blocks in addition to its row, such as the cast of a weight.
            extra: Number of elements of `extra` in its row.
            category: Category of the result.
        """
        row = self.rows[kind]
        copied = [(inputs[at].count, inputs[at].dtype) for at in row.contiguous]
        with self.scratch(*copied, *((count, part) for part in row.scratch)):
            output = Value(count, dtype, self.block(count, dtype, category))
            extras = []
            if "extra" in row.keeps and extra:
                extras = [self.block(extra, row.extra_dtype or dtype)]
        weights = tuple(weights)
        output.differentiable = bool(weights) or any(v.differentiable for v in inputs)
        if not self.keeping or not output.differentiable:
            for block in extras:
                block.drop()
            return output
        chosen = [block.hold() for block in kept]
        if "input" in row.keeps:
            chosen += [value.block.hold() for value in inputs]
        if "first" in row.keeps:
            chosen.append(inputs[0].block.hold())
        if "second" in row.keeps:
            chosen.append(inputs[1].block.hold())
        if "output" in row.keeps:
            chosen.append(output.block.hold())
        self.nodes.append(Node(row, tuple(inputs), output, chosen + extras, weights))
        return output

    def view(self, kind: str, source: Value, count: int | None = None) -> Value:
        """Return a tensor that shares the memory of another; its backward may still copy."""
        size = source.count if count is None else count
        output = Value(size, source.dtype, source.block.hold(), source.differentiable)
        if self.keeping and source.differentiable:
            self.nodes.append(Node(self.rows[kind], (source,), output, []))
        return output

    def free(self, *values: Value) -> None:
        """Drop the references to tensors, as the end of a Python function does."""
        for value in values:
            value.block.drop()

    # backward

    def backward(self, start: Value, down_to: int = 0) -> None:
        """Run the backward pass from a tensor, whose gradient is initialized with ones."""
        if start.gradient is None:
            start.gradient = self.block(start.count, start.dtype, "temporaries")
        while len(self.nodes) > down_to:
            self._back(self.nodes.pop())

    def _back(self, node: Node) -> None:
        if node.run is not None:
            node.run(node)
            return
        upstream = node.output.gradient
        node.output.gradient = None
        gradients: list[tuple[Value, Block]] = []
        own: list[tuple[Weight, Block]] = []
        if upstream is not None:
            gradients, own = self._gradients(node, upstream)
            upstream.drop()
        for block in node.kept:
            block.drop()
        for value, block in gradients:
            self.arrive(value, block)
        for weight, block in own:
            if block.dtype != weight.dtype:
                narrow, block = block, self.block(weight.count, weight.dtype, "temporaries")
                narrow.drop()
            self.collect(weight, block)

    def _gradients(
        self, node: Node, upstream: Block
    ) -> tuple[list[tuple[Value, Block]], list[tuple[Weight, Block]]]:
        """Return the gradients that an operation computes from its output's gradient."""
        row = node.row
        scratch = [(node.output.count, part) for part in row.backward_scratch]
        scratch += [(node.inputs[at].count, node.inputs[at].dtype) for at in row.contiguous]
        with self.scratch(*scratch):
            gradients = []
            for at, value in enumerate(node.inputs):
                if not value.differentiable:
                    continue
                handed = row.grad == "same" or (row.grad == "first" and not at)
                if handed and value.count == node.output.count:
                    gradients.append((value, upstream.hold()))
                else:
                    block = self.block(value.count, value.dtype, "temporaries")
                    gradients.append((value, block))
            own = [(w, self.block(w.count, dtype, "temporaries")) for w, dtype in node.weights]
        return gradients, own

    def arrive(self, value: Value, block: Block) -> None:
        """Add to the gradient of a tensor, in place if the memory has no other reference."""
        if value.gradient is None:
            value.gradient = block
            return
        first = value.gradient
        if first.holders > 1:
            both = self.block(value.count, value.dtype, "temporaries")
            first.drop()
            value.gradient = both
        block.drop()

    def collect(self, weight: Weight, block: Block) -> None:
        """Store a gradient in its parameter; later ones are added."""
        if self.on_gradient is not None:
            self.on_gradient(weight, block)
        elif weight.gradient is None:
            weight.gradient = block
            block.recategorize("gradients")
        else:
            block.drop()
