"""Printing a Plan: its operations in its order, and what all frameworks print of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from pathlib import Path
from textwrap import indent

from crosscast.emit.render import py_literal, render
from crosscast.plan.operations import Clip, Normalize, Op, Plan, Step

MARK = "\N{REPLACEMENT CHARACTER} operation "
"""Prefix of the lines around an operation in marked output."""
MARKED: ContextVar[bool] = ContextVar("MARKED", default=False)
"""Whether to mark the lines of every operation, to locate them later."""


def print_ops(templates: Path, folder: str, ops: Iterable[Op], view: object, by: int) -> str:
    """Print operations in the Plan's order, one template `<folder>/<kind>.j2` each.

    Args:
        templates: The backend's template root.
        folder: Folder of the operation templates below it.
        ops: The operations; a template sees its own as `op`.
        view: What every template sees as `view`.
        by: Indentation in spaces.
    """
    pieces = [
        (op.kind, render(templates, f"{folder}/{op.kind}.j2", {"op": op, "view": view}))
        for op in ops
    ]
    if MARKED.get():
        pieces = [(kind, f"{MARK}{kind}\n{text}{MARK}\n") for kind, text in pieces]
    return indent("".join(text for _, text in pieces), " " * by).rstrip("\n")


def import_lines(places: Mapping[str, str]) -> tuple[str, ...]:
    """Return the statements that import functions, in the order that sorters of imports agree on.

    Args:
        places: The name in the script to `package.module:function`.
    """
    statements: list[tuple[str, list[str]]] = []
    plain: dict[str, list[str]] = {}
    for name, place in places.items():
        module, _, function = place.partition(":")
        if function == name:
            plain.setdefault(module, []).append(name)
        else:
            statements.append((module, [f"{function} as {name}"]))
    statements += [(module, sorted(names)) for module, names in plain.items()]
    return tuple(_import_line(module, names) for module, names in sorted(statements))


def _import_line(module: str, names: list[str]) -> str:
    line = f"from {module} import {', '.join(names)}"
    if len(line) <= 88:
        return line
    return "\n".join((f"from {module} import (", *(f"    {name}," for name in names), ")"))


def divisor(op: Normalize, distributed: bool) -> str:
    """Return the divisor of a micro-batch's loss in emitted code.

    `rows` and `n_micro` count over all processes; the factor compensates the mean over processes.
    """
    unit = {"sample": "rows", "microbatch": "n_micro", "token": "max(1, tokens)"}[op.unit]
    count = unit if op.renormalize else "FULL_WINDOW"
    return f"({count} / PROCESSES)" if distributed else count


def slot_names(plan: Plan) -> tuple[str, ...]:
    """Return the names of the optimizer's moments in checkpoints."""
    step = plan.get(Step)
    return () if step.optimizer == "sgd" and not step.momentum else _SLOTS[step.optimizer]


MEAN_SQUARES = ("exp_avg_sq", "row_var", "col_var", "variance")
"""Moments that are never negative."""

_SLOTS = {
    "sgd": ("momentum_buffer",),
    "adam": ("exp_avg", "exp_avg_sq"),
    "adamw": ("exp_avg", "exp_avg_sq"),
    "lamb": ("exp_avg", "exp_avg_sq"),
    "lion": ("exp_avg",),
    "adafactor": ("row_var", "col_var", "variance"),
}


def clip_constants(plan: Plan, *, with_eps: bool) -> tuple[str, ...]:
    """Return the constants of clipping and of the divisor of the loss.

    Args:
        plan: The plan.
        with_eps: Whether the code adds an epsilon of its own; that of stock functions may be fixed.
    """
    clip, normalize = plan.get(Clip), plan.get(Normalize)
    full = () if normalize.renormalize else (f"FULL_WINDOW = {normalize.full}",)
    if clip.mode == "none":
        return full
    if clip.mode == "value":
        return (f"MAX_VALUE = {py_literal(clip.limit)}", *full)
    eps = (f"CLIP_EPS = {py_literal(clip.eps)}",) if clip.eps and with_eps else ()
    return (f"MAX_NORM = {py_literal(clip.limit)}", *eps, *full)
