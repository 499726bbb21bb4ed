"""What a framework's mixed precision does to the types of tensors, as tables of its package."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

OperationKind = Literal[
    "dense",
    "product",
    "attention",
    "norm",
    "softmax",
    "pointwise",
    "sum",
    "same",
    "lookup",
    "loss",
]
"""- dense: a product with weights, a convolution. - product: of matrices. - attention: fused, which
keeps no scores. - norm: of a row of activations. - pointwise: keeps its input for the backward
pass. - sum: the function for it. - same: the same numbers in another form, or some of them.
- lookup: rows of a table of weights."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operations:
    """Operations of one kind, and the type of their result where mixed precision is on."""

    kind: OperationKind
    stores: Literal["half", "float32", "input"]
    """Type of the result; `input`: that of the input."""
    names: str = r"(?!)"
    """Regular expression for the whole of qualified names: functions, and classes of layers."""
    methods: frozenset[str] = frozenset()
    """Methods of tensors."""
    logits: int = 0
    """Position of the logits of a loss."""
    since: str = ""
    """The first version of the package that does so; empty: all versions that programs use."""
    versions_of: str = ""
    """The package as users call it, for messages about `since`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MixedPrecision:
    """Mixed precision of one framework."""

    regions: str = r"(?!)"
    """Regular expression for the whole of names of contexts in which it is on."""
    policies: str = r"(?!)"
    """Of calls that turn it on for the whole program, by the name of a policy."""
    mixed: str = r"(?!)"
    """Of the policies that do."""
    half_throughout: Mapping[str, tuple[object, ...]] = field(default_factory=dict)
    """Arguments of a region, with the values for which the tables do not hold: almost everything
    is stored in half."""
    devices: frozenset[str] = frozenset()
    """Devices on which the tables hold; empty: all."""
    operations: tuple[Operations, ...] = ()
    run: tuple[str, ...] = ()
    """Methods of a model or layer that a call of it runs."""
    runs_first: str = r"(?!)"
    """Of functions that call their first argument with the others."""
    chains: str = r"(?!)"
    """Of classes whose layers run one after the other."""
    lists: str = r"(?!)"
    """Of classes that only hold layers."""
    layers: str = r"(?!)"
    """Of all classes of layers."""
    casts: str = r"(?!)"
    """Of functions that cast their first argument to the type of their second one."""
    float32: str = r"(?!)"
    """Of names of the type, and of its text."""
    half_types: str = r"(?!)"
    layer_type: str = ""
    """Argument that gives a layer a type of its own, whatever mixed precision says."""
    type_arguments: frozenset[str] = frozenset()
    """Arguments of functions that load a model with weights of a type."""
    fused_attention: str = ""
    """The function to use in place of attention by hand; empty if there is none that keeps less."""
    fused_words: tuple[str, ...] = ()
    """Words of programs that use one of its relatives."""

    def __post_init__(self) -> None:
        """Refuse tables that would fail where they are used.

        Raises:
            re.error: what should be a regular expression is none.
        """
        patterns = (self.regions, self.policies, self.mixed, self.chains, self.lists, self.layers)
        more = (self.runs_first, self.casts, self.float32, self.half_types)
        for pattern in (*patterns, *more, *(row.names for row in self.operations)):
            re.compile(pattern)
