"""CL509: the lengths of the warm-up and of the schedule are given in the wrong order."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.syntax.nodes import identifier
from crosscast_reading.sources.subject import Subject

_WARM = re.compile(r"warm_?up", re.I)
_WHOLE = re.compile(
    r"^(?!.*warm)(.{0,60}(total|train|max|decay|all|end)\w{0,60}(step|iter|epoch|update)\w{0,60}"
    r"|t_total|t_max|total|num_steps|decay_steps)$",
    re.I,
)


def check(subject: Subject) -> Iterator[Finding]:
    """Find calls that pass a warm-up as the whole length, and the whole length as the warm-up."""
    for module in subject.program.modules:
        for call in module.calls:
            if not _passes_warmup(call.node):
                continue
            arguments = call.bound()
            warm = next((n for p, n in arguments.items() if _WARM.search(p)), None)
            whole = next((n for p, n in arguments.items() if _WHOLE.match(p)), None)
            if warm is None or whole is None:
                continue
            if _WHOLE.match(identifier(warm)) and _WARM.search(identifier(whole)):
                yield Finding(
                    span=module.span(call.node),
                    message=f"{module.text(whole)} is passed as the length of the schedule, and "
                    f"{module.text(warm)} as that of its warm-up",
                    hint="swap the two arguments, or pass them by name",
                )


def _passes_warmup(node: ast.Call) -> bool:
    """Whether an argument is named after a warm-up: without one, nothing can be swapped."""
    arguments = (*node.args, *(k.value for k in node.keywords))
    return any(_WARM.search(identifier(argument)) for argument in arguments)


RULE = Rule("CL509", check, hints=("warm",))
