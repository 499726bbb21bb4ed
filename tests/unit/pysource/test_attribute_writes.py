"""Attributes that subclasses, callers and `setattr` assign are no constants of their class."""

from __future__ import annotations

import ast

import pytest

from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.pysource.values.value import Known, Unknown

from .conftest import Build

BASE = """\
from dataclasses import dataclass

class Base:
    kind = "fp32"

    def __init__(self, **more):
        self.size = 1

    def train(self):
        if self.kind == "bf16":
            use(self.kind, self.size)

@dataclass
class Made:
    kind: str = "fp32"

    def train(self):
        show(self.kind)
"""
WRITTEN = {
    "a subclass": 'class Sub(Base):\n    kind = "bf16"\n    size = 2\n',
    "the constructor of a subclass": (
        "class Sub(Base):\n    def __init__(self):\n        super().__init__()\n"
        '        self.kind, self.size = "bf16", 2\n'
    ),
    "a method of a subclass": (
        "class Sub(Base):\n    def set_up(self):\n"
        '        self.kind = "bf16"\n        self.size = 2\n'
    ),
    "a subclass of a subclass": (
        'class Sub(Base):\n    pass\n\nclass Last(Sub):\n    kind = "bf16"\n    size = 2\n'
    ),
    "a mixin": (
        'class Half:\n    kind = "bf16"\n    size = 2\n\nclass Sub(Half, Base):\n    pass\n'
    ),
    "a property": (
        "class Sub(Base):\n    @property\n    def kind(self):\n        return pick()\n\n"
        "    @functools.cached_property\n    def size(self):\n        return pick()\n"
    ),
    "a caller": 'trainer = Base()\ntrainer.kind = "bf16"\ntrainer.size += 1\n',
    "a function that gets it": (
        'def change(it):\n    it.kind = "bf16"\n    it.size = 2\n\nchange(Base())\n'
    ),
    "a function by its name": 'def change(base):\n    base.kind = "bf16"\n    base.size = 2\n',
    "through the class": 'Base.kind = "bf16"\nBase.size = 2\n',
    "setattr": 'trainer = Base()\nsetattr(trainer, "kind", "bf16")\nsetattr(trainer, "size", 2)\n',
    "setattr of any": "it = Base()\nfor key, value in given:\n    setattr(it, key, value)\n",
    "a dictionary": 'trainer = Base()\nvars(trainer).update(kind="bf16", size=2)\n',
    "any dictionary": "trainer = Base()\ntrainer.__dict__.update(given)\n",
}
KEPT = {
    "nothing": "",
    "another class": 'class Other:\n    kind = "bf16"\n    size = 2\n',
    "another object": 'other = Other()\nother.kind = "bf16"\nother.size = 2\n',
    "another attribute": "trainer = Base()\ntrainer.kinds = 3\ntrainer.sizes = 3\n",
    "the same value": 'class Sub(Base):\n    kind = "fp32"\n    size = 1\n',
    "a base of its own": 'class Sub(Base):\n    def kinds(self):\n        self.sort = "bf16"\n',
    "setattr of another": 'setattr(Other(), "kind", "bf16")\nsetattr(Other(), "size", 2)\n',
    "an overridden method": "class Sub(Base):\n    def train(self):\n        pass\n",
}


@pytest.mark.parametrize("name", WRITTEN)
def test_written_elsewhere(build: Build, name: str) -> None:
    program = build(BASE + WRITTEN[name])
    for text in ("self.kind", "self.size"):
        node, module = _used(program, "use", text)
        assert isinstance(evaluate(node, module), Unknown), (name, text)


@pytest.mark.parametrize("name", KEPT)
def test_a_constant_of_its_class(build: Build, name: str) -> None:
    program = build(BASE + KEPT[name])
    for text, value in (("self.kind", "fp32"), ("self.size", 1)):
        found = evaluate(*_used(program, "use", text))
        assert isinstance(found, Known), (name, text)
        assert found.value == value


def test_in_another_file(build: Build) -> None:
    other = 'from main import Base\n\nclass Sub(Base):\n    kind = "bf16"\n'
    program = build(files={"main.py": BASE, "other.py": other})
    found = evaluate(*_used(program, "use", "self.kind"))
    assert isinstance(found, Unknown)
    assert found.reason == "other places than its class set it: other.py:4"


@pytest.mark.parametrize(("given", "kept"), [('kind="bf16"', False), ('"bf16"', False), ("", True)])
def test_fields_of_dataclasses(build: Build, given: str, kept: bool) -> None:
    program = build(f"{BASE}Made({given}).train()\n")
    assert isinstance(evaluate(*_used(program, "show", "self.kind")), Known) is kept


def _used(program: Program, function: str, text: str) -> tuple[ast.expr, Module]:
    """Return an argument of the call of a function."""
    module = program.modules[0]
    calls = [call.node for call in module.calls if module.text(call.node.func) == function]
    (node,) = (node for node in calls[0].args if module.text(node) == text)
    return node, module
