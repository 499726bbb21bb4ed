"""CM324: names of variables in `fetch_list`: values of the graphs of Paddle 3 have none."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast_migrate.codemod import Codemod, Example, Outcome, Refusal
from crosscast_paddle.migration.experimental.paddle_names.modes import mode_of
from crosscast_paddle.migration.experimental.paddle_names.old_graphs import has_old_graphs
from crosscast_paddle.migration.experimental.paddle_two.fetches import fetch_list
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.sources.subject import Subject


def run(subject: Subject) -> Iterator[Outcome]:
    """Name what is fetched by its name, in programs that build the new graphs."""
    modules = subject.program.modules
    if (
        not modules
        or mode_of(modules, subject.beside) != "static"
        or any(map(has_old_graphs, modules))
    ):
        return
    for module in modules:
        for call in module.calls:
            for node in _named(call.node, module):
                yield Refusal(
                    span=module.span(node),
                    message=f"{module.text(node)} in fetch_list: values of the graphs of Paddle 3 "
                    "have no names",
                    hint="give executor.run the variables themselves",
                )


def _named(call: ast.Call, module: Module) -> Iterator[ast.Attribute]:
    """Yield each `x.name` that `executor.run` fetches."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "run":
        return
    found = fetch_list(call, module)
    items: list[ast.expr] = []
    if isinstance(found, ast.List | ast.Tuple):
        items = found.elts
    elif isinstance(found, ast.ListComp):
        items = [found.elt]
    for item in items:
        if isinstance(item, ast.Attribute) and item.attr == "name":
            yield item


_BEFORE = """\
import paddle

paddle.enable_static()
x = paddle.static.data("x", [None, 4])
loss = paddle.mean(paddle.static.nn.fc(x, 2))
exe = paddle.static.Executor()
wanted = [loss.name, x]
exe.run(feed=rows, fetch_list=[loss.name])  # one
exe.run(paddle.static.default_main_program(), rows, wanted)
exe.run(feed=rows, fetch_list=[var.name for var in (loss, x)])
print(loss.name)
"""
_FLUID = """\
import os
os.environ.setdefault("FLAGS_enable_pir_api", "0")  # the graphs of paddle.fluid, with names
import paddle

paddle.enable_static()
exe = paddle.static.Executor()
exe.run(feed=rows, fetch_list=[loss.name])
"""

CODEMOD = Codemod(
    code="CM324",
    name="paddle-fetched-names",
    api="paddle3",
    title="fetch_list=[loss.name] is named, because values of the graphs of Paddle 3 have no names",
    hints=("fetch_list", ".run("),
    examples=(
        Example(before=_BEFORE, after=_BEFORE, refused="loss.name in fetch_list"),
        Example(before=_FLUID, after=_FLUID),
    ),
    scope="every file",
    run=run,
    names_only=True,
)
