"""What a program leaves empty because a path is not here, where its data would be, is not known.

`classes = os.listdir("data") if os.path.exists("data") else []` raises nothing, and a layer with
as many units as there are classes would be refused. So questions whether a path exists are
answered by `ABSENT`, which is false. Where a test came to that answer, an empty container and a
count of 0 become `UNKNOWN`: those that an expression or a function returns after it, and those that
the other branch of the statement would have bound or filled. All else is as the program has it: it
makes its folders, and the model that it would have loaded.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterable
from typing import Any

from crosscast_parity.inside.statements import is_counting
from crosscast_parity.inside.unknown import ABSENT, UNKNOWN

_CONTAINERS = (list, dict, set, frozenset, tuple, deque)
_HOLDING = (ast.stmt, ast.ExceptHandler, ast.match_case)


class Questions:
    """Rewrites what has a test, and is called by it.

    Args:
        name: how compiled statements refer to it.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._absent: list[bool] = []

    def asked(self, number: int, answer: Any, first: bool) -> Any:
        """Note the answer to a test, or to a further part of it, and return it."""
        self._absent[number] = answer is ABSENT or (not first and self._absent[number])
        return answer

    def absent(self, number: int) -> bool:
        """Whether a part of a test came to the answer that a path is not here."""
        return self._absent[number]

    def left(self, number: int, value: Any, counts: bool) -> Any:
        """Return a value that is left after a test: unknown if it is empty since a path is absent.

        Args:
            number: that of the test.
            value: what is left.
            counts: whether a 0 is the number of something.
        """
        if not self._absent[number]:
            return value
        if type(value) is tuple and value:
            return tuple(self.left(number, each, counts) for each in value)
        size = getattr(value, "size", None)  # of an array
        is_empty = not value if isinstance(value, _CONTAINERS) else type(size) is int and not size
        return UNKNOWN if is_empty or (counts and type(value) is int and not value) else value

    def ask(self, *tests: ast.expr, again: bool = True) -> tuple[int, list[ast.expr]]:
        """Return a number for some tests, and them so that their answers are noted.

        Args:
            tests: what is tested.
            again: whether a later answer replaces an earlier one.
        """
        self._absent.append(False)
        number = len(self._absent) - 1
        return number, [self._noted(number, test, first=again) for test in tests]

    def settle(
        self, number: int, targets: Iterable[str], counts: bool, where: ast.If
    ) -> list[ast.stmt]:
        """Write what makes names and attributes unknown that are empty after a test."""
        tries = [
            f" try: {target} = {self._name}.left({number}, {target}, {counts})\n"
            " except Exception: pass\n"  # one that is not bound yet
            for target in sorted(targets)
        ]
        if not tries:
            return []
        tree = ast.parse(f"if {self._name}.absent({number}):\n{''.join(tries)}")
        for new in ast.walk(tree):
            ast.copy_location(new, where)
        return tree.body

    def value(self, number: int, value: ast.expr, counts: bool) -> ast.expr:
        """Write a value that is unknown if it is empty after a test."""
        return self._call("left", number, value, ast.Constant(counts))

    def within(self, node: ast.stmt) -> None:
        """Rewrite the expressions of a statement, without those of statements in it."""
        visitor = _Expressions(self)
        for name, field in ast.iter_fields(node):
            if isinstance(field, list):
                new = [
                    visitor.visit(each)
                    if isinstance(each, ast.AST) and not isinstance(each, _HOLDING)
                    else each
                    for each in field
                ]
                setattr(node, name, new)
            elif isinstance(field, ast.AST):
                setattr(node, name, visitor.visit(field))

    def _noted(self, number: int, test: ast.expr, *, first: bool) -> ast.expr:
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test.operand = self._noted(number, test.operand, first=first)
        elif isinstance(test, ast.BoolOp):
            test.values = [
                self._noted(number, each, first=first and not place)
                for place, each in enumerate(test.values)
            ]
        else:
            return self._call("asked", number, test, ast.Constant(first))
        return test

    def _call(self, method: str, number: int, value: ast.expr, *more: ast.expr) -> ast.expr:
        call = ast.parse(f"{self._name}.{method}({number})", mode="eval").body
        assert isinstance(call, ast.Call)
        for new in ast.walk(call):
            ast.copy_location(new, value)
        call.args += [value, *more]
        return call


class _Expressions(ast.NodeTransformer):
    def __init__(self, questions: Questions) -> None:
        self._questions = questions

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self.generic_visit(node)
        number, (node.test,) = self._questions.ask(node.test)
        return self._questions.value(number, node, is_counting(node))

    def visit_ListComp(self, node: ast.ListComp) -> ast.expr:
        self.generic_visit(node)
        (part, *more) = node.generators
        if more or not part.ifs:
            return node
        number, part.ifs = self._questions.ask(*part.ifs, again=False)
        return self._questions.value(number, node, counts=False)
