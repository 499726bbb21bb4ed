"""Warm-ups in epochs that are passed where a schedule counts steps."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from crosscast_reading.lint.answers.schedules import converts, spelled_out
from crosscast_reading.pysource.flags.reading import flag_read
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.pysource.syntax.nodes import identifier, keyword

_STEPS = r"steps?|iters?|iterations?|updates?|batch(es)?"
_OF_STEPS = re.compile(r"warm_?up\w{0,60}_(steps?|iters?|iterations?|updates?)$", re.I)
"""Parameters that are a number of steps."""
_COUNTS_STEPS = re.compile(rf"(?<![a-z])({_STEPS})(?![a-z])|\blen\(", re.I)
_IN_EPOCHS = re.compile(r"(?<![a-z])epochs?(?![a-z])", re.I)


def warmups_in_epochs(program: Program) -> Iterator[tuple[Call, ast.expr, ast.expr, str]]:
    """Yield the calls that get a warm-up in epochs and a whole length in steps.

    Yields also the two lengths, and what says that the first one is in epochs.
    """
    for module in program.modules:
        for call in module.calls:
            arguments = call.bound()
            warm = next((node for name, node in arguments.items() if _OF_STEPS.search(name)), None)
            if not isinstance(warm, ast.Name | ast.Attribute) or converts(call):
                continue
            whole = [
                node
                for name, node in arguments.items()
                if node is not warm and _COUNTS_STEPS.search(name)
            ]
            evidence = _epoch_evidence(warm, module)
            if evidence and len(whole) == 1 and _is_in_steps(whole[0], module):
                yield call, warm, whole[0], evidence


def _epoch_evidence(node: ast.Name | ast.Attribute, module: Module) -> str:
    """Return the evidence that a value counts epochs, and is not changed: its name or help."""
    name = identifier(node)
    if _COUNTS_STEPS.search(name) or _is_set(name, module):
        return ""
    flag = flag_read(node, module)
    if flag is None or not isinstance(flag.node, ast.Call):
        return ""
    help_ = keyword(flag.node, "help")
    text = help_.value if isinstance(help_, ast.Constant) else ""
    if not isinstance(text, str) or _COUNTS_STEPS.search(text):
        return ""
    if _IN_EPOCHS.search(name):
        return "as its name says"
    return "as its help says" if _IN_EPOCHS.search(text) else ""


def _is_set(name: str, module: Module) -> bool:
    """Whether the program gives a setting another value, maybe in steps."""
    return any(
        isinstance(node, ast.Name | ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and identifier(node) == name
        for each in module.program.modules
        for node in each.nodes
    )


def _is_in_steps(node: ast.expr, module: Module) -> bool:
    text = spelled_out(node, module)
    return bool(_COUNTS_STEPS.search(text)) and not _IN_EPOCHS.fullmatch(identifier(node))
