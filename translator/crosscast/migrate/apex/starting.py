"""`amp.initialize`: which loss scaler it stands for, and where that is made."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from crosscast.migrate.apex.uses import Stops, Uses, ifs_around
from crosscast.pysource.flags import flag_read
from crosscast.pysource.nodes import walk

if TYPE_CHECKING:
    from crosscast.pysource.calls import Call
    from crosscast.pysource.module import Module

_LEVELS = ("O0", "O1", "O2")
_TAKEN = frozenset(
    {"models", "optimizers", "opt_level", "loss_scale", "enabled", "num_losses", "verbosity"}
)
_O2 = frozenset({"keep_batchnorm_fp32", "master_weights"})
"""What only says how O2 keeps its copies."""
NEVER = "2**31 - 1"


@dataclass(slots=True)
class Start:
    """What stands in the place of `amp.initialize`."""

    call: Call
    statement: ast.stmt
    kept: list[str] = field(default_factory=list)
    """Assignments that remain, as `model = self.network`."""
    level: str = "O1"
    """As text: a level, or the expression that gives it."""
    by_flag: bool = False
    refuses: bool = False
    """Whether O3 can be asked for when the program runs."""
    scale: str = ""
    """A constant loss scale; empty: dynamic."""
    enabled: str = ""
    losses: bool = False
    """Whether several losses had scales of their own."""

    @property
    def module(self) -> Module:
        """Where it stands."""
        return self.call.module

    @property
    def off(self) -> bool:
        """Whether it does nothing: O0."""
        return self.level == "O0" and not self.by_flag

    @property
    def scaler(self) -> str:
        """The arguments of GradScaler behind the device."""
        scale = f", init_scale={self.scale}, growth_interval={NEVER}" if self.scale else ""
        return scale + (f", enabled={self.enabled}" if self.enabled else "")


def start_of(uses: Uses, stops: Stops) -> Start | None:
    """Return what becomes of the one `amp.initialize` of a program; None if that is not certain."""
    calls = uses.of("initialize")
    if not calls:
        first = next((call for found in uses.calls.values() for call in found), None)
        if first is not None and not stops.refusals:
            stops.add(
                first.module,
                first.node,
                "amp.initialize is not in these files, so the level and the scale are not known",
                "give the file that calls it, too",
            )
        return None
    if len(calls) > 1:
        stops.add(
            calls[1].module,
            calls[1].node,
            "amp.initialize is called in several places",
            "leave one call, with arguments that do not depend on a branch",
        )
        return None
    call = calls[0]
    statement = call.module.statement_of(call.node)
    if statement is None or call.has_star:
        message = "not all arguments of amp.initialize are written here"
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
        message = "amp.initialize is given a model and no optimizer: nothing is trained with it"
        hint = "put the calls of the model into torch.amp.autocast by hand"
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
            "what amp.initialize returns is not assigned to a model and an optimizer here",
            "write `model, optimizer = amp.initialize(model, optimizer, ...)`",
        )
        return
    for one, value in zip(target.elts, given, strict=True):
        if _shape(one, module) != _shape(value, module):
            start.kept.append(f"{module.text(one)} = {module.text(value)}")


def _shape(node: ast.expr, module: Module) -> object:
    if isinstance(node, ast.Tuple | ast.List):
        return tuple(_shape(one, module) for one in node.elts)
    return module.text(node)


def _arguments(start: Start, stops: Stops) -> None:
    module, bound = start.module, start.call.bound()
    _level(start, bound.get("opt_level"), stops)
    _scale(start, bound.get("loss_scale"), stops)
    _enabled(start, bound.get("enabled"))
    start.losses = "num_losses" in bound
    for name, node in bound.items():
        nothing = isinstance(node, ast.Constant) and node.value is None
        if name in _TAKEN or nothing:
            continue
        if name in _O2 and (start.level != "O1" or start.by_flag):
            continue
        if name in ("min_loss_scale", "max_loss_scale"):
            bound_ = "lowest" if name.startswith("min") else "highest"
            stops.add(
                module,
                node,
                f"{name}: torch's GradScaler has no {bound_} scale",
                f"leave {name} out, or set the scale with scaler.update(...) behind every step",
            )
            continue
        stops.add(
            module,
            node,
            f"{name} changes what a level of apex does, torch.amp has no such choice",
            "leave it out, or write the casts by hand",
        )


def _level(start: Start, node: ast.expr | None, stops: Stops) -> None:
    module = start.module
    if node is None:
        return
    if isinstance(node, ast.Constant):
        start.level = str(node.value)
        if start.level not in _LEVELS:
            stops.add(
                module,
                node,
                f"opt_level {start.level}: all weights and computations are half, torch.amp has "
                "no such level",
                "choose O1, or call model.half() and leave amp out",
            )
        return
    if not is_plain(node):
        message = f"the level is computed: {module.text(node)}"
        stops.add(module, node, message, "decide for one level, or name it by a flag")
        return
    start.level, start.by_flag = module.text(node), True
    flag = flag_read(node, module)
    start.refuses = flag is None or not flag.choices or "O3" in flag.choices


def _scale(start: Start, node: ast.expr | None, stops: Stops) -> None:
    if node is None or (isinstance(node, ast.Constant) and node.value in (None, "dynamic")):
        return
    value: float | None = None
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float | str):
        try:
            value = float(node.value)
        except ValueError:
            value = None
    if value is None or value <= 0:
        stops.add(
            start.module,
            node,
            f"whether the loss scale {start.module.text(node)} is constant or dynamic is only "
            "known when the program runs",
            "write loss_scale='dynamic', or a number",
        )
        return
    start.scale = repr(value)


def _enabled(start: Start, node: ast.expr | None) -> None:
    module = start.module
    parts: list[str] = []
    if node is not None and not (isinstance(node, ast.Constant) and node.value is True):
        parts.append(as_bool(node, module))
    if start.by_flag and not any(
        module.text(one.test).replace('"', "'") == f"{start.level} != 'O0'"
        for one in ifs_around(module, start.call.node)
    ):
        parts.append(f'{start.level} != "O0"')
    start.enabled = " and ".join(parts)


def is_plain(node: ast.expr) -> bool:
    """Whether an expression only names something: `args.level`, `config["level"]`."""
    return all(
        isinstance(one, ast.Name | ast.Attribute | ast.Subscript | ast.Constant)
        for one in walk(node)
    ) and not isinstance(node, ast.Constant)


def as_bool(node: ast.expr, module: Module) -> str:
    """Return the text of a condition that is a truth value for certain."""
    text = module.text(node)
    if isinstance(node, ast.Compare) or (
        isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    ):
        return text
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        return text
    flag = flag_read(node, module)
    if flag is not None and (flag.action in ("store_true", "store_false") or flag.type == "bool"):
        return text
    return f"bool({text})"
