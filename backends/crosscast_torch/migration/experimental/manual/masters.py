"""Finds float32 copies of half weights and all their uses."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from crosscast_reading.pysource.names.lookup import bindings_of
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_torch.migration.experimental.apex.uses import Stops
from crosscast_torch.migration.experimental.manual.carrying import Carrying
from crosscast_torch.migration.experimental.manual.helpers import (
    GRADIENTS,
    HALF,
    LISTS,
    WEIGHTS,
    helper_of,
)

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module

_COPIES = frozenset({"clone", "detach", "float", "to", "type", "requires_grad_", "cuda"})
_CLEARS = re.compile(r"\.grad = None|\.grad\.(data\.)?zero_\(")


@dataclass(slots=True)
class Masters:
    """The copies of one model and the statements that maintain them."""

    module: Module
    home: ast.AST
    """The function or module that contains the loop."""
    statement: ast.Assign
    name: str
    model: str
    parameters: str
    """The half weights, as text."""
    halves_name: str = ""
    """The name of the list of half weights that `prep_param_lists` makes."""
    optimizer: ast.Assign | None = None
    given: ast.expr | None = None
    """The argument of the optimizer."""
    scale: ast.expr | None = None
    loss: ast.expr | None = None
    scaled: list[ast.stmt] = field(default_factory=list)
    """The statements that scale the loss and run the backward pass."""
    backward: ast.Call | None = None
    step: ast.Expr | None = None
    clips: list[ast.expr] = field(default_factory=list)
    """Uses of the copies in clipping calls."""
    gone: list[ast.stmt] = field(default_factory=list)
    halves: list[ast.Call] = field(default_factory=list)

    @property
    def optimizer_name(self) -> str:
        """The optimizer, as text."""
        return self.module.text(self.optimizer.targets[0]) if self.optimizer is not None else ""


def masters_in(module: Module) -> Iterator[Masters]:
    """Yield the float32 copies of weights that a module creates."""
    for statement in module.every(ast.Assign):
        home = module.function_of(statement) or module.tree
        match statement:
            case ast.Assign(
                targets=[ast.Tuple(elts=[ast.Name(id=halves), ast.Name(id=name)])],
                value=ast.Call() as call,
            ) if helper_of(module, call) == LISTS:
                model_name = module.text(call.args[0])
                weights = f"[p for p in {model_name}.parameters() if p.requires_grad]"
                yield Masters(module, home, statement, name, model_name, weights, halves)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.ListComp() as made):
                model = _copied(made)
                if model is None:
                    continue
                only = made.generators[0]
                weights = module.text(only.iter)
                if only.ifs:
                    target = module.text(only.target)
                    tests = "".join(f" if {module.text(condition)}" for condition in only.ifs)
                    weights = f"[{target} for {target} in {weights}{tests}]"
                yield Masters(module, home, statement, name, module.text(model), weights)


def _copied(made: ast.ListComp) -> ast.expr | None:
    """Return the model of `[p.detach().clone().float() for p in model.parameters()]`."""
    if len(made.generators) != 1 or not isinstance(made.generators[0].target, ast.Name):
        return None
    only = made.generators[0]
    match only.iter:
        case ast.Call(func=ast.Attribute(value=model, attr="parameters"), args=[]):
            pass
        case _:
            return None
    words: list[str] = []
    node: ast.expr = made.elt
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr not in _COPIES:
                return None
            words.append(node.func.attr)
            if any("float" in word or "Float" in word for word in _words(node.args)):
                words.append("float")
            node = node.func.value
        elif isinstance(node, ast.Attribute) and node.attr == "data":
            node = node.value
        else:
            return None
    assert isinstance(only.target, ast.Name)
    return model if node.id == only.target.id and "float" in words else None


def _words(nodes: list[ast.expr]) -> Iterator[str]:
    for node in nodes:
        for part in walk(node):
            if isinstance(part, ast.Attribute):
                yield part.attr


def understand(found: Masters, stops: Stops) -> None:
    """Analyze a loop's uses of the copies; report all but copies of gradients and weights."""
    module = found.module
    _halves(found, stops)
    _backward(found, stops)
    for node in module.every(ast.Name):
        if node.id != found.name or not isinstance(node.ctx, ast.Load):
            continue
        _use(found, node, stops)
    for node in module.every(ast.Name):
        other = node.id == found.halves_name and isinstance(node.ctx, ast.Load)
        if other and not any(node in walk(statement) for statement in found.gone):
            _stop(found, stops, node, f"{node.id} is used here for another purpose")
    if stops.refusals:
        return
    if found.optimizer is None:
        _stop(found, stops, found.statement, "no optimizer here uses the copies")
        return
    _step(found, stops)
    if not _is_there(found):
        assert found.scale is not None
        message = f"{module.text(found.scale)} is not defined before the optimizer is created"
        _stop(found, stops, found.optimizer, message)
    if not _is_cleared(found):
        message = (
            f"gradients of {found.model} are never cleared, so they accumulate over all batches"
        )
        _stop(found, stops, found.statement, message)
    if not stops.refusals:
        _conditions(found, stops)
        _carried(found, stops)


