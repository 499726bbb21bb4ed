"""Scopes and what binds names in them; one pass over the tree finds everything of the kind."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module

BindingKind = Literal[
    "import",
    "assign",
    "augment",
    "declare",
    "function",
    "class",
    "parameter",
    "loop",
    "with",
    "other",
]
Path = tuple[int | str, ...]
ScopeNode = (
    ast.Module
    | ast.FunctionDef
    | ast.AsyncFunctionDef
    | ast.ClassDef
    | ast.Lambda
    | ast.ListComp
    | ast.SetComp
    | ast.DictComp
    | ast.GeneratorExp
)

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Binding:
    """One place that gives a name (or `self.x`, `cfg.a.b`, `d["a"]`) a value."""

    __slots__ = ("kind", "node", "path", "scope", "target", "value")

    def __init__(
        self,
        kind: BindingKind,
        node: ast.AST,
        scope: Scope,
        value: ast.expr | None = None,
        path: tuple[int, ...] = (),
        target: str = "",
    ) -> None:
        self.kind: BindingKind = kind
        self.node = node
        """The statement, or the target within it."""
        self.scope = scope
        """Where it is written (not where the name lives, if that is `global`)."""
        self.value = value
        """What is assigned; what is iterated over; what is entered."""
        self.path = path
        """Position in the value: `b` of `a, b = f()` has (1,)."""
        self.target = target
        """Qualified name of what is imported."""

    @property
    def module(self) -> Module:
        """The module it is written in."""
        return self.scope.module

    @property
    def assigned(self) -> ast.expr | None:
        """What an assignment gives as a whole: `x` of `name = x`; None for `a, name = x`."""
        return self.value if self.kind == "assign" and not self.path else None


class Scope:
    """A module, class, function, lambda or comprehension."""

    __slots__ = (
        "attributes",
        "bindings",
        "generator",
        "module",
        "node",
        "outer",
        "owner",
        "parent",
        "paths",
        "qualname",
        "returns",
        "self_name",
    )

    def __init__(
        self, node: ScopeNode, parent: Scope | None, module: Module, qualname: str
    ) -> None:
        self.node = node
        self.parent = parent
        self.module = module
        self.qualname = qualname
        """Name within the module: `Trainer.step`; empty for the module."""
        self.bindings: dict[str, list[Binding]] = {}
        self.outer: dict[str, Scope] = {}
        """Names declared global or nonlocal, and the scope they live in."""
        self.returns: list[ast.Return] = []
        self.generator = False
        self.attributes: dict[str, list[Binding]] = {}
        """Of a class: what its methods assign to `self.x`."""
        self.owner: Scope | None = None
        """Of a function: the class it is a method of, or that of the method around it."""
        self.self_name = ""
        """Name by which a function knows the instance of `owner`."""
        self.paths: dict[tuple[str, Path], list[Binding]] = {}
        """`cfg.a.b = v` and `d["k"] = v`: root name and path."""

    @property
    def is_class(self) -> bool:
        """Whether names of it are hidden from the functions within."""
        return isinstance(self.node, ast.ClassDef)

    @property
    def is_function(self) -> bool:
        """Whether it is a `def`."""
        return isinstance(self.node, ast.FunctionDef | ast.AsyncFunctionDef)

    def home(self, name: str) -> Scope:
        """Return the scope that a name assigned here lives in."""
        return self.outer.get(name, self)

    def bind(self, name: str, binding: Binding) -> None:
        """Note a binding."""
        home = self.outer.get(name, self)
        bindings = home.bindings.get(name)
        if bindings is None:
            home.bindings[name] = [binding]
        else:
            bindings.append(binding)

    def lookup(self, name: str) -> Scope | None:
        """Return the scope whose `name` is meant here."""
        scope: Scope | None = self
        first = True
        while scope is not None:
            if (first or not scope.is_class) and name in scope.bindings:
                return scope
            outer = scope.outer.get(name)
            if outer is not None:
                return outer
            scope, first = scope.parent, False
        return None


def path_of(node: ast.expr) -> tuple[str, Path] | None:
    """Return root name and path of `a.b["c"][0]`; None if it is anything else."""
    parts: list[int | str] = []
    here = node
    while True:
        if isinstance(here, ast.Attribute):
            parts.append(here.attr)
            here = here.value
        elif isinstance(here, ast.Subscript):
            key = here.slice
            if not isinstance(key, ast.Constant) or not isinstance(key.value, str | int):
                return None
            parts.append(key.value)
            here = here.value
        elif isinstance(here, ast.Name):
            return (here.id, tuple(reversed(parts)))
        else:
            return None


def scope_of(node: ast.AST, module: Module) -> Scope:
    """Return the scope in which a node is evaluated."""
    before: ast.AST | None = None
    child, here = node, module.parents.get(node)
    while here is not None:
        scope = module.scopes.get(here)
        if scope is not None and _evaluated_within(scope, child, before):
            return scope
        before, child, here = child, here, module.parents.get(here)
    return module.scope


def _evaluated_within(scope: Scope, child: ast.AST, before: ast.AST | None) -> bool:
    node = scope.node
    if isinstance(node, ast.Module):
        return True
    if isinstance(node, ast.Lambda):
        return child is node.body
    if isinstance(node, COMPREHENSIONS):
        first = node.generators[0]
        return not (child is first and before is first.iter)
    return isinstance(child, ast.stmt)
