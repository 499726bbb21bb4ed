"""Rewrite programs into forms that nobody expects: rules must not rely on the usual ones."""

from __future__ import annotations

import ast


def odd_forms(text: str, kind: type[ast.AST], shift: int) -> str:
    """Return a program with some calls, assignments, loops, tests or constants in odd forms.

    Args:
        text: the program.
        kind: the type of the nodes that change.
        shift: which of the forms the first of them gets; the next ones follow in turn.
    """
    tree = _Rewriter(kind, shift).visit(ast.parse(text))
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


class _Rewriter(ast.NodeTransformer):
    def __init__(self, kind: type[ast.AST], shift: int) -> None:
        self._kind = kind
        self._next = shift

    def _turn(self, node: ast.AST, forms: int) -> int:
        """Return which of some forms a node gets; -1 if it stays as it is."""
        if not isinstance(node, self._kind):
            return -1
        self._next += 1
        return self._next % forms

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        match self._turn(node, 7):
            case 0:
                node.args, node.keywords = [], []
            case 1:
                node.args, node.keywords = [_parsed("*given")], [ast.keyword(None, _parsed("also"))]
            case 2 if isinstance(node.func, ast.Attribute):
                node.func = ast.Name(node.func.attr, ast.Load())
            case 3:
                node.func = ast.Subscript(node.func, ast.Constant(0), ast.Load())
            case 4 if node.args:
                node.args[0] = _parsed("pick(each for each in given)")
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        self.generic_visit(node)
        target = node.targets[0]
        match self._turn(node, 6):
            case 0:
                node.targets.append(_parsed("also", store=True))
            case 1:
                node.targets = [ast.Tuple([target, _parsed("also", store=True)], ast.Store())]
            case 2:
                node.targets = [_parsed("held[0]", store=True)]
            case 3 if isinstance(target, ast.Name):
                return ast.AnnAssign(target, _parsed("object"), node.value, simple=1)
            case 4 if isinstance(target, ast.Name):
                return ast.AugAssign(target, ast.Add(), node.value)
        return node

    def visit_For(self, node: ast.For) -> ast.stmt:
        self.generic_visit(node)
        match self._turn(node, 4):
            case 0:
                node.target = _parsed("held.each", store=True)
            case 1:
                return ast.While(_parsed("more()"), node.body, node.orelse)
            case 2:
                node.target = ast.Tuple([node.target, _parsed("also", store=True)], ast.Store())
        return node

    def visit_If(self, node: ast.If) -> ast.stmt:
        self.generic_visit(node)
        match self._turn(node, 4):
            case 0:
                node.test = ast.NamedExpr(ast.Name("ended", ast.Store()), node.test)
            case 1:
                node.test = ast.IfExp(_parsed("ended"), node.test, _parsed("also"))
            case 2:
                node.orelse = node.orelse or [ast.Pass()]
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        match self._turn(node, 4):
            case 0:
                return ast.Name("given", ast.Load())
            case 1:
                return ast.Constant(None)
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        return node  # its parts must be constants

    def visit_match_case(self, node: ast.match_case) -> ast.match_case:
        return node  # the same


def _parsed(text: str, *, store: bool = False) -> ast.expr:
    if text.startswith("*"):
        return ast.Starred(_parsed(text[1:]), ast.Load())
    node = ast.parse(text, mode="eval").body
    if store:
        node.ctx = ast.Store()  # type: ignore[attr-defined]
    return node
