"""Reads JAX programs: what trains them, their steps, losses, rows and devices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_jax.reading.clips import clip_facts
from crosscast_jax.reading.devices import device_facts
from crosscast_jax.reading.losses import loss_facts
from crosscast_jax.reading.names import NAME
from crosscast_jax.reading.optimizers import optimizer_facts
from crosscast_jax.reading.rows import length_facts, row_facts
from crosscast_jax.reading.scaling import scaling_facts
from crosscast_jax.reading.seeds import key_facts
from crosscast_jax.reading.windows import window_facts
from crosscast_reading.readers.python.frameworks import framework_of
from crosscast_reading.readers.python.library_calls import uses_framework

if TYPE_CHECKING:
    from crosscast_reading.facts.fact import Fact
    from crosscast_reading.pysource.programs.program import Program

_COURSE = ("schedule.name", "schedule.total_steps")


class JaxReader:
    """Reads programs with Flax, Equinox or plain JAX, and optax."""

    name = NAME
    hints = ("jax", "flax", "optax")

    def read(self, program: Program) -> Iterator[Fact]:
        """Yield the facts."""
        if not uses_framework(program, "jax"):
            return
        optimizers = list(optimizer_facts(program))
        trains = framework_of(program) == "jax"
        course = [fact for fact in optimizers if fact.field in _COURSE]
        yield from (
            fact for fact in optimizers if not trains or fact.field != "schedule.total_steps"
        )
        yield from scaling_facts(program)
        yield from window_facts(program)
        yield from clip_facts(program)
        yield from device_facts(program)
        if trains:
            subjects = [fact.subject for fact in optimizers if fact.field == "optimizer.name"]
            yield from loss_facts(program, dict.fromkeys(subjects))
            yield from row_facts(program)
            yield from key_facts(program)
            yield from length_facts(program, course)


READER = JaxReader()
