"""The arguments of GradScaler that replace those of apex's FP16_Optimizer."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast_migrate.conditions import is_plain
from crosscast_torch.migration.experimental.apex.scaler_creation import NEVER
from crosscast_torch.migration.experimental.apex.uses import Stops

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module

PARAMETERS = (
    *("init_optimizer", "static_loss_scale", "dynamic_loss_scale", "dynamic_loss_args"),
    "verbose",
)
_DYNAMIC_ARGUMENTS = ("init_scale", "scale_factor", "scale_window")
_USUAL = ("init_scale=2.0**16", "growth_interval=2000")
_HINT = "write static_loss_scale=NUMBER or dynamic_loss_scale=True"


@dataclass(frozen=True, slots=True)
class WrappedScale:
    """A loss scale of FP16_Optimizer."""

    arguments: tuple[str, ...]
    """Arguments of GradScaler after the device: `init_scale=128.0`."""
    may_be_constant: bool
    may_be_dynamic: bool
    by_release: bool = False
    """Whether the first dynamic scale or its growth is a default of apex, which changed it."""


def given_to(node: ast.Call) -> dict[str, ast.expr] | None:
    """Return parameter to argument of a call of FP16_Optimizer; None if it is not certain."""
    if any(isinstance(argument, ast.Starred) for argument in node.args):
        return None
    if any(keyword.arg not in PARAMETERS for keyword in node.keywords):
        return None
    given = dict(zip(PARAMETERS, node.args, strict=False))
    given |= {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
    return given if "init_optimizer" in given else None


def scale_of(given: dict[str, ast.expr], module: Module, stops: Stops) -> WrappedScale:
    """Return the loss scale; reasons why it is not certain are added to `stops`."""
    first, every, more = _dynamic(given.get("dynamic_loss_args"), module, stops)
    constant = _constant(given.get("static_loss_scale"), module, stops)
    choice = given.get("dynamic_loss_scale")
    by_release = not _sets_start(given.get("dynamic_loss_args"))
    arguments: tuple[str, ...]
    match choice:
        case None | ast.Constant(value=False | None):
            arguments = (f"init_scale={constant}", f"growth_interval={NEVER}")
            return WrappedScale(arguments, may_be_constant=True, may_be_dynamic=False)
        case ast.Constant(value=True):
            own = (f"init_scale={first}", f"growth_interval={every}", *more)
            kept = tuple(text for text in own if text not in _USUAL)
            return WrappedScale(
                kept, may_be_constant=False, may_be_dynamic=True, by_release=by_release
            )
    if not is_plain(choice):
        message = "whether the loss scale is dynamic is computed"
        stops.add(module, choice, message, "assign the condition to a variable first")
    test = module.text(choice)
    arguments = (
        f"init_scale={first} if {test} else {constant}",
        f"growth_interval={every} if {test} else {NEVER}",
        *more,
    )
    return WrappedScale(arguments, may_be_constant=True, may_be_dynamic=True, by_release=by_release)


def _sets_start(node: ast.expr | None) -> bool:
    """Whether the arguments of a dynamic scale have its first value and its growth interval."""
    keys = node.keys if isinstance(node, ast.Dict) else ()
    words = {key.value for key in keys if isinstance(key, ast.Constant)}
    return words >= {"init_scale", "scale_window"}


def _constant(node: ast.expr | None, module: Module, stops: Stops) -> str:
    match node:
        case None:
            return "1.0"
        case ast.Constant(value=int() | float() as value) if value > 0:
            return repr(float(value))
    if is_plain(node):
        return f"float({module.text(node)})"
    message = f"the loss scale is computed: {module.text(node)}"
    stops.add(module, node, message, _HINT)
    return "1.0"


def _dynamic(
    node: ast.expr | None, module: Module, stops: Stops
) -> tuple[str, str, tuple[str, ...]]:
    """Return first scale, growth interval and further arguments of a dynamic scale."""
    first, every = "2.0**16", "2000"
    more: tuple[str, ...] = ()
    match node:
        case None | ast.Constant(value=None):
            return first, every, more
        case ast.Dict(keys=keys, values=values) if all(
            isinstance(key, ast.Constant) and key.value in _DYNAMIC_ARGUMENTS for key in keys
        ):
            words = [str(key.value) for key in keys if isinstance(key, ast.Constant)]
            given = dict(zip(words, values, strict=True))
        case _:
            message = f"the arguments of the loss scale are not visible: {module.text(node)}"
            stops.add(module, node, message, "write them as a dict with literal keys")
            return first, every, more
    if "init_scale" in given:
        first = module.text(given["init_scale"])
    if "scale_window" in given:
        every = module.text(given["scale_window"])
    if "scale_factor" in given:
        factor = module.text(given["scale_factor"])
        more = (f"growth_factor={factor}", f"backoff_factor=1 / {factor}")
    return first, every, more
