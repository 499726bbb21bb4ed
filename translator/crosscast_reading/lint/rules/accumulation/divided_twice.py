"""CL102: a loss is divided twice by the length of the window."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import combinations

from crosscast_reading.lint.answers.loop import backward_of, compatible, eager_steps, known_word
from crosscast_reading.lint.answers.windows import ACCUMULATES, end_tests
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.names.references import is_read
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.sources.subject import Subject
from crosscast_reading.trainstep.events import Event


def check(subject: Subject) -> Iterator[Finding]:
    """Find two divisions of one loss by the same number."""
    for step in eager_steps(subject):
        keys = {test.key for _, test in end_tests(step)}
        backward = backward_of(step)
        for first, second in combinations(step.of("divide_loss"), 2):
            key = known_word(first, "by_key")
            if key != known_word(second, "by_key") or not compatible(first, second):
                continue
            text = str(known_word(second, "by_text"))
            if key not in keys and not ACCUMULATES.search(text):
                continue
            both = {id(first.node), id(second.node)}
            ways = [set(known_word(event, "divided_at") or ()) for event in backward]  # type: ignore[call-overload]
            if any(both <= way for way in ways) and not _are_addends(first, second):
                yield Finding(
                    span=second.span,
                    message=f"the loss was already divided by {known_word(first, 'by_text')}",
                    hint="divide once",
                    related=(first.span,),
                )


def _are_addends(first: Event, second: Event) -> bool:
    """Whether two divisions in one function are of different parts of a sum: `a / n + b / n`."""
    module = first.module
    if second.module is not module:
        return False
    if module.function_of(first.node) is not module.function_of(second.node):
        return False
    return not _comes_from(second.node, first.node, module)


def _comes_from(division: ast.AST, other: ast.AST, module: Module) -> bool:
    """Whether what is divided may have its value from another division."""
    waiting, seen = [division], set[ast.AST]()
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        for part in ast.walk(node):
            if part is other:
                return True
            if not isinstance(part, ast.Name) or not is_read(part, module):
                continue
            for binding in definitions(part, module):
                match binding.value:
                    case ast.Tuple(elts=parts) if binding.path[:1] and len(parts) > binding.path[0]:
                        waiting.append(parts[binding.path[0]])  # of `a, b = a / n, b / n`
                    case _ if isinstance(binding.node, ast.Assign | ast.AugAssign | ast.AnnAssign):
                        waiting.append(binding.node)
    return False


RULE = Rule("CL102", check, hints=("backward",))