def _is_there(found: Masters) -> bool:
    """Whether the scale is known at the creation of the optimizer, where the scaler is created."""
    assert found.scale is not None
    assert found.optimizer is not None
    module, line = found.module, found.optimizer.lineno
    return not any(
        binding.scope.node is found.home
        and binding.kind != "parameter"
        and getattr(binding.node, "lineno", 0) > line
        for node in walk(found.scale)
        if isinstance(node, ast.Name)
        for binding in bindings_of(node.id, node, module)
    )


def _is_cleared(found: Masters) -> bool:
    """Whether the gradients of the half weights are cleared; otherwise they accumulate."""
    module = found.module
    for node in walk(found.home):
        if isinstance(node, ast.Call) and module.text(node.func) == f"{found.model}.zero_grad":
            return True
        over = isinstance(node, ast.For) and _is_over(node, found)
        if over and _CLEARS.search(module.text(node)):
            return True
    return False


def _is_over(loop: ast.For, found: Masters) -> bool:
    return found.module.text(loop.iter).startswith(f"{found.model}.parameters(")


def _stop(found: Masters, stops: Stops, node: ast.AST, message: str) -> None:
    stops.add(
        found.module,
        node,
        f"manual half precision: {message}",
        "wrap the forward pass in torch.amp.autocast, use a GradScaler, and pass the weights "
        "instead of their copies to the optimizer",
    )


def _halves(found: Masters, stops: Stops) -> None:
    module = found.module
    for call in module.calls:
        node = call.node
        plain = call.method == "half" and not node.args and call.receiver is not None
        if not plain and helper_of(module, node) != HALF:
            continue
        if (module.function_of(node) or module.tree) is not found.home:
            _stop(found, stops, node, f"{module.text(node)} is in another function")
        found.halves.append(node)


def _backward(found: Masters, stops: Stops) -> None:
    """Find `(loss * scale).backward()`, or `scaled = loss * scale` and `scaled.backward()`."""
    module = found.module
    calls = [
        node
        for node in walk(found.home)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "backward"
    ]
    if len(calls) != 1:
        _stop(found, stops, found.statement, "there is not exactly one backward pass here")
        return
    call = calls[0]
    statement = module.statement_of(call)
    assert isinstance(call.func, ast.Attribute)
    product: ast.expr = call.func.value
    if isinstance(product, ast.Name) and statement is not None:
        made = [
            node
            for node in walk(found.home)
            if isinstance(node, ast.Assign) and module.text(node.targets[0]) == product.id
        ]
        uses = [node for node in module.every(ast.Name) if node.id == product.id]
        if len(made) == 1 and len(uses) == 2:
            found.scaled.append(made[0])
            product = made[0].value
    if not isinstance(product, ast.BinOp) or not isinstance(product.op, ast.Mult):
        _stop(found, stops, call, "the loss is not multiplied directly before the backward pass")
        return
    loss, scale = product.left, product.right
    if _is_scale(found, loss):
        loss, scale = scale, loss
    if not _is_scale(found, scale) or not isinstance(statement, ast.Expr):
        _stop(found, stops, call, f"it is not certain that {module.text(scale)} is a constant")
        return
    found.loss, found.scale, found.backward = loss, scale, call
    found.scaled.append(statement)


def _is_scale(found: Masters, node: ast.expr) -> bool:
    """Whether an expression is a constant number or a name that always has one."""
    module = found.module
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float)
    if isinstance(node, ast.Attribute):
        text = module.text(node)
        return "scale" in node.attr.lower() and not any(
            isinstance(node.ctx, ast.Store) and module.text(node) == text
            for node in module.every(ast.Attribute)
        )
    return isinstance(node, ast.Name) and _is_set_once(node, module)


def _is_set_once(node: ast.Name, module: Module) -> bool:
    """Whether the only binding of a name assigns a literal number."""
    scope = module.scope_of(node).lookup(node.id)
    bindings = scope.bindings[node.id] if scope is not None else []
    if len(bindings) != 1 or bindings[0].kind != "assign":
        return False
    value = bindings[0].value
    if bindings[0].path and any(isinstance(node, ast.Starred) for node in walk(bindings[0].node)):
        return False  # the length of a starred target depends on the other targets
    for place in bindings[0].path:
        if not isinstance(value, ast.Tuple | ast.List) or place >= len(value.elts):
            return False
        value = value.elts[place]
    return (
        isinstance(value, ast.Constant)
        and isinstance(value.value, int | float)
        and not isinstance(value.value, bool)
    )


