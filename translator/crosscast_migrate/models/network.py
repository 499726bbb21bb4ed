"""A model as a neutral list of layers and of the steps of its forward pass.

Sizes are those of the source, whose layout of images (`channels`) says on which axis channels are.
A setting has one meaning for all frameworks; what each framework calls it, and with which default,
is in its `ModelTables`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from crosscast.messages.diagnostics import Span

Channels = Literal["first", "last"]
Settings = Mapping[str, Any]
Shape = tuple[int | None, ...]
"""Sizes of a value; the first, of the rows, is None. A size that is not known is None too."""


class UnreadableError(Exception):
    """The model, or a part of it, cannot be carried."""

    def __init__(self, reason: str, span: Span | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.span = span


@dataclass(frozen=True, slots=True)
class Initial:
    """What the weights of a layer are drawn from."""

    name: Literal["uniform", "normal", "truncated_normal", "constant"]
    number: float
    """Bound of a uniform distribution around 0, standard deviation, or the constant. A truncated
    distribution is cut at two standard deviations."""


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer with weights, or one that differs between training and evaluation."""

    name: str
    kind: str
    settings: Settings
    initial: Mapping[str, Initial | None] = field(default_factory=dict)
    """`weight` and `bias` to what they are drawn from; None for what could not be read."""

    def but(self, **settings: Any) -> Layer:
        """Return the layer with other settings."""
        return replace(self, settings={**self.settings, **settings})


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the forward pass: `output` is computed from `inputs`."""

    kind: str
    """Of an operation; `layer` for a layer."""
    inputs: tuple[int, ...]
    """Numbers of values."""
    output: int
    settings: Settings = field(default_factory=dict)
    layer: str = ""
    """Name of the layer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """A model: inputs are the values 0, 1, ... in the order of their names."""

    title: str
    """Name of the class."""
    source: str
    """Framework that it was read from."""
    channels: Channels
    inputs: tuple[str, ...]
    layers: tuple[Layer, ...]
    steps: tuple[Step, ...]
    output: int
    shapes: Mapping[int, Shape] = field(default_factory=dict)
    """Shapes of values, as far as they are known."""
    notes: tuple[str, ...] = ()
    """What of the model is not carried, in sentences."""
    place: Span | None = None
    """Where it is created."""
    is_flat: bool = False
    """Whether the loss takes all entries but those of the last axis as rows of their own."""

    @property
    def is_single(self) -> bool:
        """Whether it certainly gives one number for every row, in a column."""
        return self.shapes.get(self.output) == (None, 1)

    def layer(self, name: str) -> Layer:
        """Return the layer of a name."""
        return next(layer for layer in self.layers if layer.name == name)

    def kind_of(self, step: Step) -> str:
        """Return the kind of the operation or of the layer of a step."""
        return self.layer(step.layer).kind if step.layer else step.kind
