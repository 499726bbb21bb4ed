"""Where the values of expressions come from."""

from __future__ import annotations

import ast
import textwrap

import pytest

from crosscast.messages.source import Source
from crosscast_reading.pysource.project import read_program
from crosscast_reading.readers.python.value_flow import flow_of, root_of


def last_line(text: str) -> tuple[ast.expr, object]:
    """Return the expression of the last statement of a program, and its module."""
    program, _ = read_program([Source("train.py", textwrap.dedent(text))])
    assert program is not None
    module = program.modules[0]
    statement = module.tree.body[-1]
    assert isinstance(statement, ast.Expr)
    return statement.value, module


def calls_behind(text: str) -> set[str]:
    node, module = last_line(text)
    parts = flow_of(node, module)  # type: ignore[arg-type]
    return {
        part.func.id
        for part, _ in parts
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Name)
    } - {"zip", "enumerate", "list"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = f()\nb = a\nb", {"f"}),
        ("[a for a, b in zip(*pairs(), more())]", {"pairs", "more"}),
        ("[b for a, b in zip(f())]", {"f"}),
        ("[x for x in sorted(f())]", {"f"}),
        ("def one():\n    if x:\n        return\n    return f()\none()", {"one", "f"}),
        ("def one():\n    return (f(),)\na, b = one()\nb", {"one", "f"}),
        ("a, b = [], []\nb.append(f())\na.append(g())\nb", {"f"}),
        (
            "def one():\n    rows = []\n    rows.append(f())\n    return rows\n"
            "def two():\n    rows = []\n    rows.extend(g())\n    return rows\none()",
            {"one", "f"},
        ),
        ("a = f()\na = g()\na", {"g"}),
        ("a = f()\na += g()\na", {"f", "g"}),
        ("a, b = f(), g()\na", {"f", "g"}),
        ("def pair():\n    return f(), g()\na, b = pair()\nb", {"g"}),
        ("def pair():\n    return both()\na, b = pair()\nb", {"pair", "both"}),
        ("[x for x, y in zip(f(), g())]", {"f"}),
        ("[y for i, (x, y) in enumerate(zip(f(), g()))]", {"g"}),
        ("[i for i, x in enumerate(f())]", set()),
        ("[y for x, y in zip(*f())]", {"f"}),
        ("[y for x, y in list(zip(f(), g()))]", {"g"}),
        ("def keep(a):\n    return a\nkeep(f())", {"keep", "f"}),
        ("with f() as a:\n    b = a\nb", {"f"}),
        ("a = f(g())\na", {"f", "g"}),
    ],
)
def test_what_a_value_is_computed_from(text: str, expected: set[str]) -> None:
    assert calls_behind(text) == expected


def test_arguments_that_do_not_belong() -> None:
    node, module = last_line("a = g()\nf(a)")
    parts = flow_of(node, module, lambda call, _: False)  # type: ignore[arg-type]
    assert len(parts) == 1


def test_arguments_of_functions() -> None:
    text = """
        class Trainer:
            def __init__(self):
                self.totals = f()

            def apply(self, given):
                return given

            def run(self):
                return self.apply(self.totals)

        Trainer().run()
    """
    assert "f" in calls_behind(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("totals = f()\ntotals[0]", "totals"),
        ("self.totals[i]", "self.totals"),
        ("a = f()\nfor i, (t, g) in enumerate(zip(a, b)):\n    t\nt", "a"),
        ("a = f()\nb = a\nb", "a"),
        ("a = f()\nb = a\nb = c\nb", "c"),
        ("a = f()\nb = a\nif c:\n    b = d\nb", "b"),
        ("a = f()\na.value()", "a"),
        ("a = f()\na.value(1)", ""),
        ("a.sum()", ""),
        ("a + b", ""),
    ],
)
def test_the_variable_behind_an_item(text: str, expected: str) -> None:
    node, module = last_line(text)
    assert root_of(node, module) == expected  # type: ignore[arg-type]
