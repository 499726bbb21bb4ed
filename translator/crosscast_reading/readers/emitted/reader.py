"""Reads scripts that crosscast emitted, from their constants and function bodies.

The readers of frameworks understand such a script as any other; this one also says what only a
recipe has a name for. It looks for the functions and constants that every emitted script has, and
at nothing else: a script that was edited afterwards says what it now does.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.facts.fact import Fact
from crosscast_reading.readers.emitted.configuration import configuration
from crosscast_reading.readers.emitted.course import course
from crosscast_reading.readers.emitted.loss import loss, metrics
from crosscast_reading.readers.emitted.optimizer import optimizer
from crosscast_reading.readers.emitted.script import NAME, Script
from crosscast_reading.readers.emitted.step import step
from crosscast_reading.readers.emitted.tracking import tracking

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.program import Program


class EmittedReader:
    """Reads the output of `crosscast compile`."""

    name = NAME
    hints = ("def train_window", "def make_schedule")

    def read(self, program: Program) -> Iterator[Fact]:
        """Yield facts as fields of a recipe; other programs have none."""
        script = Script(tuple(program.modules))
        if script.is_configuration:
            yield from configuration(script)
        if not script.is_emitted:
            return
        backend, of_backend = "", list[Fact]()
        for backend, framework in _backends(script)[:1]:
            yield Fact(field="framework", value=framework, origin="presence", reader=NAME)
            of_backend = [*course(script, backend), *loss(script, backend)]
            yield from of_backend
            yield from metrics(script, backend)
            yield from tracking(script)
        yield from optimizer(script)
        yield from step(script, of_backend, backend)


def _backends(script: Script) -> list[tuple[str, str]]:
    """Return the backends whose frameworks the script imports, with the names of these."""
    from crosscast.targets.backend import installed_backends

    by_module = {
        backend.framework.module: (backend.name, backend.framework.word)
        for backend in installed_backends()
        if backend.framework
    }
    return [
        by_module[alias.name]
        for module in script.modules
        for statement in module.tree.body
        for alias in (statement.names if isinstance(statement, ast.Import) else ())
        if alias.name in by_module
    ]


READER = EmittedReader()
