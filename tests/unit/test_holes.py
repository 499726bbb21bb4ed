"""Programs run past what cannot be executed: what is skipped, what is unknown, what is not."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from typing import Any

import pytest

from crosscast_parity.inside.holes import NAME, ROUNDS, Holes, Statement
from crosscast_parity.inside.unknown import ABSENT, UNKNOWN, is_known


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


EMPTY = {
    "emptied": "if there('d'):\n    x = listed('d')\nelse:\n    x = []",
    "emptied first": "if not there('d'):\n    x = {}\nelse:\n    x = listed('d')",
    "empty before": "x = []\nif there('d'):\n    x = listed('d')",
    "not filled": "x = []\nif there('d'):\n    for y in listed('d'):\n        x.append(y)",
    "expression": "x = listed('d') if there('d') else list()",
    "expression with not": "x = set() if not there('d') else listed('d')",
    "returned": "def f(d):\n    if not there(d):\n        return []\n    return listed(d)\n"
    "x = f('d')",
    "returned expression": "def f(d): return listed(d) if there(d) else ()\nx = f('d')",
    "returned with more": "def f(d):\n    if not there(d):\n        return [], 1\n"
    "    return listed(d), 2\nx, _ = f('d')",
    "chosen": "x = [d for d in 'ab' if there(d)]",
    "chosen among others": "x = [d for d in 'ab' if d == 'a' and there(d)]",
    "chosen by both": "if there('a') and there('b'):\n    x = listed('b')\nelse:\n    x = []",
    "answered before": "known = there('d')\nif known:\n    x = listed('d')\nelse:\n    x = []",
    "answered by a function": "def known(d): return there(d)\n"
    "x = listed('d') if known('d') else []",
    "one of two": "x = listed('d') if there('a') or 1 > 2 else []",
    "counted": "x = len(listed('d')) if there('d') else 0",
    "counted from 0": "x = 0\nif there('d'):\n    x += len(listed('d'))",
    "counted in a function": "def f(d):\n    if not there(d):\n        return 0\n"
    "    return len(listed(d))\nx = f('d')",
    "attribute": "class A:\n    def __init__(self):\n        self.x = []\n"
    "        if there('d'):\n            self.x = listed('d')\nx = A().x",
    "in a loop": "for d in 'ab':\n    if there(d):\n        x = listed(d)\n"
    "    else:\n        x = []",
    "within the branch": "if there('d'):\n    y = listed('d')\nelse:\n    y = []\n    x = len(y)",
    "else if": "if there('a'):\n    x = [1]\nelif there('b'):\n    x = [2]\nelse:\n    x = []",
}


@pytest.mark.parametrize("name", EMPTY)
def test_nothing_of_what_is_not_there_is_unknown(program: Program, name: str) -> None:
    program.names |= {"there": lambda path: ABSENT, "listed": None}
    assert not is_known(program.run(EMPTY[name])["x"])


MADE = {
    "folder": "x = 0\nif not there('out'):\n    x = 1",
    "folder made by a function": "def f(d):\n    if not there(d): made.append(d)\n    return 1\n"
    "made = [0]\nx = f('d')",
    "model": "x = load('m') if there('m') else 1",
    "model in a branch": "if there('m'):\n    x = load('m')\nelse:\n    x = 1",
    "first epoch": "start = 0\nif there('c'):\n    start = load('c')['epoch']\nx = 1 - start",
    "first epoch of a function": "def f(c):\n    if not there(c): return 0\n"
    "    return load(c)['epoch']\nx = 1 - f('c')",
    "model beside an empty list": "if there('m'):\n    x, y = load('m'), load('y')\n"
    "else:\n    x = 1\n    y = []",
    "model where a list was empty": "y = []\nif there('m'):\n    y += load('m')\nelse:\n    x = 1",
    "layers": "if not there('m'):\n    x = []\n    x.append('a')\n    x = len(x)\n"
    "else:\n    model = load('m')",
    "weights": "w = None\nif there('w'):\n    w = 'w'\nx = 1 if w is None else 2",
    "weights that are loaded": "x, rows = 1, [3]\nif there('w'):\n    load('w', rows, x)",
    "list that has entries": "x = ['a']\nif there('d'):\n    x.append('b')\nx = len(x)",
    "list in another branch": "if there('d'):\n    x = 3\nelse:\n    y, x = [3], 1",
    "other list": "rows = []\nif there('d'):\n    x = 3\nelse:\n    x = 1 + len(rows)",
    "later branch that holds": "if there('a'):\n    x = [1]\nelif 3:\n    x = 1\nelse:\n    x = []",
    "negated name": "x = 0\ngone = not there('out')\nif gone:\n    x = 1",
    "test that has no answer": "x = 1 if [] else 1\nif not x: x = []",
}


@pytest.mark.parametrize("name", MADE)
def test_what_is_made_where_something_is_not_there_is_known(program: Program, name: str) -> None:
    program.names |= {"there": lambda path: ABSENT}
    assert program.run(MADE[name])["x"] == 1
    assert program.skipped == []


def test_what_is_there_is_asked_as_before(program: Program) -> None:
    program.names |= {"there": lambda path: True, "listed": list}
    for name, text in EMPTY.items():
        names = program.run(text)
        assert is_known(names.pop("x", 0)), name
    assert program.skipped == []


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


def test_a_choice_of_many_can_be_compiled(program: Program) -> None:
    branches = "".join(f"    elif x == {n}:\n        y = gone({n})\n" for n in range(1, 30))
    text = f"def f(x):\n    if x == 0:\n        y = 3\n{branches}    else:\n        y = 4\n"
    names = program.run(f"{text}    return y\nx, y, z = f(0), f(17), f(99)")
    assert (names["x"], names["y"], names["z"]) == (3, UNKNOWN, 4)
    assert program.skipped == [37]


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
