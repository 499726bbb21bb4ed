"""The loss scaler that replaces `amp.initialize`, and where it is created."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from crosscast_migrate.conditions import as_atom, as_bool, is_plain
from crosscast_reading.pysource.flags.reading import flag_read
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.values.value import Known
from crosscast_torch.migration.experimental.apex.uses import Stops, Uses, ifs_around

if TYPE_CHECKING:
    from crosscast.messages.source import Source
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module

_TAKEN = frozenset(
    {"models", "optimizers", "opt_level", "loss_scale", "enabled", "num_losses", "verbosity"}
)
_O2 = frozenset({"keep_batchnorm_fp32", "master_weights"})
"""Arguments that only configure the copies of O2."""
_LEVELS = ("O0", "O1", "O2")
_DYNAMIC = (None, "dynamic")
NEVER = "2**31 - 1"


@dataclass(slots=True)
class Start:
    """The replacement of an `amp.initialize`."""

    call: Call
    statement: ast.stmt
    kept: list[str] = field(default_factory=list)
    """Remaining assignments, such as `model = self.network`."""
    level: str = "O1"
    """A level, or the expression of the level, as text."""
    by_flag: bool = False
    refuses: bool = False
    """Whether O3 can be selected at run time."""
    scale: str = ""
    """A constant loss scale, as text; empty if dynamic."""
    dynamic: str = ""
    """Condition for a dynamic scale, if it is known only at run time."""
    enabled: str = ""
    given: tuple[str, ...] | None = None
    """The arguments of GradScaler, if they do not follow from the fields above."""
    losses: bool = False
    """Whether several losses had separate scales."""

    @property
    def module(self) -> Module:
        """Module of the call."""
        return self.call.module

    @property
    def models(self) -> list[str]:
        """Expressions of the models in `amp.initialize`."""
        whole = self.call.bound().get("models")
        parts = whole.elts if isinstance(whole, ast.List | ast.Tuple) else [whole]
        return [self.module.text(node) for node in parts if node is not None]

    @property
    def off(self) -> bool:
        """Whether the level is O0, which has no effect."""
        return self.level == "O0" and not self.by_flag

    @property
    def scaler(self) -> tuple[str, ...]:
        """The arguments of GradScaler after the device."""
        arguments: tuple[str, ...] = ()
        if self.given is not None:
            arguments = self.given
        elif self.dynamic:
            arguments = (
                f"init_scale=2.0**16 if {self.dynamic} else {self.scale}",
                f"growth_interval=2000 if {self.dynamic} else {NEVER}",
            )
        elif self.scale:
            arguments = (f"init_scale={self.scale}", f"growth_interval={NEVER}")
        return (*arguments, f"enabled={self.enabled}") if self.enabled else arguments


def start_of(uses: Uses, stops: Stops, beside: Sequence[Source] = ()) -> Start | None:
    """Return the replacement of `amp.initialize` in a program; None if it is not certain.

    Args:
        uses: of apex.amp in the program.
        stops: receives the reasons.
        beside: all sources, also those of other programs.
    """
    calls = uses.of("initialize")
    if not calls:
        first = next((call for found in uses.calls.values() for call in found), None)
        if first is not None and not stops.refusals:
            message, hint = _elsewhere(beside)
            stops.add(first.module, first.node, message, hint)
        return None
    for call in calls[1:]:
        stops.add(
            call.module,
            call.node,
            "amp.initialize is called in several places",
            hint="keep one call whose arguments do not depend on a branch; a loop of its own goes "
            "into a file of its own",
        )
    return _of_call(calls[0], stops)


def _elsewhere(beside: Sequence[Source]) -> tuple[str, str]:
    """Return why no `amp.initialize` is known, and what to do."""
    others = [source.name for source in beside if "amp.initialize(" in source.text]
    if others:
        return (
            f"amp.initialize is in {others[0]}, which is not found from here by its imports",
            f"first migrate the loop in {others[0]}; then replace this call as there",
        )
    message = "amp.initialize is not in these files, so the level and the scale are not known"
    return message, "pass the file that calls it, too"


def _of_call(call: Call, stops: Stops) -> Start | None:
    statement = call.module.statement_of(call.node)
    if statement is None or call.has_star:
        message = "not all arguments of amp.initialize are visible here"
        stops.add(call.module, call.node, message, "write them out")
        return None
    start = Start(call, statement)
    _assigned(start, stops)
    _arguments(start, stops)
    return start


def _assigned(start: Start, stops: Stops) -> None:
    module, statement, bound = start.module, start.statement, start.call.bound()
    given = [bound[name] for name in ("models", "optimizers") if name in bound]
    if isinstance(statement, ast.Expr) and statement.value is start.call.node:
        return
    if "optimizers" not in bound:
        message = "amp.initialize has a model but no optimizer: nothing is trained with it"
        hint = "wrap the calls of the model in torch.amp.autocast by hand"
        stops.add(module, start.call.node, message, hint)
        return
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if (
        not isinstance(statement, ast.Assign)
        or len(statement.targets) != 1
        or statement.value is not start.call.node
        or not isinstance(target, ast.Tuple | ast.List)
        or len(target.elts) != len(given)
    ):
        stops.add(
            module,
            statement,
            "the result of amp.initialize is not assigned to a model and an optimizer",
            "write `model, optimizer = amp.initialize(model, optimizer, ...)`",
        )
        return
    for element, value in zip(target.elts, given, strict=True):
        if _shape(element, module) != _shape(value, module):
            start.kept.append(f"{module.text(element)} = {module.text(value)}")


def _shape(node: ast.expr, module: Module) -> object:
    if isinstance(node, ast.Tuple | ast.List):
        return tuple(_shape(element, module) for element in node.elts)
    return module.text(node)


def _arguments(start: Start, stops: Stops) -> None:
    module, bound = start.module, start.call.bound()
    _level(start, bound.get("opt_level"), stops)
    _scale(start, bound.get("loss_scale"), stops)
    _enabled(start, bound.get("enabled"))
    start.losses = "num_losses" in bound
    for name, node in bound.items():
        is_none = isinstance(node, ast.Constant) and node.value is None
        if name in _TAKEN or is_none:
            continue
        if name in _O2 and (start.level != "O1" or start.by_flag):
            continue
        if name in ("min_loss_scale", "max_loss_scale"):
            sign = "lower" if name.startswith("min") else "upper"
            message = f"{name}: GradScaler of torch has no {sign} limit"
            hint = f"remove {name}, or set the scale with scaler.update(...) after every step"
        else:
            message = f"{name} changes the meaning of a level of apex; torch.amp has no such option"
            hint = "remove it, or write the casts by hand"
        stops.add(module, node, message, hint)


def _level(start: Start, node: ast.expr | None, stops: Stops) -> None:
    """Store the level, which is a literal, or a name that has it at run time."""
    module = start.module
    if isinstance(node, ast.Constant):
        start.level = str(node.value)
        if start.level not in _LEVELS:
            stops.add(
                module,
                node,
                f"opt_level {start.level}: all weights and computations are half; torch.amp has "
                "no such level",
                "choose O1, or call model.half() and remove amp",
            )
    elif node is not None and not is_plain(node):
        message = f"the level is computed: {module.text(node)}"
        stops.add(module, node, message, "choose a fixed level, or set it with a flag")
    elif node is not None:
        start.level, start.by_flag = as_atom(node, module), True
        flag = flag_read(node, module)
        start.refuses = flag is None or not flag.choices or "O3" in flag.choices


def _scale(start: Start, node: ast.expr | None, stops: Stops) -> None:
    """Store the loss scale: dynamic, a number, or a name that has either at run time."""
    if node is None or (isinstance(node, ast.Constant) and node.value in _DYNAMIC):
        return
    module = start.module
    if number := _number(node):
        start.scale = repr(number)
    elif is_plain(node) and not _may_be_zero(node, module):
        text = module.text(node)
        start.scale, start.dynamic = f"float({text})", f'{text} in (None, "dynamic")'
    else:
        stops.add(
            module,
            node,
            f"whether the loss scale {module.text(node)} is constant or dynamic is known "
            "only at run time",
            "write loss_scale='dynamic', or a number",
        )


def _number(node: ast.expr) -> float:
    """Return the positive number of a literal; else 0."""
    value = node.value if isinstance(node, ast.Constant) else 0
    try:
        return max(float(value), 0.0) if isinstance(value, int | float | str) else 0.0
    except ValueError:
        return 0.0


def _may_be_zero(node: ast.expr, module: Module) -> bool:
    """Whether a flag defaults to 0, which has a different meaning in every script."""
    flag = flag_read(node, module)
    value = evaluate(node, module)
    known = value.value if isinstance(value, Known) else None
    defaults = [known, flag.default.value if flag and isinstance(flag.default, Known) else None]
    return any(isinstance(default, int | float) and default <= 0 for default in defaults)


def _enabled(start: Start, node: ast.expr | None) -> None:
    module = start.module
    parts: list[str] = []
    if node is not None and not (isinstance(node, ast.Constant) and node.value is True):
        parts.append(as_bool(node, module))
    on = f'{start.level} != "O0"'
    if start.by_flag and not any(
        module.text(branch.test).replace("'", '"') == on
        for branch in ifs_around(module, start.call.node)
    ):
        parts.append(on)
    start.enabled = " and ".join(parts)
