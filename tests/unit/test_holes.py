"""Programs run past what cannot be executed: what is skipped, what is unknown, what is not."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from typing import Any

import pytest

from crosscast_parity.inside.holes import NAME, ROUNDS, Holes, Statement
from crosscast_parity.inside.unknown import UNKNOWN, is_known


class Program:
    """Executes a text; `skipped` has the lines that could not be, and `trained` is its to count."""

    def __init__(self) -> None:
        self.skipped: list[int] = []
        self.errors: list[Exception] = []
        self.trained = 0
        self.holes = Holes(
            self._report, lambda file: file == "library.py", lambda: self.trained, "keep".__eq__
        )
        self.names: dict[str, Any] = {"step": self._step, "library": self._library()}

    def _report(self, statement: Statement, error: Exception) -> None:
        self.skipped.append(statement.line)
        self.errors.append(error)

    def _step(self) -> None:
        self.trained += 1

    def _library(self) -> Any:
        names: dict[str, Any] = {}
        exec(compile("def call(f, *given):\n    return f(*given)\n", "library.py", "exec"), names)
        return names["call"]

    def run(self, text: str) -> dict[str, Any]:
        exec(self.holes.compile(text.encode(), "train.py"), self.names)
        return self.names


@pytest.fixture
def program() -> Iterator[Program]:
    made = Program()
    setattr(builtins, NAME, made.holes)
    yield made
    delattr(builtins, NAME)


UNKNOWNS = {
    "import": ("import gone.away", "gone"),
    "import with another name": ("import gone.away as g", "g"),
    "names of a module": ("from gone import a, b as c", "a c"),
    "call": ("x = open('gone')", "x"),
    "tuple": ("x, (y, *z) = open('gone')", "x y z"),
    "annotated": ("x: int = open('gone')", "x"),
    "with": ("with open('gone') as f:\n    x = f.read()", "f x"),
    "loop": ("for i in open('gone'):\n    x = i", "i x"),
    "condition": ("if open('gone'):\n    x = 1\nelse:\n    y = 2", "x y"),
    "what follows": ("x = open('gone')\ny = x.a[3](4) + 1\nz = 2 - y", "x y z"),
    "in a function": ("def f():\n    x = open('gone')\n    return x\ny = f()", "y"),
    "returned": ("def f():\n    return open('gone')\ny = f()", "y"),
    "derived class": ("from gone import A\nclass B(A):\n    x = 3\nb = B()", "A B b"),
    "decorated": ("from gone import d\n@d\ndef f(): ...\nx = f(1)", "d f x"),
    "attribute": ("class A: ...\na = A()\na.x = open('gone')\ny = a.x", "y"),
    "raised in a function": ("def f():\n    raise ValueError\nx = f()", "x"),
    "asserted in a function": ("def f(y):\n    assert y == 3\n    return 4\nx = f(1)", "x"),
    "raised in a branch": ("def f(y):\n    if y:\n        raise ValueError\nx = f(1)", "x"),
    "raised in a branch of a branch": (
        "def f(y):\n    for i in y:\n        if i:\n            raise ValueError\n    return 4\n"
        "x = f([1])",
        "x",
    ),
    "object that a loop would change": (
        "class A: ...\na = A()\nfor i in open('gone'):\n    a.add(i)",
        "a",
    ),
    "part of a list that a loop would fill": (
        "x = []\ndef f():\n    y = []\n    for i in open('gone'):\n        y.append(i)\n"
        "    return y[:0]\nfor i in open('gone'):\n    x.append(i)\ny, z = x[:0], f()",
        "x y z",
    ),
    "dictionary that a loop would fill": ("x = {}\nfor i in open('gone'): x[i] = 3", "x"),
    "list that a skipped statement reads": ("x = ['a']\ny = open('gone', x)", "x y"),
    "list that a loop would fill": (
        "x = []\nfor i in open('gone'):\n    x.append(i)\ny = x[0]",
        "y",
    ),
}


@pytest.mark.parametrize("name", UNKNOWNS)
def test_what_cannot_be_executed_is_unknown(program: Program, name: str) -> None:
    text, unknown = UNKNOWNS[name]
    names = program.run(text)
    assert [each for each in unknown.split() if is_known(names[each])] == []
    assert program.skipped


KNOWN = {
    "handled": "try:\n    x = open('gone')\nexcept OSError:\n    x = 1",
    "handled in a function": "def f():\n    try:\n        return open('gone')\n"
    "    except OSError:\n        return 1\nx = f()",
    "handled import": "try:\n    import gone\nexcept ImportError:\n    x = 1",
    "shared list": "x = []\ndef f():\n    for i in open('gone') if x else (): x.append(i)\n"
    "f()\nx = 1",
    "loop with another end": "x = 0\nwhile x < 1:\n    x += 1",
    "broken loop": "x = 0\nwhile True:\n    x += 1\n    if x: break",
    "continued loop": "x = 0\nwhile x < 1:\n    x += 1\n    continue\n    x = 7",
    "loop with else": "x = 2\nwhile x > 5: pass\nelse:\n    x = 1",
    "nested function": "def f():\n    y = 1\n    def g():\n        nonlocal y\n        y = 1\n"
    "        return y\n    return g()\nx = f()",
    "generator": "def f():\n    yield 1\nx = next(f())",
    "asynchronous generator": "async def f():\n    yield 1\n    return\nx = 1",
    "class": "class A:\n    'text'\n    def __init__(self):\n        super().__init__()\n"
    "        self.x = 1\nx = A().x",
    "matched": "match 3:\n    case 3:\n        x = 1",
    "future": "'text'\nfrom __future__ import annotations\nx = 1",
    "returned from within": "def f():\n    for i in range(3):\n        if i: return i\nx = f()",
    "many rounds": "x = -29\nfor i in range(30): x += 1",
}


@pytest.mark.parametrize("name", KNOWN)
def test_what_can_be_executed_is_as_it_was(program: Program, name: str) -> None:
    assert program.run(KNOWN[name])["x"] == 1
    assert program.skipped == []


def test_a_loop_that_trains_ends_early(program: Program) -> None:
    text = "rounds = 0\nfor i in range(100):\n    rounds += 1\n    step()\nn = 0\n"
    text += "while True:\n    n += 1\n    for _ in range(3):\n        if n > 4: step()\n"
    names = program.run(text)
    assert names["rounds"] == ROUNDS
    assert names["n"] == 4 + ROUNDS


def test_what_a_library_calls_fails_where_the_library_is_called(program: Program) -> None:
    text = "def inner(x):\n    y = x + 'a'\n    return y\ndef outer():\n    z = library(inner, 1)\n"
    program.run(f"{text}    return z\nx = outer()")
    assert program.skipped == [5]
    assert program.names["x"] is UNKNOWN
    assert isinstance(program.errors[0], TypeError)


def test_the_end_of_a_program_is_its_own(program: Program) -> None:
    with pytest.raises(SystemExit):
        program.run("import sys\nsys.exit(2)")
    with pytest.raises(ValueError, match="own"):
        program.run("if True:\n    raise ValueError('own')")
    with pytest.raises(ValueError, match="own"):
        program.run(
            "if True:\n    for i in (1, 2):\n        if i:\n            raise ValueError('own')"
        )
    assert program.skipped == []


def test_a_container_that_a_skipped_statement_reads_keeps_its_length(program: Program) -> None:
    text = "classes, sizes = ['a', 'b'], {'a': 1}\nrows = gone(classes, sizes)\n"
    names = program.run(f"{text}units = len(classes), len(sizes)\n")
    assert names["units"] == (2, 1)
    assert program.skipped == [2]


def test_containers_that_hold_something_unknown_are_not_known() -> None:
    class Own:
        def __init__(self) -> None:
            self.part = UNKNOWN

    unknown = (UNKNOWN, [UNKNOWN], {"a": UNKNOWN}, (1, [UNKNOWN]), Own())
    assert not any(map(is_known, unknown))
    assert all(map(is_known, (None, [1, [2]], {"a": 3}, Own, pytest)))
    assert f"{UNKNOWN:.3f} {UNKNOWN}" == "<CrosscastUnknown> <CrosscastUnknown>"
