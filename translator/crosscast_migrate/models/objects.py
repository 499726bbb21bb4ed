"""What the reader of a model computes with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from crosscast.messages.diagnostics import Span
from crosscast_migrate.models.network import Initial
from crosscast_migrate.models.rows import Reading

if TYPE_CHECKING:
    from crosscast_migrate.models.initials import Fans
    from crosscast_reading.pysource.programs.scopes import Scope


@dataclass(frozen=True, slots=True)
class Opaque:
    """Something that is not known; using it where the model depends on it ends the reading."""

    text: str
    span: Span | None = None
    is_changed: bool = False
    """Whether it was known: what is assigned to its name is not what it is now."""
    is_cause: bool = False
    """Whether it is what is to be told, whatever is computed of it."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """A value of the forward pass, by its number."""

    number: int
    is_turned: bool = False
    """Whether the source has its second axis first, as in (steps, rows, width)."""


@dataclass(eq=False, slots=True)
class Constant:
    """Numbers that depend on no input and no weight, as an expression of NumPy."""

    text: str
    shape: tuple[int, ...]
    kind: Literal["float32", "int64", "bool"]
    before: tuple[str, ...] = ()
    """Statements before the expression, which is then `value` or something of it."""
    name: str = ""


@dataclass(frozen=True, slots=True)
class Zeros:
    """Zeros whose shape is known only when the model runs."""


@dataclass(frozen=True, slots=True)
class Stacked:
    """The last states of a recurrent layer: one value for each of its layers and directions."""

    parts: tuple[Tensor, ...]


@dataclass(frozen=True, slots=True)
class Dim:
    """A size of a value that is not known before the model runs."""

    tensor: Tensor
    axis: int


@dataclass(frozen=True, slots=True)
class Sizes:
    """The shape of a value."""

    tensor: Tensor


@dataclass(frozen=True, slots=True)
class Training:
    """Whether the model trains."""


@dataclass(frozen=True, slots=True)
class Library:
    """A function or class of a library."""

    name: str


@dataclass(frozen=True, slots=True)
class Partial:
    """A `functools.partial` of a function of a library."""

    of: Library | Partial
    arguments: Sequence[Any] = ()
    keywords: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Initializer:
    """An object that fills weights."""

    of: Callable[[Fans], Initial]


@dataclass(eq=False, slots=True)
class LayerObject:
    """A layer of the library."""

    reading: Reading
    settings: dict[str, Any]
    span: Span | None = None
    name: str = ""
    drawn: dict[str, Callable[[Fans], Initial] | None] = field(default_factory=dict)
    """What was done to its weights after it was created; None for something unknown."""
    parts: dict[str, LayerObject] = field(default_factory=dict)
    """The layers that it consists of, once it was called."""
    title: str = ""
    """The name that the source gives it, which its outputs go by."""


@dataclass(frozen=True, slots=True)
class Weight:
    """A weight of a layer."""

    layer: LayerObject
    name: str


@dataclass(eq=False, slots=True)
class SequenceObject:
    """A Sequential or a list of modules."""

    parts: list[tuple[str, Any]]
    is_model: bool


@dataclass(eq=False, slots=True)
class ModuleObject:
    """An instance of a class of the program."""

    scope: Scope
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class FunctionalModel:
    """A model by the functional API: outputs as a function of inputs."""

    inputs: list[Tensor]
    output: Tensor | list[Tensor] | dict[str, Tensor]


@dataclass(frozen=True, slots=True)
class ClassObject:
    """A class of the program."""

    scope: Scope


MODULES = (LayerObject, SequenceObject, ModuleObject, FunctionalModel)
