"""The loss scaler that replaces `amp.initialize`, and where it is created."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from crosscast_migrate.conditions import as_bool
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.values.value import Known
from crosscast_torch.migration.experimental.apex.run_time_choices import choose_level, choose_scale
from crosscast_torch.migration.experimental.apex.uses import Stops, Uses, ifs_around, separating_if

if TYPE_CHECKING:
    from crosscast.messages.source import Source
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module

_TAKEN = frozenset(
    {"models", "optimizers", "opt_level", "loss_scale", "enabled", "num_losses", "verbosity"}
)
_O2 = frozenset({"keep_batchnorm_fp32", "master_weights"})
"""Arguments that only configure the copies of O2."""
NEVER = "2**31 - 1"
_FIRST = 2.0**16
"""The dynamic scale that apex and GradScaler begin with."""


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
    number: str = ""
    """The expression of the number in the level, if the program adds the letter to it."""
    switch: str = ""
    """Condition for that level; otherwise the level is O0."""
    refuses: bool = False
    """Whether O3 can be selected at run time."""
    scale: str = ""
    """A constant loss scale, a number; empty if dynamic."""
    dynamic: str = ""
    """Condition for a dynamic scale, if it is known only at run time."""
    lowest: float | None = None
    highest: float | None = None
    """Limits of a dynamic scale, if the source sets them."""
    enabled: str = ""
    given: tuple[str, ...] | None = None
    """The arguments of GradScaler, if they do not follow from the fields above."""
    losses: bool = False
    """Whether several losses had separate scales."""
    others: list[Start] = field(default_factory=list)
    """The same call in other branches, of which only one runs."""

    @property
    def places(self) -> list[Start]:
        """All branches, this one first."""
        return [self, *self.others]

    @property
    def module(self) -> Module:
        """Module of the call."""
        return self.call.module

    @property
    def models(self) -> list[str]:
        """Expressions of the models in `amp.initialize`, including other branches."""
        given = [(place.module, place.call.bound().get("models")) for place in self.places]
        return [
            module.text(node)
            for module, whole in given
            for node in (whole.elts if isinstance(whole, ast.List | ast.Tuple) else [whole])
            if node is not None
        ]

    @property
    def off(self) -> bool:
        """Whether the level is O0, which has no effect."""
        return self.level == "O0" and not self.by_flag

    def at_level(self, number: int, how: str = "==") -> str:
        """Return the comparison of a level that is known at run time."""
        return f"{self.number} {how} {number}" if self.number else f'{self.level} {how} "O{number}"'

    @property
    def scaler(self) -> tuple[str, ...]:
        """The arguments of GradScaler after the device."""
        found: tuple[str, ...] = ()
        if self.given is not None:
            found = self.given
        elif self.dynamic:
            found = (
                f"init_scale=2.0**16 if {self.dynamic} else {self.scale}",
                f"growth_interval=2000 if {self.dynamic} else {NEVER}",
            )
        elif self.scale:
            found = (f"init_scale={self.scale}", f"growth_interval={NEVER}")
        elif self.highest is not None and self.highest < _FIRST:
            found = (f"init_scale={self.highest!r}",)
        return (*found, f"enabled={self.enabled}") if self.enabled else found

    @property
    def arguments(self) -> tuple[object, ...]:
        """All values that determine the scaler and the level."""
        return (
            *(
                self.level,
                self.by_flag,
                self.number,
                self.switch,
                self.refuses,
                self.scale,
                self.dynamic,
            ),
            *(self.lowest, self.highest, self.enabled, self.losses),
        )


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
    starts = [_one(call, stops) for call in calls]
    if len(starts) > 1 and not all(
        separating_if(call, other) is not None
        for call in calls
        for other in calls
        if call is not other
    ):
        stops.add(
            calls[1].module,
            calls[1].node,
            "amp.initialize is called in several places",
            "keep one call whose arguments do not depend on a branch",
        )
        return None
    found = [found for found in starts if found is not None]
    if len(found) < len(starts):
        return None
    start = found[0]
    start.others = found[1:]
    for other in start.others:
        if other.arguments != start.arguments:
            stops.add(
                other.module,
                other.call.node,
                "amp.initialize has other arguments in another branch",
                "keep one call whose arguments do not depend on a branch",
            )
    return start


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


def _one(call: Call, stops: Stops) -> Start | None:
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
    choose_level(start, bound.get("opt_level"), stops)
    choose_scale(start, bound.get("loss_scale"), stops)
    _enabled(start, bound.get("enabled"))
    start.losses = "num_losses" in bound
    for name, node in bound.items():
        is_none = isinstance(node, ast.Constant) and node.value is None
        if name in _TAKEN or is_none:
            continue
        if name in _O2 and (start.level != "O1" or start.by_flag):
            continue
        if name in ("min_loss_scale", "max_loss_scale"):
            _bound(start, name, node, stops)
            continue
        stops.add(
            module,
            node,
            f"{name} changes the meaning of a level of apex; torch.amp has no such option",
            "remove it, or write the casts by hand",
        )


def _bound(start: Start, name: str, node: ast.expr, stops: Stops) -> None:
    """Store a limit of the scale, which must be a literal number."""
    if start.scale and not start.dynamic:
        return  # a constant scale has no limits in apex either
    value = evaluate(node, start.module)
    number = value.value if isinstance(value, Known) and value.origin == "literal" else None
    lowest = name.startswith("min")
    plain = isinstance(number, int | float) and not isinstance(number, bool) and number > 0
    if not plain or start.dynamic:
        stops.add(
            start.module,
            node,
            f"{name}: GradScaler of torch has no {'lower' if lowest else 'upper'} limit",
            f"remove {name}, or set the scale with scaler.update(...) after every step",
        )
    elif isinstance(number, int | float):
        if lowest:
            start.lowest = float(number)
        else:
            start.highest = float(number)


def _enabled(start: Start, node: ast.expr | None) -> None:
    module = start.module
    parts: list[str] = [start.switch] if start.switch else []
    if node is not None and not (isinstance(node, ast.Constant) and node.value is True):
        parts.append(as_bool(node, module))
    if start.by_flag and not any(
        module.text(branch.test).replace("'", '"') == start.at_level(0, "!=")
        for branch in ifs_around(module, start.call.node)
    ):
        parts.append(start.at_level(0, "!="))
    start.enabled = " and ".join(parts)
