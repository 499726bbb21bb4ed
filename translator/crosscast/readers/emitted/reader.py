"""Reads scripts that crosscast emitted, from their constants and function bodies.

The readers of frameworks understand such a script as any other; this one also says what only a
recipe has a name for. It looks for the functions and constants that every emitted script has, and
at nothing else: a script that was edited afterwards says what it now does.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast.facts.fact import Fact
from crosscast.readers.emitted.configuration import configuration
from crosscast.readers.emitted.course import course
from crosscast.readers.emitted.loss import loss, metrics
from crosscast.readers.emitted.optimizer import optimizer
from crosscast.readers.emitted.script import NAME, Script
from crosscast.readers.emitted.step import step

if TYPE_CHECKING:
    from crosscast.pysource.programs.program import Program
    from crosscast.targets.backend import Backend


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
        backend = _backend(script)
        if backend is not None and backend.framework is not None:
            word = backend.framework.word
            yield Fact(field="framework", value=word, origin="presence", reader=NAME)
            yield from course(script, backend.name)
            yield from loss(script, backend.name)
            yield from metrics(script, backend.name)
        yield from optimizer(script)
        yield from step(script)


def _backend(script: Script) -> Backend | None:
    """Return the backend whose framework the script imports."""
    from crosscast.targets.backend import installed_backends

    by_module = {
        backend.framework.module: backend for backend in installed_backends() if backend.framework
    }
    for module in script.modules:
        for statement in module.tree.body:
            if isinstance(statement, ast.Import):
                for alias in statement.names:
                    if alias.name in by_module:
                        return by_module[alias.name]
    return None


READER = EmittedReader()
