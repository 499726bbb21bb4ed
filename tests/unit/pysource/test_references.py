"""References of a variable: its bindings, and which of its reads may see which of them.

In the texts, `#` and letters after a line name the bindings that the reads of `x` in it may see;
`# A =` names the binding that a line is.
"""

from __future__ import annotations

import ast
import re

import pytest

from crosscast.messages.source import Source
from crosscast_reading.pysource.names.references import References, is_read, references
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.project import read_program

SEEN = {
    "in a row": "x = 1  # A =\nuse(x)  # A\nx = 2  # B =\nuse(x)  # B\n",
    "in its own line": "x = 1  # A =\nx = use(x)  # B = A\nuse(x)  # B\n",
    "added to": "x = 1  # A =\nx += 1  # B = A\nuse(x)  # A B\n",
    "one branch": "x = 1  # A =\nif flag:\n    x = 2  # B =\nuse(x)  # A B\n",
    "the other branch": "x = 1  # A =\nif flag:\n    x = 2  # B =\nelse:\n    use(x)  # A\n",
    "the next round": "x = 1  # A =\nfor y in z:\n    use(x)  # A B\n    x = 2  # B =\n",
    "round after round": "x = 1  # A =\nfor y in z:\n    x = use(x)  # B = A B\n",
    "no next round": "for y in z:\n    x = 1  # A =\n    use(x)  # A\n    x = 2  # B =\n",
    "the head of the next round": "for x in z:  # A =\n    use(x)  # A\n    x = 2  # B =\n",
    "behind the loop": "for x in z:  # A =\n    x = 2  # B =\nuse(x)  # A B\n",
    "an outer loop": "x = 1  # A =\nfor y in z:\n    for w in y:\n        use(x)  # A B\n"
    "    x = 2  # B =\n",
    "another loop": "for x in z:  # A =\n    x = 2  # B =\nfor x in z:  # C =\n    use(x)  # C\n",
    "a comprehension": "x = 1  # A =\nuse([x for x in z])\n",
    "in a comprehension": "x = 1  # A =\nx = 2  # B =\nuse([x for y in z])  # B\n",
    "a function": "x = 1  # A =\ndef f():\n    use(x)  # A B\nx = 2  # B =\n",
    "a global": "x = 1  # A =\ndef f():\n    global x\n    x = 2  # B =\nf()\nuse(x)  # A B\n",
    "one of its own": "x = 1  # A =\ndef f(x):\n    use(x)\n",
    "a parameter": "def f(x):  # A =\n    use(x)  # A\n    x = 2  # B =\n",
    "handled": "x = 1  # A =\ntry:\n    x = 2  # B =\nexcept E:\n    use(x)  # A B\n",
    "deleted": "x = 1  # A =\ndel x\n",
}


def module_of(text: str) -> Module:
    return read_program([Source("train.py", text)])[0].modules[0]


def of_first(module: Module) -> References:
    """Return the references of the variable that the first line binds."""
    every = [references("x", each, module) for each in module.every(ast.Name) if each.id == "x"]
    bound = [uses for uses in every if uses is not None]
    return min(bound, key=lambda uses: getattr(uses.bindings[0].node, "lineno", 0))


@pytest.mark.parametrize("name", SEEN)
def test_what_a_read_may_see(name: str) -> None:
    uses = of_first(module_of(SEEN[name]))
    words = {
        number: re.findall(r"[A-Z]\b", line.partition("#")[2])
        for number, line in enumerate(SEEN[name].splitlines(), 1)
        if "#" in line
    }
    named = {number: letters[0] for number, letters in words.items() if "=" in _note(name, number)}
    lines = [getattr(binding.node, "lineno", 0) for binding in uses.bindings]
    assert lines == list(named)
    seen: dict[int, list[str]] = {}
    for line, binding in zip(lines, uses.bindings, strict=True):
        for read in uses.reads_of(binding):
            seen.setdefault(read.lineno, []).append(named[line])
    expected = {number: letters[number in named :] for number, letters in words.items()}
    assert seen == {number: letters for number, letters in expected.items() if letters}


def _note(name: str, number: int) -> str:
    return SEEN[name].splitlines()[number - 1].partition("#")[2]


def test_reads_are_in_the_order_of_the_text() -> None:
    uses = of_first(module_of("x = 1\nif flag:\n    use(x)\nuse([x, x])\nx += 2\n"))
    places = [(read.lineno, read.col_offset) for read in uses.reads]
    assert places == [(3, 8), (4, 5), (4, 8), (5, 0)]
    assert all(is_read(read, uses.scope.module) for read in uses.reads)


def test_what_is_bound_by_a_line_and_after_it() -> None:
    module = module_of("x = 1\nx, y = 2, 3\nx += 4\n")
    uses = of_first(module)
    first, second, third = uses.bindings
    assert uses.bound_by(module.tree.body[1]) is second
    assert uses.bound_by(module.tree) is None
    assert uses.bound_after(first.node) == [second, third]
    assert uses.bound_after(third.node) == []


@pytest.mark.parametrize(
    ("text", "is_open"),
    [
        ("def f():\n    x = 1\n    return locals()\n", True),
        ("def f():\n    x = 1\n    return eval('x')\n", True),
        ("def f():\n    x = 1\n    return vars()\n", True),
        ("def f(args):\n    x = 1\n    return vars(args)\n", False),
        ("def f(model):\n    x = 1\n    model.eval()\n", False),
        ("x = 1\n", False),
    ],
)
def test_names_that_may_be_found_by_their_text(text: str, is_open: bool) -> None:
    assert of_first(module_of(text)).is_open is is_open


@pytest.mark.parametrize(
    ("importer", "is_handed_on"),
    [
        ("import settings\nuse(settings.x)\n", True),
        ("from settings import x\n", True),
        ("from settings import *\n", True),
        ("from settings import y\n", False),
    ],
)
def test_names_that_other_modules_may_read(importer: str, is_handed_on: bool) -> None:
    sources = [Source("settings.py", "x = y = 1\n"), Source("train.py", importer)]
    modules = read_program(sources)[0].modules
    settings = next(each for each in modules if each.name == "settings")
    assert of_first(settings).is_handed_on is is_handed_on


def test_a_name_of_nothing_has_no_references() -> None:
    module = module_of("use(x)\n")
    assert references("x", module.every(ast.Name)[0], module) is None
