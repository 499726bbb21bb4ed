"""A use of a name with hundreds of assignments sees the same ones as among few."""

from __future__ import annotations

import ast

import pytest

from crosscast.messages.source import Source
from crosscast_reading.pysource.names.lookup import bindings_of
from crosscast_reading.pysource.project import read_program

USES = {
    "in the block": "loss = first\nuse(loss)\n",
    "a branch": "loss = first\nif flag:\n    loss = second\nuse(loss)\n",
    "both branches": "if flag:\n    loss = first\nelse:\n    loss = second\nuse(loss)\n",
    "augmented": "loss = first\nloss += second\nuse(loss)\n",
    "the next round": "loss = first\nfor x in y:\n    use(loss)\n    loss = second\n",
    "in a loop": "for x in y:\n    loss = first\n    use(loss)\n",
    "in itself": "loss = first\nloss = use(loss)\n",
    "of a loop": "for loss in losses:\n    use(loss)\n",
}


def seen(before: int, text: str) -> list[int]:
    """Return the lines of the assignments that the last use sees, from the first of the text."""
    after = "loss = after\n" * before
    source = Source("train.py", "loss = before\n" * before + text + after)
    module = read_program([source])[0].modules[0]
    (call,) = (c for c in module.every(ast.Call) if getattr(c.func, "id", "") == "use")
    return [
        getattr(b.node, "lineno", 0) - before for b in bindings_of("loss", call.args[0], module)
    ]


@pytest.mark.parametrize("name", USES)
def test_many_are_as_few(name: str) -> None:
    few = seen(2, USES[name])
    assert few
    assert seen(200, USES[name]) == few
