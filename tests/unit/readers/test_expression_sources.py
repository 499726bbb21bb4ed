"""What the expression of a rate is computed from."""

from __future__ import annotations

import ast

import pytest

from crosscast.messages.source import Source
from crosscast_reading.pysource.project import read_program
from crosscast_reading.readers.python.expression_sources import sources_of

LONG = "def long():\n" + "    step()\n" * 80 + "    return cos(1)\nlong()"
NAMED = """import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--kind", default="noam")
parser.add_argument("--first", action="store_true")
args = parser.parse_args()
if args.kind == "noam":
    rate = noam()
elif args.kind == "step":
    rate = step()
else:
    rate = other()
if args.first:
    rate = rate * first()
rate
"""


def text_behind(text: str, other: str = "") -> str:
    sources = [Source("train.py", text), *([Source("rates.py", other)] if other else [])]
    program, _ = read_program(sources)
    module = next(m for m in program.modules if m.source.name == "train.py")
    statement = module.tree.body[-1]
    assert isinstance(statement, ast.Expr)
    return sources_of(statement.value, module).text


@pytest.mark.parametrize(
    ("text", "shown", "hidden"),
    [
        ("a = f()\na += g()\na", ["f()", "g()"], []),
        ("def one(rate):\n    return rate / 2\none(h())", ["rate / 2", "h()"], []),
        ("class One:\n    def __call__(self):\n        return h()\nOne()", ["return h()"], []),
        ('def one():\n    """A cosine."""\n    return 3\none()', ["return 3"], ["cosine"]),
        ("from rates import Two\nTwo()", ["return two()"], []),
        ("model = f()\nmodel", [], ["f()"]),
        ("self.config = f()\nself.rate = g()\nself.config + self.rate", ["g()"], ["f()"]),
        ("other.rate = f()\nother.rate", [], ["f()"]),
        (LONG, ["long"], ["cos(1)"]),
        (NAMED, ["noam()", "first()"], ["step()", "other()"]),
    ],
)
def test_sources(text: str, shown: list[str], hidden: list[str]) -> None:
    found = text_behind(text, "class Two:\n    def rate(self):\n        return two()\n")
    assert [each for each in shown if each not in found] == []
    assert [each for each in hidden if each in found] == []


def test_a_loop_of_assignments_ends() -> None:
    text = "".join(f"a{n} = a{n + 1} + f{n}()\n" for n in range(12)) + "a0"
    found = text_behind(text)
    assert "f6()" in found
    assert "f9()" not in found
