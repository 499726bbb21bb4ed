"""CL713: gradients are summed over replicas, but the loss is not divided by their number."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.programs.module import Function, Module
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.readers.python.library_calls import calls_of, canonical
from crosscast_reading.readers.python.module_words import function_calls
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.answers.keras import strategies

_MEANS = ("tensorflow.reduce_mean", "tensorflow.math.reduce_mean")
_DIVIDED = re.compile(
    r"num_replicas|compute_average_loss|global_batch|scale_loss_for_distribution|all_reduce|replica"
    r"|batch_size|Reduction\.NONE|ReduceOp\.MEAN",
    re.I,
)


def check(subject: Subject) -> Iterator[Finding]:
    """Find step functions of a strategy whose loss is the mean of one replica."""
    program = subject.program
    if not strategies(program):
        return
    made = strategies(program)[0]
    for module, function in _steps(program):
        text = module.text(function)
        if _DIVIDED.search(text):
            continue
        calls = function_calls(function, module)
        methods = {call.method for call in calls}
        if not {"gradient", "apply_gradients"} <= methods:
            continue
        for call in calls:
            if canonical(call.name) in _MEANS and _is_loss(call.node, module):
                yield Finding(
                    span=module.span(call.node),
                    message="the gradients of all replicas are summed, but this mean covers only "
                    "one replica: the update is too large by the number of replicas",
                    hint="divide by strategy.num_replicas_in_sync, or use "
                    "tf.nn.compute_average_loss(per_example, global_batch_size=...)",
                    related=(made.module.span(made.node),),
                )
                break


def _steps(program: Program) -> Iterator[tuple[Module, Function]]:
    """Yield the functions that a strategy runs on every replica."""
    for _name, call in calls_of(program):
        if call.method not in ("run", "experimental_run_v2") or not call.node.args:
            continue
        if "strategy" not in call.receiver_text:
            continue
        definition = program.function_named(call.module.resolve(call.node.args[0]))
        if definition is not None:
            yield definition


def _is_loss(node: ast.AST, module: Module) -> bool:
    statement = module.statement_of(node)
    return (
        isinstance(statement, ast.Assign)
        and statement.value is node
        and "loss" in module.text(statement.targets[0])
    )


RULE = Rule("CL713", check, hints=("Strategy",))
