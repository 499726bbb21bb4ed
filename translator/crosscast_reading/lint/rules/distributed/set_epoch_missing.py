"""CL604: a distributed sampler that uses the same order in every epoch."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from crosscast_reading.edits.edit import Edit
from crosscast_reading.edits.node_edits import insert
from crosscast_reading.lint.answers.loop import eager_steps
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules.distributed._data_parallel import samplers
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.sources.connected import connected
from crosscast_reading.sources.subject import Subject
from crosscast_reading.trainstep.events import TrainingStep

_OTHER = re.compile(r"val|test|eval|dev|valid|infer|query|gallery", re.I)
_ELSEWHERE = re.compile(r"set_epoch|accelerat|[Ff]abric|[Ll]ightning|Trainer\(")


def check(subject: Subject) -> Iterator[Finding]:
    """Find shuffling samplers in programs that never set the epoch."""
    shuffling = [
        sampler for sampler in samplers(subject) if _shuffles(sampler) and _trains(sampler)
    ]
    steps = [stage for stage in eager_steps(subject) if _epochs(stage) is not None]
    for step in steps if shuffling else ():
        group = connected(step.module)
        near = [sampler for sampler in shuffling if sampler.module in group]
        if not near or any(_ELSEWHERE.search(module.code) for module in group):
            continue
        call = near[0]
        outer = _epochs(step)
        assert outer is not None
        yield Finding(
            span=call.module.span(call.node),
            message="the sampler uses the same order in every epoch",
            hint="call `sampler.set_epoch(epoch)` at the start of every epoch",
            related=(step.module.owner_of(outer).span(outer),),
            edits=_edits(call, step, outer),
        )
        return


def _shuffles(call: Call) -> bool:
    match call.argument("shuffle"):
        case None:
            return not call.has_star
        case Known(value=True):
            return True
    return False


def _trains(call: Call) -> bool:
    statement = call.module.statement_of(call.node)
    target = ""
    if isinstance(statement, ast.Assign):
        target = call.module.text(statement.targets[0])
    dataset = call.module.text(call.node.args[0]) if call.node.args else ""
    return not _OTHER.search(f"{target} {dataset}")


def _epochs(step: TrainingStep) -> ast.For | None:
    """Return the loop over epochs around the loop over batches."""
    for event in step.of("step"):
        for loop in event.loops:
            if loop.role == "epoch" and isinstance(loop.node, ast.For):
                return loop.node
    return None


def _edits(call: Call, step: TrainingStep, outer: ast.For) -> tuple[Edit, ...]:
    """Insert the call as the first statement of an epoch, if all names are in reach."""
    module = call.module
    statement = module.parent(call.node)
    if not isinstance(statement, ast.Assign):
        return ()
    target = statement.targets[0]
    if not isinstance(target, ast.Name) or not isinstance(outer.target, ast.Name):
        return ()
    same = module.parent(statement) is module.parent(outer)
    bound = module.scope_of(statement).bindings.get(target.id, [])
    first = outer.body[0]
    if not same or len(bound) != 1 or first.lineno == outer.lineno:
        return ()
    row = module.lines[first.lineno - 1]
    indent = row[: len(row) - len(row.lstrip())]
    line = f"{indent}{target.id}.set_epoch({outer.target.id})\n"
    return (insert(module, first.lineno, 1, line),)


RULE = Rule("CL604", check, hints=("DistributedSampler",))
