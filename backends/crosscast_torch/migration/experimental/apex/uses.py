"""The uses of apex.amp in a program, and those that cannot be rewritten with certainty."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from crosscast_migrate.codemod import Refusal
from crosscast_reading.pysource.syntax.nodes import walk

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Function, Module
    from crosscast_reading.pysource.programs.program import Program

HOME = "apex.amp."
KNOWN = ("initialize", "scale_loss", "master_params", "state_dict", "load_state_dict")
_PATCHES = frozenset(
    {
        *("half_function", "float_function", "promote_function", "register_half_function"),
        *("register_float_function", "register_promote_function"),
    }
)
REGISTERED = "register_half_function"
HALF_ANYWAY = frozenset({"einsum", "matmul", "bmm", "mm"})
"""Functions of torch that autocast runs in half anyway; einsum if it multiplies matrices."""
_WITH = ("loss", "optimizers", "loss_id", "delay_unscale")


@dataclass(slots=True)
class Stops:
    """Reasons why a loop is not migrated; empty if it can be migrated."""

    refusals: list[Refusal] = field(default_factory=list)

    def add(self, module: Module, node: ast.AST, message: str, hint: str) -> None:
        """Add a reason."""
        refusal = Refusal(span=module.span(node), message=message, hint=hint)
        if refusal not in self.refusals:
            self.refusals.append(refusal)


@dataclass(frozen=True, slots=True, eq=False)
class Test:
    """The condition under which a loss is scaled: `args.fp16`."""

    node: ast.If
    text: str
    holds: bool
    """False if the loss is scaled in the else branch."""


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """One backward pass of a scaled loss, such as `with amp.scale_loss(...)`."""

    call: Call
    node: ast.stmt
    loss: ast.expr
    optimizers: tuple[str, ...]
    """As the source writes them."""
    backward: ast.Call
    test: Test | None
    rest: tuple[ast.stmt, ...] = ()
    """Statements of the block that work with the scaled gradients."""

    @property
    def module(self) -> Module:
        """Module of the statement."""
        return self.call.module

    @property
    def function(self) -> Function | None:
        """Enclosing function."""
        return self.module.function_of(self.node)


@dataclass(slots=True)
class Uses:
    """All calls of apex.amp in a program."""

    calls: dict[str, list[Call]] = field(default_factory=dict)
    sites: list[Site] = field(default_factory=list)

    def of(self, word: str) -> list[Call]:
        """Return the calls of one function of apex.amp."""
        return self.calls.get(word, [])

    def modules(self) -> list[Module]:
        """Return the modules that call a function of apex.amp."""
        return list(dict.fromkeys(call.module for calls in self.calls.values() for call in calls))


def uses_of(program: Program, stops: Stops) -> Uses:
    """Return the calls of apex.amp in a program."""
    uses = Uses()
    for module in program.modules:
        for call in module.calls:
            names = [name for name in call.names if name.startswith(HOME)]
            if not names:
                continue
            word, _, rest = names[0].removeprefix(HOME).partition(".")
            if rest:
                continue  # a method of a returned object
            uses.calls.setdefault(word, []).append(call)
            if len(names) != len(call.names):
                others = ", ".join(name for name in call.names if name not in names)
                stops.add(
                    module,
                    call.node,
                    f"{module.text(call.node.func)} is {others} unless apex is installed",
                    "keep the branch with torch.amp and remove the one with apex",
                )
            elif word not in KNOWN and not _is_half_anyway(call, word):
                _unknown(module, call, word, stops)
    uses.sites = [site for call in uses.of("scale_loss") for site in _site(call, uses, stops)]
    return uses


def _is_half_anyway(call: Call, word: str) -> bool:
    """Whether a statement only registers a function that autocast runs in half anyway."""
    match call.node:
        case ast.Call(args=[home, ast.Constant(value=str(name))], keywords=[]):
            alone = isinstance(call.module.parent(call.node), ast.Expr)
            known = name in HALF_ANYWAY and call.module.resolve(home) == "torch"
            return word == REGISTERED and known and alone
    return False


def _unknown(module: Module, call: Call, word: str, stops: Stops) -> None:
    if word in _PATCHES:
        stops.add(
            module,
            call.node,
            f"amp.{word} adds a function to a list of apex; torch.amp has no such lists",
            "decorate the function with torch.amp.custom_fwd(cast_inputs=...), "
            "or cast the arguments in the function",
        )
        return
    if word == "disable_casts":
        message = "amp.disable_casts is a block without half precision"
        hint = 'write with torch.amp.autocast("cuda", enabled=False), and run again'
        stops.add(module, call.node, message, hint)
        return
    near = difflib.get_close_matches(word, KNOWN, n=1)
    hint = f"did you mean amp.{near[0]}?" if near else "migrate it to torch.amp by hand"
    what = "apex.amp has no" if near and word not in ("init", "handle") else "no successor of amp's"
    stops.add(module, call.node, f"{what} {word}", hint)


def _site(call: Call, uses: Uses, stops: Stops) -> Iterator[Site]:
    """Yield the `with` block of a call of `scale_loss`, if it has the usual form."""
    module = call.module
    node = module.statement_of(call.node)
    bound = call.bound()
    hint = "write `with amp.scale_loss(loss, optimizer) as scaled_loss: scaled_loss.backward()`"
    name = ""
    if isinstance(node, ast.With) and len(node.items) == 1:
        target = node.items[0].optional_vars
        if node.items[0].context_expr is call.node and isinstance(target, ast.Name):
            name = target.id
    if not name or not {"loss", "optimizers"} <= set(bound) or call.has_star:
        stops.add(module, call.node, "amp.scale_loss is not used in the usual form", hint)
        return
    assert isinstance(node, ast.With)
    if odd := [name for name in bound if name not in _WITH]:
        message = f"amp.scale_loss has {', '.join(odd)}, which GradScaler does not support"
        stops.add(module, call.node, message, "remove the argument or replace it by hand")
        return
    backward = _backward(node, name)
    if backward is None:
        message, hint = _not_backward(module, node, name)
        stops.add(module, node.body[0], message, hint)
        return
    rest = tuple(node.body[1:])
    for statement in rest:
        if not _may_stay_scaled(statement, name):
            stops.add(
                module,
                statement,
                f"this is in the block of amp.scale_loss, after {name}.backward(): gradients are "
                "still scaled here",
                "move it after the block unless it needs scaled gradients",
            )
            return
    loss = bound["loss"]
    if any(isinstance(node, ast.Call) and not is_light(node) for node in walk(loss)):
        message = "the loss is computed in the call of amp.scale_loss"
        stops.add(module, call.node, message, "assign it to a variable first")
        return
    optimizers = _parts(module, bound["optimizers"])
    if not optimizers:
        message = f"the optimizers in {module.text(bound['optimizers'])} are not visible here"
        stops.add(module, call.node, message, "name the optimizers in the call")
        return
    if _named_elsewhere(module, node, name):
        message = f"{name} is used after its block"
        stops.add(module, node, message, "use the unscaled loss")
        return
    yield Site(call, node, loss, optimizers, backward, test_of(module, node, uses), rest)


def _backward(node: ast.With, name: str) -> ast.Call | None:
    match node.body[0]:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=who))) as call):
            plain = not call.args and all(k.arg and k.arg != "gradient" for k in call.keywords)
            method = call.func.attr  # type: ignore[attr-defined]
            return call if who == name and method == "backward" and plain else None
    return None


def _not_backward(module: Module, node: ast.With, name: str) -> tuple[str, str]:
    """Return what is wrong with the first statement of a block, and what to do."""
    match node.body[0]:
        case ast.Expr(
            value=ast.Call(func=ast.Attribute(value=ast.Name(id=who), attr="backward")) as call
        ) if who == name:
            given = ", ".join(module.text(part) for part in (*call.args, *call.keywords))
            return (
                f"{name}.backward is called with {given}, which is not carried over",
                "write out its arguments; retain_graph and create_graph are carried over",
            )
    return (
        f"the block of amp.scale_loss does not begin with {name}.backward()",
        f"call {name}.backward() first, and move the other statements out of the block",
    )


def _may_stay_scaled(statement: ast.stmt, name: str) -> bool:
    """Whether a statement only exchanges scaled gradients between processes."""
    words = {
        node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
        for node in walk(statement)
        if isinstance(node, ast.Attribute | ast.Name)
    }
    leaves = any(
        isinstance(node, ast.Break | ast.Continue | ast.Return | ast.Yield)
        for node in walk(statement)
    )
    reduces = any("reduce" in word or word == "div_" for word in words)
    gathers = isinstance(statement, ast.Assign) and "grad" in words
    wrong = words & {name, "amp", "step", "backward", "zero_grad"}
    return (reduces or gathers) and not leaves and not wrong


def is_light(call: ast.Call) -> bool:
    """Whether a call only takes a mean or a sum."""
    return isinstance(call.func, ast.Attribute) and call.func.attr in ("mean", "sum", "float")


def _parts(module: Module, node: ast.expr) -> tuple[str, ...]:
    """Return the optimizers of an argument as texts; empty if they cannot be separated."""
    found = node.elts if isinstance(node, ast.List | ast.Tuple) else [node]
    plain = all(isinstance(node, ast.Name | ast.Attribute | ast.Subscript) for node in found)
    return tuple(module.text(node) for node in found) if plain else ()


def _named_elsewhere(module: Module, node: ast.With, name: str) -> bool:
    """Whether the scaled loss is read outside of the blocks that define it."""
    home = module.function_of(node) or module.tree
    for use in walk(home):
        if isinstance(use, ast.Name) and use.id == name and isinstance(use.ctx, ast.Load):
            here = module.enclosing(use, ast.With)
            while here is not None and not _makes(here, name):
                here = module.enclosing(here, ast.With)
            if here is None:
                return True
    return False


def _makes(node: ast.With, name: str) -> bool:
    return any(
        isinstance(item.optional_vars, ast.Name) and item.optional_vars.id == name
        for item in node.items
    )


def test_of(module: Module, node: ast.stmt, uses: Uses) -> Test | None:
    """Return the condition that chooses between a scaled and a plain backward pass."""
    started = {starting.text(branch.test) for starting, branch in starting_ifs(uses)}
    child: ast.AST = node
    here = module.parent(node)
    while here is not None and not isinstance(
        here, ast.For | ast.While | ast.FunctionDef | ast.AsyncFunctionDef
    ):
        if isinstance(here, ast.If):
            holds = child in here.body
            other = here.orelse if holds else here.body
            plain = any(
                isinstance(node, ast.Attribute)
                and node.attr == "backward"
                and not _is_scaled(module, node)
                for statement in other
                for node in walk(statement)
            )
            text = module.text(here.test)
            if plain or text in started:
                return Test(here, text, holds)
        child, here = here, module.parent(here)
    return None


def _is_scaled(module: Module, node: ast.Attribute) -> bool:
    around = module.enclosing(node, ast.With)
    return around is not None and any(
        isinstance(node, ast.Attribute | ast.Name) and "scale_loss" in module.text(node)
        for item in around.items
        for node in walk(item.context_expr)
    )


def starting_ifs(uses: Uses) -> list[tuple[Module, ast.If]]:
    """Return the conditions under which apex is initialized."""
    return [
        (call.module, branch)
        for call in uses.of("initialize")
        for branch in ifs_around(call.module, call.node)
    ]


def ifs_around(module: Module, node: ast.AST) -> Iterator[ast.If]:
    """Yield the `if` statements around a node in its function, innermost first."""
    here = module.parent(node)
    while here is not None and not isinstance(here, ast.FunctionDef | ast.AsyncFunctionDef):
        if isinstance(here, ast.If):
            yield here
        here = module.parent(here)
