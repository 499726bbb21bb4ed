"""Lists of gradients that a function fills itself, however many functions a file has."""

from __future__ import annotations

import ast

from cpu_cost import calls_made
from crosscast.messages.source import Source
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.project import read_program
from crosscast_reading.trainstep.frames.weight_sources import holds_gradients

PART = """
def clip_{n}(model):
    {name} = []
    for p in model.parameters():
        {name}.append(p.grad)
    for g in {name}:
        g.mul_(0.5)
"""


def module_of(*names: str) -> Module:
    text = "".join(PART.format(n=n, name=name) for n, name in enumerate(names))
    program, _ = read_program([Source("train.py", text)])
    return program.modules[0]


def scaled(module: Module) -> list[ast.expr]:
    functions = [call.node.func for call in module.calls if call.method == "mul_"]
    return [function.value for function in functions if isinstance(function, ast.Attribute)]


def test_a_list_belongs_to_its_function() -> None:
    module = module_of("found", "found")
    other = PART.format(n=9, name="found").replace("p.grad", "p.name")
    mixed, _ = read_program([Source("train.py", PART.format(n=1, name="found") + other)])
    assert [holds_gradients(g, module) for g in scaled(module)] == [True, True]
    assert [holds_gradients(g, mixed.modules[0]) for g in scaled(mixed.modules[0])] == [True, False]


def test_four_times_as_many_functions_are_four_times_the_work() -> None:
    def cost(count: int) -> int:
        module = module_of(*["found"] * count)
        asked = scaled(module)
        return calls_made(lambda: [holds_gradients(g, module) for g in asked])

    assert cost(160) < 4.6 * cost(40)
