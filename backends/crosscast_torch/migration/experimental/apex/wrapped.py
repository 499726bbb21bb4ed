"""Optimizers wrapped by apex's FP16_Optimizer, and everything a program does with them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from crosscast_migrate.codemod import Refusal
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_torch.migration.experimental.apex.halves import (
    WRAPPERS,
    casts_in,
    is_apart,
    is_guarded,
)
from crosscast_torch.migration.experimental.apex.scaler_creation import Start
from crosscast_torch.migration.experimental.apex.uses import (
    Site,
    Stops,
    Uses,
    ifs_around,
    is_light,
    test_of,
)
from crosscast_torch.migration.experimental.apex.wrapped_scale import (
    WrappedScale,
    given_to,
    scale_of,
)

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

FUSED = ("apex.optimizers.", "apex.contrib.optimizers.")
"""Homes of the variant for the old FusedAdam."""
_HOMES = ("apex.fp16_utils.", "apex.fp16_optimizer.", *FUSED)
WRAPPER = "FP16_Optimizer"
"""Name of the class."""
_SAME = frozenset({"zero_grad", "state_dict", "load_state_dict", "step", "add_param_group"})
_TAKEN = frozenset({"backward", "clip_master_grads", "update_master_grads"})
_SCALE = frozenset({"loss_scale", "loss_scaler.loss_scale", "loss_scaler.cur_scale", "cur_scale"})
_OWN = frozenset(
    {
        *("overflow", "loss_scaler", "optimizer", "fp32_from_fp16_groups", "fp16_groups"),
        *("fp32_from_fp32_groups", "fp32_groups", "inspect_master_grad_data", "cur_iter"),
        *("all_fp16_params", "all_fp32_from_fp16_params", "dynamic_loss_scale"),
    }
)
_HINT = (
    "remove it and model.half(), wrap the forward pass in "
    'torch.amp.autocast("cuda", dtype=torch.float16), and use a GradScaler for the loss and the '
    "step"
)
_VARIANT_HINT = (
    "write torch.optim.AdamW in place of FusedAdam, clip with torch.nn.utils.clip_grad_norm_ in "
    "place of max_grad_norm, import FP16_Optimizer from apex.fp16_utils, and run again"
)


@dataclass(slots=True)
class Wrapped:
    """All uses of FP16_Optimizer in a program."""

    program: Program
    uses: Uses
    start: Start
    scale: WrappedScale
    clips: list[Call] = field(default_factory=list)
    """The calls of `clip_master_grads`."""
    updates: list[Call] = field(default_factory=list)
    """The calls of `update_master_grads`."""
    reads: list[tuple[Module, ast.Attribute]] = field(default_factory=list)
    """Reads of the loss scale."""
    halves: list[Call] = field(default_factory=list)
    """Casts that go: those of the model and of its inputs."""
    networks: list[Call] = field(default_factory=list)
    """Calls of `network_to_half` and the like."""

    @property
    def names(self) -> set[str]:
        """Last names of the wrapped optimizers."""
        return {name.rpartition(".")[2] for site in self.uses.sites for name in site.optimizers}


def is_wrapped(program: Program) -> bool:
    """Whether a program creates an FP16_Optimizer of apex."""
    return bool(_made(program))


def _made(program: Program) -> list[Call]:
    return [
        call
        for module in program.modules
        for call in module.calls
        if any(_is_class(name) for name in call.names)
    ]


def wrapped_in(program: Program, stops: Stops) -> Wrapped | None:
    """Return the uses of FP16_Optimizer; None without any, or if one must be decided about."""
    made = _made(program)
    if not made:
        return None
    first = made[0]
    for call in made:
        if call.name.startswith(FUSED):
            message = f"{WRAPPER} is the variant for the old FusedAdam, which clips by itself"
            stops.add(call.module, call.node, message, _VARIANT_HINT)
        elif call is not first:
            message = f"{WRAPPER} is created in several places"
            hint = "keep one place, with static_loss_scale=NUMBER, dynamic_loss_scale=CONDITION"
            stops.add(call.module, call.node, message, hint)
    found = _created(program, first, stops) if not stops.refusals else None
    if found is None:
        return None
    _methods(found, stops)
    if not found.uses.sites and not stops.refusals:
        message = f"no call of {WRAPPER}.backward in these files: the training loop is not known"
        stops.add(first.module, first.node, message, "pass the file with the loop, too")
    if not stops.refusals:
        _stars(program, stops)
        _attributes(found, stops)
        _halves(found, stops)
    return found


def never_made(program: Program) -> Iterator[Refusal]:
    """Yield where a program without FP16_Optimizer still imports or calls it.

    Only code that never runs creates it, such as that after `raise`, or nothing does.
    """
    for module in program.modules:
        locals_of = {local for local, name in module.imports.items() if _is_class(name)}
        if not locals_of:
            continue
        calls = [
            node
            for node in module.every(ast.Call)
            if isinstance(node.func, ast.Name)
            and node.func.id in locals_of
            and module.is_dead(node)
        ]
        if calls:
            yield Refusal(
                span=module.span(calls[0]),
                message=f"{WRAPPER} is created only by code that never runs",
                hint="if it should run, move it out of the block that ends before it, and run "
                "again; otherwise remove it with its import",
            )
            continue
        for statement in module.every(ast.ImportFrom):
            if any((alias.asname or alias.name) in locals_of for alias in statement.names):
                yield Refusal(
                    span=module.span(statement),
                    message=f"{WRAPPER} is imported, but certainly created in none of these files",
                    hint="pass the file that does, or remove the import",
                )
                break


def _stars(program: Program, stops: Stops) -> None:
    """Report calls that make a model half by a name that only `import *` brings."""
    for module in program.modules:
        stars = any(
            (statement.module or "").startswith("apex.fp16_utils")
            and any(alias.name == "*" for alias in statement.names)
            for statement in module.every(ast.ImportFrom)
        )
        for call in module.calls if stars else ():
            word = getattr(call.node.func, "id", "")
            if word in WRAPPERS and not call.name.startswith("apex."):
                hint = f"write `from apex.fp16_utils import {WRAPPER}, {word}`"
                stops.add(module, call.node, f"{word} is imported by *", hint)


def _is_class(name: str) -> bool:
    return name.startswith(_HOMES) and name.rpartition(".")[2] == WRAPPER


def _is_method(name: str) -> bool:
    owner, _, _ = name.rpartition(".")
    return _is_class(owner)


def _created(program: Program, call: Call, stops: Stops) -> Wrapped | None:
    module, statement = call.module, call.module.statement_of(call.node)
    given = given_to(call.node)
    if given is None or len(call.names) > 1:
        message = f"not all arguments of {WRAPPER} are visible here"
        stops.add(module, call.node, message, _HINT)
        return None
    match statement:
        case ast.Assign(targets=[ast.Name() | ast.Attribute() as target], value=value) if (
            value is call.node
        ):
            pass
        case _:
            message = f"the result of {WRAPPER} is not assigned to one name"
            stops.add(module, call.node, message, f"write `optimizer = {WRAPPER}(optimizer, ...)`")
            return None
    inner = module.text(given["init_optimizer"])
    start = Start(call, statement, level="O2")
    if module.text(target) != inner:
        start.kept.append(f"{module.text(target)} = {inner}")
    scale = scale_of(given, module, stops)
    start.given = scale.arguments
    return Wrapped(program, Uses(calls={"initialize": [call]}), start, scale)


def _methods(found: Wrapped, stops: Stops) -> None:
    """Sort the calls of methods of wrapped optimizers."""
    for module in found.program.modules:
        for call in module.calls:
            if not any(_is_method(name) for name in call.names):
                continue
            word = call.method
            if word == "backward":
                site = _site(found, call, stops)
                if site is not None:
                    found.uses.sites.append(site)
            elif word == "clip_master_grads":
                found.clips.append(call)
                statement = module.statement_of(call.node)
                if not isinstance(statement, ast.Expr | ast.Assign) or call.has_star:
                    message = "the result of clip_master_grads is used in an expression"
                    stops.add(module, call.node, message, "assign it to a variable first")
            elif word == "update_master_grads":
                found.updates.append(call)
                if not isinstance(module.statement_of(call.node), ast.Expr):
                    message = "update_master_grads is used in an expression"
                    stops.add(module, call.node, message, "put it in a line of its own")
            elif word == "zero_grad" and (call.node.args or call.node.keywords):
                message = "zero_grad of FP16_Optimizer has an argument that torch lacks"
                stops.add(module, call.node, message, "write optimizer.zero_grad()")
            elif word not in _SAME:
                message = f"{WRAPPER}.{word} has no equivalent in torch.amp"
                stops.add(module, call.node, message, _HINT)


def _site(found: Wrapped, call: Call, stops: Stops) -> Site | None:
    module, node = call.module, call.module.statement_of(call.node)
    hint = "write `optimizer.backward(loss)` in a line of its own"
    given = {keyword.arg: keyword for keyword in call.node.keywords}
    loss = call.node.args[0] if call.node.args else None
    if loss is None and "loss" in given:
        loss = given.pop("loss").value
    known = set(given) <= {"update_master_grads", "retain_graph"} and len(call.node.args) < 2
    if not isinstance(node, ast.Expr) or node.value is not call.node or loss is None or not known:
        stops.add(module, call.node, f"{WRAPPER}.backward is not used in the usual form", hint)
        return None
    if any(isinstance(part, ast.Call) and not is_light(part) for part in walk(loss)):
        message = f"the loss is computed in the call of {WRAPPER}.backward"
        stops.add(module, call.node, message, "assign it to a variable first")
        return None
    kept = [keyword for word, keyword in given.items() if word == "retain_graph"]
    backward = ast.copy_location(ast.Call(func=call.node.func, args=[], keywords=kept), call.node)
    test = test_of(module, node, found.uses)
    return Site(call, node, loss, (call.receiver_text,), backward, test)


def _attributes(found: Wrapped, stops: Stops) -> None:
    """Find reads of the loss scale; report other attributes of the wrapper."""
    for module in found.program.modules:
        for node in module.every(ast.Attribute):
            parent = module.parent(node)
            if isinstance(parent, ast.Attribute) and parent.value is node:
                continue
            owner, words = node.value, node.attr
            while isinstance(owner, ast.Attribute) and owner.attr not in found.names:
                words = f"{owner.attr}.{words}"
                owner = owner.value
            if _last(owner) not in found.names:
                continue
            if words in _SCALE and isinstance(node.ctx, ast.Load):
                found.reads.append((module, node))
            elif words.partition(".")[0] in _OWN:
                message = f"{module.text(node)} is a part of {WRAPPER} that torch.amp lacks"
                stops.add(module, node, message, _HINT)


def _halves(found: Wrapped, stops: Stops) -> None:
    """Find the casts to half that go, and check that they go under the same conditions."""
    program, start = found.program, found.start
    homes = [(site.module, site.function) for site in found.uses.sites]
    homes.append((start.module, start.module.function_of(start.statement)))
    models = _models(found)
    for call in casts_in(program):
        if is_guarded(call) or is_apart(call, homes, models):
            continue
        if call.module.class_of(call.node) is not None and not any(
            call.module.function_of(call.node) is home for _, home in homes
        ):
            message = f"{call.module.text(call.node)} casts to half in the code of a model"
            stops.add(call.module, call.node, message, "remove the cast: autocast makes it")
            continue
        found.halves.append(call)
    for module in program.modules:
        for call in module.calls:
            word = call.name.rpartition(".")[2]
            if word in WRAPPERS and call.name.startswith("apex.fp16_utils.") and call.node.args:
                found.networks.append(call)
    makers = [call for call in found.halves if _last(call.receiver) in models] + found.networks
    makers = makers or found.halves
    if not makers:
        message = f"no model is made half in these files, although {WRAPPER} expects one"
        stops.add(start.module, start.call.node, message, "pass the file that makes it half, too")
        return
    wanted = _words(start.module, start.statement)
    for call in makers:
        words = _words(call.module, call.node)
        if bool(words) != bool(wanted) or (words and not words & wanted):
            stops.add(
                call.module,
                call.node,
                f"the model is made half under another condition than {WRAPPER}",
                "put both under one condition",
            )


def _models(found: Wrapped) -> set[str]:
    """Return the names of what is called in training functions as a model may be."""
    names: set[str] = set()
    for call in casts_in(found.program):
        names.add(_last(call.receiver))
    called = {
        _last(node.func)
        for site in found.uses.sites
        for node in walk(site.function or site.module.tree)
        if isinstance(node, ast.Call)
    }
    return names & called | {"model", "net", "network"}


def _last(node: ast.expr | None) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _words(module: Module, node: ast.AST) -> set[str]:
    """Return the names in the conditions around a node."""
    return {
        module.text(part)
        for branch in ifs_around(module, node)
        for part in walk(branch.test)
        if isinstance(part, ast.Attribute | ast.Subscript)
        or (isinstance(part, ast.Name) and not isinstance(module.parent(part), ast.Attribute))
    }
