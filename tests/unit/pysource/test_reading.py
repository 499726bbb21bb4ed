"""Files that are no Python, or none that anyone would write."""

from __future__ import annotations

import ast
import json

import pytest

from crosscast.messages.source import Source
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.project import read_program
from crosscast_reading.pysource.syntax.notebook import cells_as_source


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("print 'x'\n", "CC902"),
        ("try:\n  pass\nexcept A, e:\n  pass\n", "CC902"),
        ("x = 1\ny = \0\n", "CC901"),
        ("def f(:\n", "CC901"),
        ("if 1:\n\tx = 1\n        y = 2\n", "CC901"),
        ("x = '\ud800'", "CC901"),
        ("x = " + "9" * 5000, "CC901"),
        ("x = " + "(" * 10_000 + "1" + ")" * 10_000, "CC903"),
        ("x = " + "-" * 5000 + "1", "CC903"),
        ("x = " + "+".join(["1"] * 300), "CC903"),
        ("x = a" + ".b()" * 500, "CC903"),
        ("if a: x = 0\n" + "elif a: x = 1\n" * 300 + "\nprint(x)", "CC903"),
        ("x = '" + "a" * 500_000 + "'", "CC903"),
        ("x = 1\n" * 400_000, "CC903"),
        ("#!/bin/bash\nset -e\npython train.py --lr 1\n", "CC901"),
        ("\x89PNG\r\n", "CC901"),
    ],
)
def test_refused_with_a_line(text: str, code: str) -> None:
    program, problems = read_program([Source("bad.py", text), Source("good.py", "x = 1\n")])
    assert [p.code for p in problems] == [code]
    assert problems[0].span is not None
    assert problems[0].span.line >= 1
    assert [m.source.name for m in program.modules] == ["good.py"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\ufeffx = 1\n",
        "x = 1\ry = 2\r\nz = 3\n",
        "x = 1\n\x0cy = 2\n",
        "x = " + "+".join(["1"] * 190),
        "x = a" + ".b()" * 95,
        "\n".join("  " * n + "if a:" for n in range(90)) + "\n" + "  " * 90 + "x = 1",
        "if a: x = 0\n" + "\n".join(f"elif a == {n}: x = {n}" for n in range(190)) + "\nprint(x)",
        "x = [" + ",".join(map(str, range(20_000))) + "]\ny = x[5]",
        "match a:\n  case {'x': 1, **r}: pass\n  case A(b=None) | B(True): pass\n"
        "  case [*q]: pass\n",
        "a, *b = c\nf(*b, **d)\n(y := 3)\nz = [w for w in b if (v := w)]\nasync def k():\n"
        "  async with a as b: await b()\n  async for i in j: yield i\n",
    ],
)
def test_strange_files_are_read(text: str) -> None:
    program, problems = read_program([Source("odd.py", text)])
    assert problems == ()
    module = program.modules[0]
    for node in list(module.parents):
        if isinstance(node, ast.expr):
            evaluate(node, module)
            module.resolve(node)
            module.span(node)
    _ = program.flags


def test_every_node_has_a_parent() -> None:
    text = "import a\n@d\ndef f(x: int = 1, *a, **k) -> int:\n  return {**x, 'a': (yield)}\n"
    module = read_program([Source("a.py", text)])[0].modules[0]
    ignored = ast.expr_context | ast.operator | ast.Module
    for node in ast.walk(module.tree):
        assert isinstance(node, ignored) or module.parent(node) is not None


def test_an_unsolved_merge() -> None:
    text = "a = 1\n<<<<<<< HEAD\nb = 2\n=======\nb = 3\n>>>>>>> other\nc = b\n"
    program, problems = read_program([Source("a.py", text)])
    assert [(p.code, p.span and p.span.line) for p in problems] == [("CC905", 2)]
    module = program.modules[0]
    assert isinstance(module.tree.body[-1], ast.Assign)
    assert module.tree.body[-1].lineno == 7


def notebook(*cells: str) -> Source:
    listed = [{"cell_type": "code", "source": c.splitlines(keepends=True)} for c in cells]
    listed.insert(1, {"cell_type": "markdown", "source": ["x = broken("]})
    return Source("n.ipynb", json.dumps({"cells": listed}))


def test_notebooks() -> None:
    source = notebook(
        "!pip install \\\n  torch\n%matplotlib inline\nimport torch\n",
        "%%bash\nls (\n",
        "if a:\n  !ls\nfiles = !ls\no = torch.optim.SGD(p)\no?\n",
    )
    program, problems = read_program([source])
    assert problems == ()
    assert next(program.calls("torch.optim.SGD")).module.source.name == "n.ipynb"
    cells, _ = cells_as_source(source)
    assert cells is not None
    assert [r for r in cells.text.split("\n") if r.startswith("# cell")] == [
        "# cell 1",
        "# cell 2",
        "# cell 3",
    ]


@pytest.mark.parametrize("cell", ["x = " + "-" * 20_000 + "1", "x" + ".a" * 20_000])
def test_a_cell_that_nests_too_deep_is_a_problem_of_its_file(cell: str) -> None:
    cells = {"cells": [{"cell_type": "code", "source": cell}]}
    _, problems = read_program([Source("n.ipynb", json.dumps(cells))])
    assert [p.code for p in problems] == ["CC903"]


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"cells": 3}', "x = 1", "[" * 100_000])
def test_not_a_notebook(text: str) -> None:
    program, problems = read_program([Source("n.ipynb", text)])
    assert [p.code for p in problems] == ["CC904"]
    assert program.modules == ()
