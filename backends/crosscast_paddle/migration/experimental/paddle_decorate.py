"""The two signatures of Paddle's `decorate` for static graphs and their arguments."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from crosscast_paddle.migration.experimental.paddle_fluid import CannotError
from crosscast_reading.lint.outdated_apis import older
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.programs.program import Program

DECORATE = "paddle.static.amp.decorate"
SCALING = {
    "init_loss_scaling": ("2.0**15", "2.0**16"),
    "incr_ratio": ("2.0", "2.0"),
    "decr_ratio": ("0.8", "0.5"),
    "incr_every_n_steps": ("1000", "2000"),
    "decr_every_n_nan_or_inf": ("2", "1"),
}
"""Defaults of the two signatures: fluid and older releases, and newer releases."""
_OLDER = {"use_pure_fp16", "use_fp16_guard", "use_bf16"}
_NEWER = {"level", "dtype", "master_weight", "master_grad", "use_amp_guard"}
_POSITIONS = {
    False: (
        *("optimizer", "amp_lists", "init_loss_scaling", "incr_every_n_steps"),
        *("decr_every_n_nan_or_inf", "incr_ratio", "decr_ratio", "use_dynamic_loss_scaling"),
    ),
    True: ("optimizer", "amp_lists", "level", "dtype", "master_weight", "master_grad"),
}


def decorate_arguments(call: Call, program: Program) -> tuple[Mapping[str, ast.expr], bool]:
    """Return the arguments by name, and whether the newer signature applies."""
    node = call.node
    keywords = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg is not None}
    if len(keywords) < len(node.keywords) or any(isinstance(a, ast.Starred) for a in node.args):
        raise CannotError(node, "its arguments are not visible")
    fluid, third = call.name != DECORATE, node.args[2] if len(node.args) > 2 else None
    newer = not fluid and bool(_NEWER & set(keywords))
    older_one = fluid or bool(_OLDER & set(keywords))
    if isinstance(third, ast.Constant):
        newer, older_one = newer or isinstance(third.value, str), not isinstance(third.value, str)
    if not newer and not older_one:
        if older(program, "paddlepaddle", "2.5"):
            older_one = True
        elif program.versions.get("paddlepaddle") or not set(SCALING) - set(keywords):
            newer = True
        else:
            raise CannotError(
                node, "its defaults changed in Paddle 2.5, and the version is not known"
            )
    if len(node.args) > len(_POSITIONS[newer]):
        raise CannotError(node, "it has too many positional arguments")
    given = keywords | dict(zip(_POSITIONS[newer], node.args, strict=False))
    known = {*_POSITIONS[newer], *SCALING, "use_dynamic_loss_scaling"}
    if unknown := sorted(set(given) - known - {"use_pure_fp16", "use_bf16", "use_fp16_guard"}):
        raise CannotError(node, f"{unknown[0]} has no counterpart")
    if "optimizer" not in given or call.name.endswith("decorate_bf16"):
        raise CannotError(node, "bfloat16 of static graphs uses other lists")
    _wanted(node, given, newer)
    return given, newer


def _wanted(node: ast.Call, given: Mapping[str, ast.expr], newer: bool) -> None:
    """Refuse all but float16 with lists of operations and a dynamic scale."""
    for name, plain, reason in (
        ("use_pure_fp16", (False,), "the user must decide about half weights (use_pure_fp16)"),
        ("use_bf16", (False,), "bfloat16 of static graphs uses other lists"),
        ("use_fp16_guard", (False, None), "use_fp16_guard has no counterpart"),
        ("level", ("O1",), "the user must decide about levels other than O1"),
        ("dtype", ("float16",), "bfloat16 of static graphs uses other lists"),
        ("master_weight", (None, False), "the user must decide about half weights"),
        ("master_grad", (False,), "the user must decide about half weights"),
        (
            "use_dynamic_loss_scaling",
            (True, None) if newer else (True,),
            "a constant scale: GradScaler of Paddle 3 divides the gradients of a static "
            "program by it without multiplying the loss",
        ),
    ):
        value = given.get(name)
        if value is not None and not (isinstance(value, ast.Constant) and value.value in plain):
            raise CannotError(node, reason)
