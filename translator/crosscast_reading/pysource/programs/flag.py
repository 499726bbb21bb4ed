"""A flag of a program."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from crosscast.messages.diagnostics import Span
from crosscast_reading.pysource.values.value import Known, Value

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """One flag of a program."""

    name: str
    """As the command line has it: `--fp16`; a positional argument has no dashes."""
    dest: str
    """As the program reads it."""
    default: Value
    """What it is if the command line does not say; the launch command is not asked."""
    type: str = ""
    """Text of the type: `int`, `str2bool`; `bool` for a switch."""
    action: str = ""
    """`store_true`, `store_false`, `append`, ...; empty: it stores its value."""
    choices: tuple[object, ...] = ()
    span: Span
    read: bool = True
    """Whether anything in the files given reads it; True if that cannot be told."""
    options: tuple[str, ...] = ()
    """All its spellings."""
    required: bool = False
    given: Known | None = None
    """What the launch command says."""
    owner: str = ""
    """Qualified name of the dataclass or function whose field or parameter it is."""
    parser: str = ""
    """Library that parses it: argparse, absl, click, fire, dataclass."""
    module: Module = field(repr=False, compare=False)
    node: ast.AST = field(repr=False, compare=False)
    """The call, field or parameter that defines it."""

    @property
    def value(self) -> Value:
        """What the launch command says, else the default."""
        return self.given or self.default
