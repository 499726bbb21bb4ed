"""Values of expressions, as far as they can be known without running anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from crosscast_reading.facts.fact import Origin


@dataclass(frozen=True, slots=True)
class Known:
    """A certain value: a literal, a constant, the default of a flag that is not overridden."""

    value: object
    """Plain Python data: numbers, text, None, tuples, lists, sets and dictionaries of them (parts
    of which may be `Symbol` or `Unknown`)."""
    origin: Origin = "literal"
    flag: str = ""
    """The flag or configuration key behind it, as the source writes it: `args.clip`."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """A name of a library: `torch.float16`, `torch.optim.AdamW`."""

    name: str
    """Qualified name."""


@dataclass(frozen=True, slots=True)
class Instance:
    """What a call of a known class or function returned: `scaler = GradScaler()`."""

    made_by: str
    """Qualified name of the class or function, or of a class of the program itself."""
    call: object
    """The `pysource.programs.call.Call`; None for `self`, whose creation is not seen."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several, by a condition that is not known: `a if args.fp16 else b`."""

    options: tuple[tuple[str, Value], ...]
    """Condition as text (`args.fp16`, `not args.fp16`) and value."""
    decided: bool = field(default=False, compare=False)
    """Whether the first option is the one that holds with the defaults of the flags."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """Not to be known here."""

    text: str
    """The expression as the source writes it."""
    reason: str
    """`an argument of the function train`, `the result of a call of load_config`."""
    origin: Origin = "derived"
    default: object = None
    """The default value, if the source shows one (`has_default`)."""
    has_default: bool = False
    names: tuple[str, ...] = ()
    """Flags and attributes that it is made of."""


Value: TypeAlias = Known | Symbol | Instance | Choice | Unknown
Values: TypeAlias = Mapping[str, Value]
