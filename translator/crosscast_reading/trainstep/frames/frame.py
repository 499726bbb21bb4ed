"""A function during a walk: the values of its names as seen from its callers."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.values.value import Unknown, Value

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Function, Module
    from crosscast_reading.pysource.programs.scopes import Scope

MAX_HOPS = 12


@dataclass(frozen=True, slots=True)
class Reference:
    """An expression, and the frame that its names are to be read in."""

    node: ast.expr
    frame: CallFrame
    under: tuple[object, ...] = ()
    """Conditions that an assignment stands under."""
    depth: int = 0
    """Number of loops around an assignment."""


class CallFrame:
    """One call of a function (or the run of a module body)."""

    __slots__ = (
        "bound",
        "call",
        "caller",
        "choices",
        "function",
        "latest",
        "live",
        "losses",
        "module",
        "names",
        "outer",
        "owner",
        "returned",
        "scope",
    )

    def __init__(
        self,
        module: Module,
        function: Function | ast.Lambda | None,
        *,
        caller: CallFrame | None = None,
        call: ast.Call | None = None,
        outer: CallFrame | None = None,
        owner: str = "",
    ) -> None:
        self.module = module
        self.function = function
        self.caller = caller
        self.call = call
        self.outer = outer
        """Frame of the function it is defined in, if that is known."""
        self.owner = owner
        """What `self` is called where the program starts."""
        self.bound: dict[str, Reference] = {}
        """Arguments of the call by parameter."""
        self.latest: dict[str, Reference] = {}
        """What was assigned last, in order of execution."""
        self.choices: dict[str, list[Reference]] = {}
        """Everything that was assigned so far."""
        self.names: dict[str, str] = {}
        """Names of variables as the program's start would call them."""
        self.losses: dict[str, object] = {}
        self.live: dict[str, bool | None] = {}
        """Whether a variable holds a loss with its graph; None: no loss."""
        self.returned: list[object] = []
        self.scope: Scope = module.scopes.get(function or module.tree) or module.scope

    @property
    def self_name(self) -> str:
        """Name of the first parameter of a method."""
        return self.scope.self_name

    def find(self, name: str) -> Reference | None:
        """Return the value of a name: last assignment, argument, or that of the outer scope."""
        reference = self.latest.get(name) or self.bound.get(name)
        if reference is not None:
            return reference
        if self.outer is not None and name not in self.scope.bindings:
            return self.outer.find(name)
        home = self.scope.lookup(name)
        if home is None:
            return None
        known = [b for b in home.bindings[name] if b.kind == "assign" and b.value is not None]
        if len(known) == 1 and not known[0].path and len(home.bindings[name]) == 1:
            value = known[0].value
            assert value is not None
            return Reference(value, self if home is self.scope else bare(self.module, home))
        return None

    def all(self, name: str) -> list[Reference]:
        """Return everything that a name may stand for here."""
        choices = self.choices.get(name)
        if choices:
            return choices
        reference = self.find(name)
        return [reference] if reference is not None else []

    def assign(
        self, name: str, value: ast.expr, under: tuple[object, ...] = (), depth: int = 0
    ) -> None:
        """Note an assignment; those before it that it always replaces are forgotten."""
        reference = Reference(value, self, under, depth)
        simple = is_path(value)
        self.names[name] = canonical(value, self) if simple else name
        self.latest[name] = reference
        before = self.choices.get(name)
        kept = [r for r in before if r.under[: len(under)] != under] if before else []
        kept.append(reference)
        self.choices[name] = kept

    def value(self, node: ast.expr) -> Value:
        """Return the value of an expression, arguments of the calls that led here put in."""
        return value_of(node, self)

    def forget(self, name: str) -> None:
        """Note that a name got a value that is not to be known."""
        self.names[name] = name
        self.latest.pop(name, None)


def bare(module: Module, scope: Scope) -> CallFrame:
    """Return the frame of a scope without known callers."""
    node = scope.node if isinstance(scope.node, _FUNCTIONS) else None
    return CallFrame(module, node)


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def is_path(node: ast.expr) -> bool:
    """Whether an expression is `a`, `a.b` or `a["b"]`."""
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Constant):
            return False
        if not isinstance(node, ast.Attribute | ast.Subscript):
            return False
        node = node.value
    return True


def canonical(node: ast.expr, frame: CallFrame, depth: int = 0) -> str:
    """Return an expression in the words of the outermost caller: `optimizer`, `self.scaler`."""
    if depth > MAX_HOPS:
        return frame.module.text(node)
    if isinstance(node, ast.Name):
        return _canonical_name(node.id, frame, depth)
    if isinstance(node, ast.Attribute):
        return f"{canonical(node.value, frame, depth + 1)}.{node.attr}"
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return f"{canonical(node.value, frame, depth + 1)}[{node.slice.value!r}]"
    return frame.module.text(node)


def counter_name(node: ast.expr, frame: CallFrame) -> str:
    """Return the name of a variable that holds a number: not that of where it came from."""
    return node.id if isinstance(node, ast.Name) else canonical(node, frame)


def _canonical_name(name: str, frame: CallFrame, depth: int) -> str:
    if name == frame.self_name and frame.owner:
        return frame.owner
    known = frame.names.get(name)
    if known is not None:
        return known
    argument = frame.bound.get(name)
    if argument is not None:
        if is_path(argument.node):
            return canonical(argument.node, argument.frame, depth + 1)
        return name
    if frame.outer is not None and name not in frame.scope.bindings:
        return _canonical_name(name, frame.outer, depth + 1)
    return name


def value_of(node: ast.expr, frame: CallFrame, depth: int = 0) -> Value:
    """Return the value of an expression, arguments of the calls that led here put in."""
    value = evaluate(node, frame.module)
    if not isinstance(value, Unknown) or depth > MAX_HOPS:
        return value
    if isinstance(node, ast.Name):
        argument = frame.bound.get(node.id)
        if argument is not None and node.id not in frame.latest:
            return value_of(argument.node, argument.frame, depth + 1)
        if node.id in frame.names and frame.latest.get(node.id) is not None:
            last = frame.latest[node.id]
            if last.node is not node and is_path(last.node):
                return value_of(last.node, last.frame, depth + 1)
        if frame.outer is not None and node.id not in frame.scope.bindings:
            return value_of(node, frame.outer, depth + 1) if depth < MAX_HOPS else value
    match node:
        case ast.Call(func=ast.Name(id="int" | "float"), args=[first]):
            return value_of(first, frame, depth + 1)
    return value
