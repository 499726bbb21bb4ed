"""Reads the seed that a program sets for its framework."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from crosscast_reading.readers.python.default_conditions import runs_by_default
from crosscast_reading.readers.python.fact_writer import FactWriter, place_of
from crosscast_reading.readers.python.frameworks import framework_of
from crosscast_reading.readers.python.library_calls import matching, value_of

if TYPE_CHECKING:
    from crosscast_reading.facts.fact import Fact
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.program import Program
    from crosscast_reading.pysource.values.value import Value

Seeded = Literal["pytorch", "tensorflow", "paddle"]
_SEEDS: dict[Seeded, re.Pattern[str]] = {
    "pytorch": re.compile(
        r"torch\.(random\.)?manual_seed|(transformers|accelerate\.utils|accelerate|transformers"
        r"\.trainer_utils)\.set_seed|(pytorch_lightning|lightning(\.\w+)?)\.seed_everything"
    ),
    "tensorflow": re.compile(
        r"tensorflow\.(random\.)?set_random_seed|tensorflow\.random\.set_seed"
        r"|keras\.utils\.set_random_seed"
    ),
    "paddle": re.compile(r"paddle\.seed"),
}


def seed_facts(program: Program, framework: Seeded, reader: str) -> list[Fact]:
    """Return the first seed that a program sets for the framework it trains with."""
    writer = FactWriter(reader)
    if framework_of(program) not in ("", framework):
        return writer.facts
    for _, call in matching(program, _SEEDS[framework]):
        if runs_by_default(call.node, call.module) is not False:
            writer.number("seed", first_argument(call, "seed"), place_of(call))
            break
    return writer.facts


def first_argument(call: Call, name: str) -> Value | None:
    """Return an argument by its name, or the first one."""
    return call.argument(name) or value_of(next(iter(call.node.args), None), call.module)
