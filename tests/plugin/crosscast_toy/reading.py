"""Reads the optimizer and the clip of programs for toygrad."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast_reading.facts.fact import Fact
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.fact_builder import fact_of

NAME = "toygrad"
CLIPS = ("toygrad.clip_grad_norm", "toygrad.clip_norm")


class ToyReader:
    """Reads toygrad."""

    name = NAME
    hints = ("toygrad",)

    def read(self, program: Program) -> Iterator[Fact]:
        """Yield the facts."""
        for call in program.calls("toygrad.AdamW"):
            span = call.module.span(call.node)
            yield fact_of("optimizer.name", Known("adamw", "presence"), span, reader=NAME)
            eps = call.argument("eps")
            if eps is not None:
                yield fact_of("optimizer.eps", eps, span, reader=NAME)
        for name in CLIPS:
            for call in program.calls(name):
                span = call.module.span(call.node)
                yield fact_of("clipping.kind", Known("global_norm", "presence"), span, reader=NAME)
                most = call.argument("most")
                if most is not None:
                    yield fact_of("clipping.max_norm", most, span, reader=NAME)


READER = ToyReader()
