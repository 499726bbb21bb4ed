"""CL516: a list of optimizers or schedules has one of them twice, and another is missing."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.syntax.nodes import identifier
from crosscast_reading.sources.subject import Subject

_KINDS = (re.compile(r"optim|^opts?(_|$)", re.I), re.compile(r"sched", re.I))


def check(subject: Subject) -> Iterator[Finding]:
    """Find lists of all optimizers, by their name, that repeat one and leave out one made there."""
    for module in subject.program.modules:
        for node in module.every(ast.Assign):
            kind = _kind(node)
            if kind is None or not isinstance(node.value, ast.List | ast.Tuple):
                continue
            names = [module.text(each) for each in node.value.elts if kind.search(identifier(each))]
            twice = sorted({name for name in names if names.count(name) > 1})
            if len(names) != len(node.value.elts) or len(twice) != 1:
                continue
            missing = [name for name in _created_names(node, kind, module) if name not in names]
            if missing:
                yield Finding(
                    span=module.span(node.value),
                    message=f"{twice[0]} is listed twice, and {missing[0]} is missing",
                    hint=f"write {missing[0]} in one of the places",
                )


def _kind(node: ast.Assign) -> re.Pattern[str] | None:
    """Return the kind of a list's items, from its name: `self.optimizers`, `schedulers`."""
    if len(node.targets) != 1:
        return None
    name = identifier(node.targets[0])
    return next((kind for kind in _KINDS if kind.search(name) and name.endswith("s")), None)


def _created_names(listed: ast.Assign, kind: re.Pattern[str], module: Module) -> Iterator[str]:
    """Yield the names of the same kind that calls are assigned to in the same function."""
    function = module.function_of(listed)
    for node in module.every(ast.Assign):
        target = node.targets[0]
        name = identifier(target) if isinstance(target, ast.Name | ast.Attribute) else ""
        is_earlier_call = isinstance(node.value, ast.Call) and node.lineno < listed.lineno
        is_in_function = is_earlier_call and module.function_of(node) is function
        if is_in_function and kind.search(name) and not name.endswith("s"):
            yield module.text(target)


RULE = Rule("CL516", check, hints=("optim", "sched"), needs_training=False)
