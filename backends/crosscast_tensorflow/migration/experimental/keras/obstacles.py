"""Checks whether a program can be migrated to Keras 3."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_migrate.codemod import Refusal
from crosscast_tensorflow.migration.experimental.keras.horovod import (
    averaged,
    distributed_optimizers,
)
from crosscast_tensorflow.migration.experimental.keras.replicas import replica_scaling

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.program import Program
    from crosscast_reading.sources.subject import Subject

_LEGACY = "TF_USE_LEGACY_KERAS"


def obstacles(subject: Subject, program: Program, *, scales: bool = False) -> Iterator[Refusal]:
    """Yield the reasons why a program cannot use the loss scaling of Keras 3.

    Args:
        subject: contains the launch commands.
        program: the launched program.
        scales: whether `compile` will scale the loss whatever the program says now.
    """
    for module in program.modules:
        for node in module.every(ast.Constant):
            if node.value == _LEGACY and not module.is_dead(node):
                yield Refusal(
                    span=module.span(node),
                    message=f"the program selects Keras 2 with {_LEGACY}: code for Keras 3 would "
                    "be wrong",
                    hint=f"first remove {_LEGACY} if the program should run on Keras 3",
                )
                return
    for command in subject.commands:
        for fact in command.environment:
            if fact.expression == _LEGACY and fact.places:
                yield Refusal(
                    span=fact.places[0],
                    message=f"the program is launched with {_LEGACY}: it runs on Keras 2",
                    hint=f"first remove {_LEGACY} if the program should run on Keras 3",
                )
                return
    for call in distributed_optimizers(program):
        made = averaged(call, program)
        if isinstance(made, Refusal):
            yield made
    yield from replica_scaling(program, scales=scales).refusals
