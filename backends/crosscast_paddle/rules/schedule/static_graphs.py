"""Schedules beside static graphs: what happens around the runs of the executor."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.lint.rule import Finding, RuleForm
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.sources.subject import Subject

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Function, Module
    from crosscast_reading.pysource.programs.program import Program

_EXECUTOR = re.compile(r"(^|[._])exe(cutor)?$", re.I)
_SCHEDULE = re.compile(r"(^|[._])(lr_)?sched(uler)?$|(^|[._])lr$", re.I)
_OTHER = re.compile(r"eval|test|valid|infer|startup|dev_", re.I)
_WORKERS = re.compile(r"worker_num|world_size|num_trainers|trainers?_num|trainer_count|nranks")
_LENGTH = re.compile(r"^(num_|max_|total_)*(train|training|decay)?_?steps$|^T_max$")


def _before_runs(subject: Subject) -> Iterator[Finding]:
    """Find schedules that advance before the static program that reads their rate."""
    for tick, run in _advances_before_runs(subject.program):
        yield Finding(
            span=tick.module.span(tick.node),
            message=f"{tick.receiver_text} advances before the program runs, which reads its rate",
            hint="run the program first",
            related=(run.module.span(run.node),),
        )


def _in_rounds(subject: Subject) -> Iterator[Finding]:
    """Find lengths that a loop reaches early, as it counts a step for every worker."""
    for module, length, raised in _lengths_in_rounds(subject.program):
        yield Finding(
            span=module.span(length),
            message=f"the loop counts one step per worker up to {module.text(length)}, but the "
            "schedule advances once per round: with N workers it ends after 1/N of the schedule",
            hint="count rounds in the loop, or divide the length by the number of workers",
            related=(module.span(raised),),
        )


def _advances_before_runs(program: Program) -> Iterator[tuple[Call, Call]]:
    """Yield the advances of a schedule that come before the run of the training program.

    Both stand in one function, each with the run, which may be within a method of the program.
    """
    for module in program.modules:
        if not any(call.method == "minimize" for call in module.calls):
            continue
        for tick in module.calls:
            function = module.function_of(tick.node)
            if tick.method != "step" or function is None or tick.node.args or tick.node.keywords:
                continue
            if not _SCHEDULE.search(tick.receiver_text):
                continue
            runs = [call for call in _calls_within(function, module) if _runs(call, program)]
            if runs and all(_is_before(tick, run) for run in runs):
                yield tick, runs[0]


def _lengths_in_rounds(program: Program) -> Iterator[tuple[Module, ast.expr, ast.AST]]:
    """Yield lengths of schedules that a loop reaches by counting every worker in a round.

    `while steps < total: steps += fleet.worker_num()` makes `total / workers` updates.
    """
    for module in program.modules:
        for loop in module.nodes:
            match loop:
                case ast.While(test=ast.Compare(left=ast.Name(id=count), comparators=[limit])):
                    total = module.text(limit)
                    raised = [each for each in walk(loop) if _counts_workers(each, count, module)]
                    for call in module.calls if raised else ():
                        for word in call.node.keywords:
                            named = word.arg is not None and _LENGTH.match(word.arg)
                            if named and module.text(word.value) == total:
                                yield module, word.value, raised[0]


def _counts_workers(node: ast.AST, count: str, module: Module) -> bool:
    match node:
        case ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=by):
            return name == count and bool(_WORKERS.search(module.text(by)))
    return False


def _calls_within(function: Function, module: Module) -> Iterator[Call]:
    for node in walk(function):
        if isinstance(node, ast.Call) and module.function_of(node) is function:
            yield module.call(node)


def _runs(call: Call, program: Program) -> bool:
    """Whether a call runs a program that is not only evaluated."""
    if _OTHER.search(call.module.text(call.node)):
        return False
    if call.method == "run" and _EXECUTOR.search(call.receiver_text):
        return True
    definition = program.function(call)
    return definition is not None and any(
        each.method == "run" and _EXECUTOR.search(each.receiver_text)
        for each in _calls_within(definition[1], definition[0])
    )


def _is_before(tick: Call, run: Call) -> bool:
    return (tick.node.lineno, tick.node.col_offset) < (run.node.lineno, run.node.col_offset)


FORMS = (
    RuleForm(rule="CL501", check=_before_runs, hints=("minimize",)),
    RuleForm(
        rule="CL503",
        check=_in_rounds,
        hints=("worker_num", "world_size", "trainer", "nranks"),
    ),
)
