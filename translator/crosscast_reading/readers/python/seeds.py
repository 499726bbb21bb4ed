"""Reads the seed that a program sets for its framework."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from crosscast_reading.readers.python.default_conditions import runs_by_default
from crosscast_reading.readers.python.fact_writer import FactWriter, place_of
from crosscast_reading.readers.python.frameworks import framework_of
from crosscast_reading.readers.python.library_calls import matching, value_of

if TYPE_CHECKING:
    from crosscast_reading.facts.fact import Fact
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.program import Program
    from crosscast_reading.pysource.values.value import Value


def seed_facts(
    program: Program, framework: str, functions: re.Pattern[str], reader: str
) -> list[Fact]:
    """Return the first seed that a program sets for the framework it trains with.

    Args:
        program: its calls are read.
        framework: as in the field `framework` of facts; a program of another one has no seed here.
        functions: the whole of the canonical names of functions that set the seed.
        reader: the name of the reader.
    """
    writer = FactWriter(reader)
    if framework_of(program) not in ("", framework):
        return writer.facts
    for _, call in matching(program, functions):
        if runs_by_default(call.node, call.module) is not False:
            writer.number("seed", first_argument(call, "seed"), place_of(call))
            break
    return writer.facts


def first_argument(call: Call, name: str) -> Value | None:
    """Return an argument by its name, or the first one."""
    return call.argument(name) or value_of(next(iter(call.node.args), None), call.module)
