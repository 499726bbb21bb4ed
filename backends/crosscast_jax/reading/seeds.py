"""Reads the random key that a program begins with."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_jax.reading.names import NAME
from crosscast_reading.facts.fact import unknown
from crosscast_reading.pysource.values.value import Known, Unknown
from crosscast_reading.readers.fact_builder import fact_of
from crosscast_reading.readers.python.fact_writer import place_of
from crosscast_reading.readers.python.library_calls import calls_of, last
from crosscast_reading.readers.python.seeds import first_argument
from crosscast_reading.trainstep.steps.search import training_steps

if TYPE_CHECKING:
    from crosscast.messages.diagnostics import Span
    from crosscast_reading.facts.fact import Fact
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.program import Program
    from crosscast_reading.pysource.values.value import Value

_KEYS = re.compile(r"jax\.random\.(PRNGKey|key)|flax\.nnx\.Rngs|haiku\.PRNGSequence")
_SETS = re.compile(r"set_\w*seed\w*|seed_everything|seed_all", re.I)
"""Functions of other files that begin the keys of the program."""
_OTHERS = re.compile(r"(tensorflow|torch|numpy|keras|random|tf_keras|transformers)\b.*")
"""Libraries whose seeds are none of a key."""
_ASIDE = re.compile(r"eval|test|predict|sampl|generat|infer|init_shape", re.I)
"""Functions whose keys are none of the training."""


def key_facts(program: Program) -> Iterator[Fact]:
    """Yield the seed of the first key; several different ones are no seed of a recipe.

    There is no key that a library makes by itself: where none is seen, another file makes it.
    """
    values: dict[str, tuple[Value, Span]] = {}
    for name, call in calls_of(program):
        if not _is_key(name, call):
            continue
        value = first_argument(call, "default") or first_argument(call, "params")
        if value is None:
            value = first_argument(call, "seed")
        if value is not None:
            values.setdefault(_shown(value), (value, place_of(call)))
    if len(values) == 1:
        value, place = next(iter(values.values()))
        yield fact_of("seed", value, place, reader=NAME)
    elif values:
        places = [place for _, place in values.values()]
        yield unknown("seed", f"several: {', '.join(values)}", *places, reader=NAME)
    elif training_steps(program):
        place = training_steps(program)[0].of("backward")[0].span
        yield unknown("seed", "another file makes the first random key", place, reader=NAME)


def _is_key(name: str, call: Call) -> bool:
    """Whether a call makes a key for the training."""
    function = call.module.function_of(call.node)
    if function is not None and _ASIDE.search(function.name):
        return False
    if _KEYS.fullmatch(name):
        return True
    ours = not name or not (":" in name or _OTHERS.fullmatch(name))
    return ours and bool(_SETS.fullmatch(last(name) or call.method))


def _shown(value: Value) -> str:
    match value:
        case Known(value=number):
            return str(number)
        case Unknown(text=text):
            return text
    return "?"
