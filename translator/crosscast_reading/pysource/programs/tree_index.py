"""The one pass over a tree: parents, scopes, bindings, calls, dead statements."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from crosscast_reading.pysource.programs.scopes import (
    Binding,
    BindingKind,
    Scope,
    ScopeNode,
    path_of,
)
from crosscast_reading.pysource.syntax.dead_code import constant_truth, dead_rest

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module

_PLAIN_FIELDS = frozenset(
    {
        *("ctx", "op", "ops", "id", "attr", "arg", "name", "names", "module", "level", "simple"),
        *("is_async", "conversion", "type_comment", "kind", "type_ignores", "rest", "kwd_attrs"),
    }
)
"""Fields that hold texts, numbers or operators."""
_FIELDS: dict[type[ast.AST], tuple[str, ...]] = {}
_LEAVES = frozenset({ast.Name, ast.Constant, ast.Pass, ast.Break, ast.Continue, ast.arg})
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_BLOCKS = frozenset(
    {
        *(ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.If, ast.For),
        *(ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.ExceptHandler),
        *(ast.match_case, ast.TryStar),
    }
)


def _fields(kind: type[ast.AST]) -> tuple[str, ...]:
    fields = tuple(
        f
        for f in kind._fields
        if (f not in _PLAIN_FIELDS and kind is not ast.MatchSingleton)
        or (kind is ast.arg and f == "annotation")
        or (kind in (ast.keyword,) and f == "value")
    )
    _FIELDS[kind] = fields
    return fields


class Indexer:
    """Fills the tables of a module."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.parents = module.parents
        self.scopes = module.scopes
        self.dead = module.dead
        self.call_nodes: list[ast.Call] = []
        self.handlers: dict[type[ast.AST], Any] = {
            ast.Assign: self._assign,
            ast.AnnAssign: self._annotated,
            ast.AugAssign: self._augmented,
            ast.NamedExpr: self._named,
            ast.For: self._for,
            ast.AsyncFor: self._for,
            ast.withitem: self._with,
            ast.ExceptHandler: self._except,
            ast.Import: self._import,
            ast.ImportFrom: self._import_from,
            ast.Global: self._global,
            ast.Nonlocal: self._nonlocal,
            ast.Return: self._return,
            ast.Yield: self._yield,
            ast.YieldFrom: self._yield,
            ast.comprehension: self._comprehension,
            ast.MatchAs: self._match,
            ast.MatchStar: self._match,
        }

    def run(self) -> None:
        """Walk; iteratively, so that depth costs no stack."""
        tree = self.module.tree
        top = Scope(tree, None, self.module, "")
        self.scopes[tree] = top
        stack: list[tuple[ast.AST, Scope | None]] = [(tree, top)]
        parents: dict[Any, ast.AST] = self.parents
        handlers, fields_of, dead = self.handlers, _FIELDS, self.dead
        pop, extend = stack.pop, stack.extend
        while stack:
            node, scope = pop()
            kind = node.__class__
            inner = scope
            if scope is not None:
                if kind is ast.Call:
                    self.call_nodes.append(node)  # type: ignore[arg-type]
                else:
                    handler = handlers.get(kind)
                    if handler is not None:
                        handler(node, scope)
                    elif kind in _SCOPED:
                        inner = self._open(node, scope)  # type: ignore[arg-type]
                if kind in _BLOCKS:
                    self._mark_dead(node)
            children: list[tuple[ast.AST, Scope | None]] = []
            for name in fields_of.get(kind) or _fields(kind):
                value: Any = getattr(node, name, None)
                if value is None:
                    continue
                if value.__class__ is list:
                    into = inner if name in _INNER else scope
                    child: Any
                    for child in value:
                        if child.__class__ in _LEAVES:
                            parents[child] = node
                        elif child is not None:
                            parents[child] = node
                            children.append((child, None if child in dead else into))
                elif value.__class__ in _LEAVES:
                    parents[value] = node
                else:
                    parents[value] = node
                    children.append((value, inner if name in _INNER else scope))
            if kind is ast.arguments:
                self._annotations(node, children, scope)
            children.reverse()
            extend(children)
        self.call_nodes.sort(key=lambda n: (n.lineno, n.col_offset))

    def _annotations(
        self,
        node: ast.AST,
        children: list[tuple[ast.AST, Scope | None]],
        scope: Scope | None,
    ) -> None:
        assert isinstance(node, ast.arguments)
        for argument in (*node.posonlyargs, *node.args, node.vararg, *node.kwonlyargs, node.kwarg):
            if argument is not None and argument.annotation is not None:
                self.parents[argument.annotation] = argument
                if argument.annotation.__class__ not in _LEAVES:
                    children.append((argument.annotation, scope))

    def _mark_dead(self, node: Any) -> None:
        kind = node.__class__
        if kind is ast.If or kind is ast.While:
            truth = constant_truth(node.test)
            if truth is False:
                self.dead.update(node.body)
            elif truth is True and kind is ast.If:
                self.dead.update(node.orelse)
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if block and len(block) > 1:
                rest = dead_rest(block)
                if rest:
                    self.dead.update(rest)

    def _open(self, node: ScopeNode, outer: Scope) -> Scope:
        module = self.module
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            qualname = f"{outer.qualname}.{node.name}" if outer.qualname else node.name
            scope = Scope(node, outer, module, qualname)
            if isinstance(node, ast.ClassDef):
                module.classes.setdefault(qualname, node)
                outer.bind(node.name, Binding("class", node, outer))
            else:
                module.functions.setdefault(qualname, node)
                outer.bind(node.name, Binding("function", node, outer))
                self._parameters(node.args, scope)
                _adopt(node, scope, outer)
        else:
            scope = Scope(node, outer, module, outer.qualname)
            scope.owner, scope.self_name = outer.owner, outer.self_name
            if isinstance(node, ast.Lambda):
                self._parameters(node.args, scope)
        self.scopes[node] = scope
        return scope

    def _parameters(self, args: ast.arguments, scope: Scope) -> None:
        for argument in (*args.posonlyargs, *args.args, args.vararg, *args.kwonlyargs, args.kwarg):
            if argument is not None:
                scope.bind(argument.arg, Binding("parameter", argument, scope))

    def _target(
        self,
        target: ast.AST,
        value: ast.expr | None,
        scope: Scope,
        kind: BindingKind,
        node: ast.AST,
        path: tuple[int, ...] = (),
    ) -> None:
        if isinstance(target, ast.Name):
            scope.bind(target.id, Binding(kind, node, scope, value, path))
        elif isinstance(target, ast.Tuple | ast.List):
            for place, element in enumerate(target.elts):
                if isinstance(element, ast.Starred):
                    self._target(element.value, None, scope, "other", node)
                else:
                    self._target(element, value, scope, kind, node, (*path, place))
        elif isinstance(target, ast.Attribute | ast.Subscript):
            key = path_of(target)
            if key is None:
                return
            binding = Binding(kind, node, scope, value, path)
            root, parts = key
            if root == scope.self_name and scope.owner is not None and len(parts) == 1:
                if isinstance(target, ast.Attribute):
                    scope.owner.attributes.setdefault(target.attr, []).append(binding)
                return
            home = scope.lookup(root) or self.module.scope
            home.paths.setdefault(key, []).append(binding)
            self.module.path_homes.setdefault(key, []).append(binding)

    def _assign(self, node: ast.Assign, scope: Scope) -> None:
        names = [t for t in node.targets if isinstance(t, ast.Name)]
        for target in node.targets:
            value = node.value
            if names and isinstance(target, ast.Attribute) and isinstance(value, ast.Call):
                value = names[0]  # `config.model = model = ConfigDict()`: what model gets, it has
            self._target(target, value, scope, "assign", node)

    def _annotated(self, node: ast.AnnAssign, scope: Scope) -> None:
        kind: BindingKind = "assign" if node.value is not None else "declare"
        self._target(node.target, node.value, scope, kind, node)

    def _augmented(self, node: ast.AugAssign, scope: Scope) -> None:
        self._target(node.target, node.value, scope, "augment", node)

    def _named(self, node: ast.NamedExpr, scope: Scope) -> None:
        home = scope
        while isinstance(home.node, _COMPREHENSIONS) and home.parent is not None:
            home = home.parent
        self._target(node.target, node.value, home, "assign", node)

    def _for(self, node: ast.For | ast.AsyncFor, scope: Scope) -> None:
        self._target(node.target, node.iter, scope, "loop", node.target)

    def _comprehension(self, node: ast.comprehension, scope: Scope) -> None:
        self._target(node.target, node.iter, scope, "loop", node.target)

    def _with(self, node: ast.withitem, scope: Scope) -> None:
        if node.optional_vars is not None:
            self._target(node.optional_vars, node.context_expr, scope, "with", node.optional_vars)

    def _except(self, node: ast.ExceptHandler, scope: Scope) -> None:
        if node.name:
            scope.bind(node.name, Binding("other", node, scope))

    def _match(self, node: ast.MatchAs | ast.MatchStar, scope: Scope) -> None:
        if node.name:
            scope.bind(node.name, Binding("other", node, scope))

    def _import(self, node: ast.Import, scope: Scope) -> None:
        for alias in node.names:
            self.parents[alias] = node
            local = alias.asname or alias.name.partition(".")[0]
            target = alias.name if alias.asname else local
            scope.bind(local, Binding("import", node, scope, target=target))
            self.module.imported.append(alias.name)

    def _import_from(self, node: ast.ImportFrom, scope: Scope) -> None:
        base = "." * node.level + (node.module or "")
        self.module.imported.append(base)
        for alias in node.names:
            self.parents[alias] = node
            if alias.name == "*":
                self.module.stars.append(base)
                self.module.star_imports.append((node, base))
                continue
            target = f"{base}{'' if base.endswith('.') else '.'}{alias.name}"
            local = alias.asname or alias.name
            scope.bind(local, Binding("import", node, scope, target=target))

    def _global(self, node: ast.Global, scope: Scope) -> None:
        for name in node.names:
            scope.outer[name] = self.module.scope

    def _nonlocal(self, node: ast.Nonlocal, scope: Scope) -> None:
        for name in node.names:
            home = scope.parent.lookup(name) if scope.parent else None
            if home is not None:
                scope.outer[name] = home

    def _return(self, node: ast.Return, scope: Scope) -> None:
        scope.returns.append(node)

    def _yield(self, node: ast.AST, scope: Scope) -> None:
        scope.generator = True


_SCOPED = frozenset({*_FUNCTIONS, ast.ClassDef, ast.Lambda, *_COMPREHENSIONS})
_INNER = frozenset({"body", "elt", "key", "value", "generators"})
"""Fields of a scope that are evaluated within it; of other nodes the two scopes are one."""


def _adopt(node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope, outer: Scope) -> None:
    if not outer.is_class:
        scope.owner, scope.self_name = outer.owner, outer.self_name
        if scope.self_name in scope.bindings:
            scope.owner, scope.self_name = None, ""
        return
    names = [*node.args.posonlyargs, *node.args.args]
    plain = [d.id for d in node.decorator_list if isinstance(d, ast.Name)]
    if names and "staticmethod" not in plain and "classmethod" not in plain:
        scope.owner, scope.self_name = outer, names[0].arg
