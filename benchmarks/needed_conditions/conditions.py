"""Find the conditions of a module and make each of them removable at run time.

A condition is what keeps a function from doing something: the test of an `if` without `else`, an
`if` of a comprehension, the guard of a `case`, and every term of an `or` and `and`. A choice
between two branches (`if` with `else`, `x if y else z`) is none, but the terms of its test are; nor
is a default (`name or "optimizer"`).

A removed condition is not evaluated:

    if A: continue            never continues
    if A: found.append(x)     always appends
    [x for x in xs if A]      keeps every x
    A and B                   B, or A

The test of an `if` is not removed as a whole where that is the same as removing its terms, as with
`if A or B: continue`.
"""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import dataclass
from typing import Literal, TypeVar

Kind = Literal["skip", "only if", "comprehension", "case", "and", "or"]

REMOVED, SEEN, USED, LAST = "__removed__", "__seen__", "__used__", "__last__"
"""Names in the rewritten modules; `switch` defines them."""
_JUMPS = (ast.Return, ast.Continue, ast.Break, ast.Raise)
_DEFAULTS = (ast.Constant, ast.JoinedStr, ast.Tuple, ast.List, ast.Dict)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_Scope = TypeVar("_Scope", ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition of a module."""

    module: str
    """The file, relative to the package."""
    function: str
    """The qualified name of the function."""
    kind: Kind
    text: str
    ordinal: int
    """Counts the conditions of a function with the same kind and text from 0."""
    line: int
    without: bool
    """The truth value that stands for a removed condition."""

    @property
    def key(self) -> str:
        """Return a name that does not depend on the lines above."""
        number = f" #{self.ordinal + 1}" if self.ordinal else ""
        return f"{self.module} {self.function} [{self.kind}] {self.text}{number}"


def rewrite(source: str, module: str, first: int) -> tuple[ast.Module, list[Condition]]:
    """Return the rewritten module and its conditions.

    Args:
        source: the text of the module.
        module: its name in the conditions.
        first: the number of the first condition; the others follow.
    """
    rewriter = _Rewriter(module, first)
    tree: ast.Module = rewriter.visit(ast.parse(source))
    return ast.fix_missing_locations(tree), rewriter.found


class _Rewriter(ast.NodeTransformer):
    def __init__(self, module: str, first: int) -> None:
        self.module = module
        self.first = first
        self.found: list[Condition] = []
        self.scopes: list[ast.AST] = []
        self.names: list[str] = []
        self.same: Counter[tuple[str, str, str]] = Counter()

    # ---- scopes

    def _scope(self, node: _Scope) -> _Scope:
        self.scopes.append(node)
        self.names.append(getattr(node, "name", "lambda"))
        self.generic_visit(node)
        self.scopes.pop()
        self.names.pop()
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = _scope

    @property
    def _runs_late(self) -> bool:
        """Whether this is code of a function: what runs at import is the same in every test."""
        return any(isinstance(scope, _FUNCTIONS) for scope in self.scopes)

    # ---- where conditions are

    def visit_If(self, node: ast.If) -> ast.If:
        if node.orelse:
            node.test = self._truth(node.test)
        elif isinstance(node.body[-1], _JUMPS):
            node.test = self._whole(node.test, "skip", without=False)
        else:
            node.test = self._whole(node.test, "only if", without=True)
        node.body = [self.visit(statement) for statement in node.body]
        node.orelse = [self.visit(statement) for statement in node.orelse]
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.comprehension:
        node.iter = self.visit(node.iter)
        node.ifs = [self._whole(test, "comprehension", without=True) for test in node.ifs]
        return node

    def visit_match_case(self, node: ast.match_case) -> ast.match_case:
        if node.guard is not None:
            node.guard = self._whole(node.guard, "case", without=True)
        node.body = [self.visit(statement) for statement in node.body]
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        if isinstance(node.op, ast.Or) and isinstance(node.values[-1], _DEFAULTS):
            self.generic_visit(node)
            return node
        return self._terms(node, used=True)

    def visit_Assert(self, node: ast.Assert) -> ast.Assert:
        return node  # says what always holds

    # ---- where only the truth of a value counts

    def visit_While(self, node: ast.While) -> ast.While:
        node.test = self._truth(node.test)
        node.body = [self.visit(statement) for statement in node.body]
        node.orelse = [self.visit(statement) for statement in node.orelse]
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.IfExp:
        node.test = self._truth(node.test)
        node.body, node.orelse = self.visit(node.body), self.visit(node.orelse)
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.UnaryOp:
        no = isinstance(node.op, ast.Not)
        node.operand = self._truth(node.operand) if no else self.visit(node.operand)
        return node

    def visit_Return(self, node: ast.Return) -> ast.Return:
        function = next(scope for scope in reversed(self.scopes) if isinstance(scope, _FUNCTIONS))
        returns = getattr(function, "returns", None)
        truth = isinstance(returns, ast.Name) and returns.id == "bool"
        if node.value is not None:
            node.value = self._truth(node.value) if truth else self.visit(node.value)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        match node:
            case ast.Call(func=ast.Name(id="any" | "all"), args=[ast.GeneratorExp() as generator]):
                generator.generators = [self.visit(part) for part in generator.generators]
                generator.elt = self._truth(generator.elt)
            case ast.Call(func=ast.Name(id="bool"), args=[value]):
                node.args = [self._truth(value)]
            case _:
                self.generic_visit(node)
        return node

    # ---- rewriting

    def _truth(self, node: ast.expr) -> ast.expr:
        """Rewrite an expression of which only the truth counts."""
        if isinstance(node, ast.BoolOp):
            return self._terms(node, used=False)
        rewritten: ast.expr = self.visit(node)
        return rewritten

    def _whole(self, node: ast.expr, kind: Kind, *, without: bool) -> ast.expr:
        same = isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And) == without
        if same or isinstance(node, ast.Constant) or not self._runs_late:
            return self._truth(node)
        number = self._add(node, kind, without)
        return _removable(number, ast.Constant(without), SEEN, self._truth(node))

    def _terms(self, node: ast.BoolOp, *, used: bool) -> ast.expr:
        if not self._runs_late:
            self.generic_visit(node)
            return node
        without = isinstance(node.op, ast.And)
        values: list[ast.expr] = []
        for position, value in enumerate(node.values):
            number = self._add(value, "and" if without else "or", without)
            rewritten = self.visit(value) if used else self._truth(value)
            if position < len(node.values) - 1:
                values.append(_removable(number, ast.Constant(without), SEEN, rewritten))
            else:  # without its last term, the value of `A and B` is that of A
                last = ast.Call(ast.Name(LAST, ast.Load()), [], [])
                values.append(_removable(number, last, USED if used else SEEN, rewritten))
        node.values = values
        return node

    def _add(self, node: ast.expr, kind: Kind, without: bool) -> int:
        function, text = ".".join(self.names), ast.unparse(node)
        ordinal = self.same[function, kind, text]
        self.same[function, kind, text] += 1
        self.found.append(
            Condition(self.module, function, kind, text, ordinal, node.lineno, without)
        )
        return self.first + len(self.found) - 1


def _removable(number: int, without: ast.expr, reported: str, node: ast.expr) -> ast.expr:
    """Return `without if __removed__[number] else __seen__(number, node)`."""
    mark = ast.Constant(number)
    test = ast.Subscript(ast.Name(REMOVED, ast.Load()), mark, ast.Load())
    value = ast.Call(ast.Name(reported, ast.Load()), [mark, node], [])
    return ast.copy_location(ast.IfExp(test, without, value), node)
