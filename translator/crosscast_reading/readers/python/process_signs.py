"""Signs of several processes in a program: whether a launch may start more than one."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from crosscast.messages.diagnostics import Span
from crosscast_reading.pysource.libraries.roles import has_role
from crosscast_reading.pysource.programs.program import Program

_VARIABLES = frozenset({"WORLD_SIZE", "LOCAL_RANK", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS"})
"""What launchers tell the processes that they start."""


@dataclass(frozen=True, slots=True)
class Sign:
    """Code that speaks of several processes."""

    text: str
    place: Span


def sign_of_processes(program: Program) -> Sign | None:
    """Return the first sign that a program is made for several processes."""
    for module in program.modules:
        for call in module.calls:
            name = call.name or call.method
            if any(has_role(each, "joins_processes") for each in (*call.names, call.method)):
                return Sign(name, module.span(call.node))
    for module in program.modules:
        if not any(word in module.source.text for word in _VARIABLES):
            continue
        for node in module.every(ast.Constant):
            if node.value in _VARIABLES:
                return Sign(str(node.value), module.span(node))
    return None
