"""CL911: a flag that is defined twice, or given twice with different values."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from crosscast.messages.diagnostics import Severity
from crosscast_reading.facts.command import Command
from crosscast_reading.facts.fact import Fact
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.topics import topic_of
from crosscast_reading.pysource.programs.flag import Flag
from crosscast_reading.sources.subject import Subject

_NUMBER = re.compile(
    r"(^|_)(lr|learning_rate|betas?_?[12]?|eps|epsilon|momentum|weight_decay|batch_size)$"
)
"""Last words of flags that set one number of the training."""


def check(subject: Subject) -> Iterator[Finding]:
    """Check definitions in Python and commands."""
    yield from _defined(subject.program.all_flags)
    for command in subject.commands:
        yield from _repeated_flags(command)


def _defined(flags: tuple[Flag, ...]) -> Iterator[Finding]:
    seen: dict[tuple[str, int, str, str], Flag] = {}
    for flag in flags:
        match flag:
            case Flag(parser="argparse", node=ast.Call(func=ast.Attribute(value=of)) as node):
                receiver = flag.module.text(of)
            case _:
                continue
        block = _block(flag) if not flag.module.is_dead(node) else None
        if block is None or "conflict_handler" in flag.module.source.text:
            continue
        for option in flag.options:
            key = (flag.module.source.name, block, receiver, option)
            first = seen.setdefault(key, flag)
            if first is not flag and option.startswith("-"):
                yield Finding(
                    span=flag.span,
                    message=f"{option} is defined twice: argparse raises ArgumentError",
                    hint="remove one of them",
                    related=(first.span,),
                )
                break


def _block(flag: Flag) -> int | None:
    """Return an identifier of the block of statements; None within a branch or loop."""
    statement = flag.module.statement_of(flag.node)
    parent = flag.module.parent(statement) if statement is not None else None
    if isinstance(parent, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef):
        return id(parent)
    return None


def _repeated_flags(command: Command) -> Iterator[Finding]:
    first: dict[str, Fact] = {}
    for fact in command.flags:
        if not fact.known or fact.under:
            continue
        before = first.setdefault(fact.expression, fact)
        if before is fact or before.value == fact.value:
            continue
        if topic_of(fact.expression) or _is_number(before, command):
            yield Finding(
                span=fact.places[0],
                message=f"{fact.expression} is given twice: {fact.value} is used, {before.value} "
                "is ignored",
                hint="remove one of them",
                related=before.places[:1],
                severity=Severity.WARNING,
            )


def _is_number(before: Fact, command: Command) -> bool:
    """Whether a flag sets one number of the training, and is written out both times.

    A number from a variable with defaults may be replaced on purpose, and a flag that is there more
    than twice makes a list.
    """
    same = [fact for fact in command.flags if fact.expression == before.expression]
    name = before.expression.lstrip("-").replace("-", "_").lower()
    written = len(same) == 2 and all(len(fact.places) == 1 for fact in same)
    return written and bool(_NUMBER.search(name))


RULE = Rule("CL911", check)