def _use(found: Masters, node: ast.Name, stops: Stops) -> None:
    module, parent = found.module, found.module.parent(node)
    loop = module.enclosing(node, ast.For)
    if loop is not None and any(part is node for part in walk(loop.iter)):
        if _carries(found, loop):
            found.gone.append(loop)
            return
    elif helper_of(module, parent) in (GRADIENTS, WEIGHTS):
        statement = module.statement_of(node)
        assert isinstance(parent, ast.Call)
        names = [module.text(argument) for argument in parent.args]
        if isinstance(statement, ast.Expr) and names == [found.halves_name, found.name]:
            found.gone.append(statement)
            return
    elif isinstance(parent, ast.Call) and parent.args[:1] == [node]:
        name = module.call(parent).name
        if name.startswith("torch.nn.utils.clip_grad"):
            found.clips.append(node)
            return
        statement = module.statement_of(parent)
        made = isinstance(statement, ast.Assign) and statement.value is parent
        if made and name.startswith(("torch.optim.", "transformers.")) and found.optimizer is None:
            assert isinstance(statement, ast.Assign)
            found.optimizer, found.given = statement, node
            return
    _stop(found, stops, node, f"{found.name} is used here for another purpose")


def _carries(found: Masters, loop: ast.For) -> bool:
    """Whether a loop only prepares the copies or copies gradients or weights."""
    weights = {f"{found.model}.parameters()", found.parameters, found.halves_name} - {""}
    scale = found.module.text(found.scale) if found.scale is not None else ""
    return Carrying(found.module, found.name, weights, scale).is_carrying(loop)


def _conditions(found: Masters, stops: Stops) -> None:
    """Report what goes, but happens under another condition than the step of the optimizer."""
    module = found.module
    assert found.step is not None
    usual = [*_ifs(found, found.step), *_ifs(found, found.statement)]
    for node in (*found.gone, *found.halves):
        if any(part not in usual for part in _ifs(found, node)):
            _stop(found, stops, node, f"this happens only under a condition: {module.text(node)}")


def _ifs(found: Masters, node: ast.AST) -> list[ast.AST]:
    """Return the conditions around a node that do not only ask for a scale."""
    module = found.module
    scale = module.text(found.scale) if found.scale is not None else ""
    here = module.parent(node)
    ifs: list[ast.AST] = []
    while here is not None and here is not found.home:
        if isinstance(here, ast.If | ast.IfExp | ast.While | ast.Try):
            asks = isinstance(here, ast.If) and module.text(here.test).startswith(f"{scale} ")
            if not asks:
                ifs.append(here)
        here = module.parent(here)
    return ifs


def _step(found: Masters, stops: Stops) -> None:
    module = found.module
    steps = [
        node
        for node in walk(found.home)
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and module.text(node.value) == f"{found.optimizer_name}.step()"
    ]
    if len(steps) != 1:
        _stop(found, stops, found.statement, "there is not exactly one step of the optimizer here")
        return
    found.step = steps[0]


def _carried(found: Masters, stops: Stops) -> None:
    """Check that gradients are copied once and divided by nothing but the scale."""
    assert found.scale is not None
    assert found.step is not None
    module, scale = found.module, found.module.text(found.scale)
    before = [statement for statement in found.gone if statement.lineno < found.step.lineno]
    grads = [
        statement
        for statement in before
        if ".grad" in module.text(statement) or GRADIENTS in module.text(statement)
    ]
    back = [
        statement
        for statement in found.gone
        if statement.lineno > found.step.lineno
        and ("copy_" in module.text(statement) or WEIGHTS in module.text(statement))
    ]
    divided = sum(
        module.text(node) == scale
        for statement in grads
        for node in walk(statement)
        if isinstance(node, ast.Name | ast.Attribute | ast.Constant)
    )
    numbers = [
        node
        for statement in grads
        for node in walk(statement)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, int | float)
        and not isinstance(node.value, bool)
        and node.value != 1
        and module.text(node) != scale
    ]
    if not grads or not back:
        message = (
            "gradients and weights are not copied to and from the float32 copies in plain loops"
        )
        _stop(found, stops, found.statement, message)
    elif divided != 1 or numbers:
        message = f"gradients are not divided exactly once by {scale} and by nothing else"
        _stop(found, stops, grads[0], message)
