"""CM324: `fetch_list=[loss.name]` to `fetch_list=[loss]`: values of new graphs have no names."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast_migrate.codemod import Change, Codemod, Example, Outcome, Refusal
from crosscast_paddle.migration.experimental.paddle_names.modes import mode_of
from crosscast_paddle.migration.experimental.paddle_names.old_graphs import has_old_graphs
from crosscast_paddle.migration.experimental.paddle_two.fetches import fetch_list, only_fetches
from crosscast_reading.edits.node_edits import replace_node
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.sources.subject import Subject


def run(subject: Subject) -> Iterator[Outcome]:
    """Change the lists of each file together, in programs that build the new graphs."""
    modules = subject.program.modules
    if (
        not modules
        or mode_of(modules, subject.beside) != "static"
        or any(map(has_old_graphs, modules))
    ):
        return
    for module in modules:
        named: dict[ast.Attribute, None] = {}
        for call in module.calls:
            found = dict.fromkeys(_named(call.node, module))
            name = _shared(call.node, module)
            if found and name:
                yield _refused(call.node, name, module)
            else:
                named |= found
        if named:
            texts = ", ".join(dict.fromkeys(map(module.text, named)))
            yield Change(
                span=module.span(next(iter(named))),
                message=f"{texts} in fetch_list: the variable itself, because values of graphs "
                "have no names in Paddle 3",
                edits=tuple(replace_node(module, node, module.text(node.value)) for node in named),
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


def _shared(call: ast.Call, module: Module) -> str:
    """Return the name of a fetched list that is also used elsewhere; empty if there is none."""
    given = (*call.args, *(keyword.value for keyword in call.keywords))
    names = (node.id for node in given if isinstance(node, ast.Name))
    lists = (name for name in names if not only_fetches(name, module))
    return next((name for name in lists if _is_fetched(call, name, module)), "")


def _is_fetched(call: ast.Call, name: str, module: Module) -> bool:
    item = next(_named(call, module), None)
    statement = module.statement_of(item) if item is not None else None
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return any(isinstance(target, ast.Name) and target.id == name for target in targets)


def _refused(call: ast.Call, name: str, module: Module) -> Refusal:
    return Refusal(
        span=module.span(call),
        message=f"{name} has names of variables, which the graphs of Paddle 3 cannot fetch, and "
        "is used elsewhere",
        hint="give executor.run the variables themselves",
    )


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
_AFTER = """\
import paddle

paddle.enable_static()
x = paddle.static.data("x", [None, 4])
loss = paddle.mean(paddle.static.nn.fc(x, 2))
exe = paddle.static.Executor()
wanted = [loss, x]
exe.run(feed=rows, fetch_list=[loss])  # one
exe.run(paddle.static.default_main_program(), rows, wanted)
exe.run(feed=rows, fetch_list=[var for var in (loss, x)])
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
_SHOWN = """\
import paddle

paddle.enable_static()
exe = paddle.static.Executor()
wanted = [loss.name]
print(wanted, exe.run(feed=rows, fetch_list=wanted))
"""

CODEMOD = Codemod(
    code="CM324",
    name="paddle-fetched-names",
    api="paddle3",
    title="fetch_list=[loss.name] becomes fetch_list=[loss], because values of the graphs of "
    "Paddle 3 have no names",
    hints=("fetch_list", ".run("),
    examples=(
        Example(before=_BEFORE, after=_AFTER),
        Example(before=_FLUID, after=_FLUID),
        Example(before=_SHOWN, after=_SHOWN, refused="wanted has names of variables"),
    ),
    scope="every file",
    run=run,
)
