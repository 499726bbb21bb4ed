"""Calls that run a model."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from crosscast_reading.pysource.programs.meaning import meanings_of
from crosscast_reading.trainstep.frames.frame import CallFrame, canonical
from crosscast_reading.trainstep.frames.object_kinds import (
    is_loss_name,
    is_model_name,
    kind_by_name,
    last_name,
)

if TYPE_CHECKING:
    from crosscast_reading.trainstep.walk.walker import Walker

NOT_RUN = re.compile(
    r"^(create|build|get|load|save|make|prepare|init|wrap|setup|set|unwrap|export|freeze|unfreeze"
    r"|eval|evaluate|test|print|log|count|convert|compile|fuse|clean|update|copy|broadcast|is|has"
    r"|reset|register|de_?parallel|summary|plot|watch|sync|move|cast|profile|validate|predict"
    r"|clone|extract|find|check|select|define|parse|list|store|dump|resume|restore)(_|$)",
    re.I,
)
_RUN_METHODS = frozenset(
    {
        *("forward", "training_step", "forward_train", "compute_loss", "train_step", "loss"),
        *("calculate_loss", "get_loss", "forward_loss", "loss_fn"),
    }
)  # fmt: skip


def forward(walker: Walker, call: ast.Call, name: str, frame: CallFrame) -> bool:
    """`model(x)`, `model.loss(x)`, `criterion(model, x)`."""
    function = call.func
    subject: ast.expr | None = None
    if isinstance(function, ast.Name | ast.Attribute | ast.Subscript):
        inner = function.value if isinstance(function, ast.Attribute) else None
        own = name in ("self", "__call__") or _runs(name, walker)
        if own and not _is_class(function, name, frame):
            subject = function
        elif name in _RUN_METHODS and inner is not None and _runs(last_name(inner), walker):
            subject = inner
        if subject is None and is_loss_name(name):
            given = (
                argument
                for argument in call.args[:3]
                if isinstance(argument, ast.Name | ast.Attribute)
            )
            subject = next(
                (argument for argument in given if _runs(last_name(argument), walker)), None
            )
    if subject is None:
        return False
    walker.emit("forward", call, frame, subject=canonical(subject, frame))
    return True


def _runs(name: str, walker: Walker) -> bool:
    if not name or NOT_RUN.search(name) or is_loss_name(name):
        return False
    if kind_by_name(name):
        return False
    return name in walker.index.model_names or is_model_name(name)


_HOMES = ("nn", "models", "torch", "tf", "F", "utils", "model")


def _is_class(function: ast.expr, name: str, frame: CallFrame) -> bool:
    """Whether a class or function is called and not an object."""
    match function:
        case ast.Attribute(value=ast.Name(id=home)) if home in _HOMES:
            return True
    if len(name) > 2 and name[0].isupper() and name[1].islower():
        return True
    return any(m.kind != "instance" for m in meanings_of(function, frame.module))
