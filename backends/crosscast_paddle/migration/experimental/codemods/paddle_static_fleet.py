"""CM323: static programs of fleet select the graphs that fleet can still change."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast_migrate.codemod import Change, Codemod, Example, Outcome, Refusal
from crosscast_paddle.migration.experimental.paddle_names.imports import (
    FLAG_NAME,
    flag_lines,
    is_paddle,
)
from crosscast_reading.edits.node_edits import insert_before
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.sources.subject import Subject

_FLEET = "paddle.distributed.fleet.distributed_optimizer"
_STATIC = "paddle.enable_static"
_CLEARS = ("clear_grad", "clear_gradients")


def run(subject: Subject) -> Iterator[Outcome]:
    """Set the flag before the first import of paddle in the program."""
    program = subject.program
    if any(FLAG_NAME in source.text for source in subject.sources):
        return
    if not _calls(program, _STATIC) or not (distributed := _calls(program, _FLEET)):
        return
    if any(call.method in _CLEARS for module in program.modules for call in module.calls):
        return  # it computes at once, and builds graphs for something else
    main = program.modules[0]
    found = next(filter(is_paddle, main.tree.body), None)
    if not isinstance(found, ast.stmt):
        module, call = distributed[0]
        yield Refusal(
            span=module.span(call),
            message="fleet cannot change the graphs that Paddle 3 builds by default, and the "
            "program does not import paddle where it begins",
            hint=f"set the environment variable {FLAG_NAME}=0 before paddle is imported",
        )
        return
    yield Change(
        span=main.span(found),
        message=f"{FLAG_NAME}=0 is set before paddle is imported, because fleet cannot change the "
        "graphs that Paddle 3 builds by default",
        edits=(insert_before(main, found, flag_lines(main, found)),),
    )


def _calls(program: Program, name: str) -> list[tuple[Module, ast.Call]]:
    return [
        (module, call.node)
        for module in program.modules
        for call in module.calls
        if call.names == (name,) and not module.is_dead(call.node)
    ]


_STEP = """\
paddle.enable_static()
loss = build()
strategy = fleet.DistributedStrategy()
strategy.amp = True
fleet.init(is_collective=True, strategy=strategy)
optimizer = fleet.distributed_optimizer(paddle.optimizer.Momentum(0.1))
optimizer.minimize(loss)
"""
_IMPORTS = "import paddle\nfrom paddle.distributed import fleet\n\n"
_FLAG = """\
import os
os.environ.setdefault("FLAGS_enable_pir_api", "0")  # the graphs of paddle.fluid, with names
"""
_LATE = "def train():\n" + "".join(
    f"    {line}\n" for line in (_IMPORTS + _STEP).splitlines() if line
)
_DYNAMIC = f"""\
{_IMPORTS}optimizer = fleet.distributed_optimizer(paddle.optimizer.Momentum(parameters=weights))
loss.backward()
optimizer.step()
"""
_EXPORTS = f"""\
{_DYNAMIC}optimizer.clear_grad()


def export():
    paddle.enable_static()
"""

CODEMOD = Codemod(
    code="CM323",
    name="paddle-static-fleet",
    api="paddle3",
    title="Static programs of paddle.distributed.fleet select the graphs that fleet can change",
    hints=("distributed_optimizer",),
    examples=(
        Example(before=_IMPORTS + _STEP, after=_FLAG + _IMPORTS + _STEP),
        Example(before=_DYNAMIC, after=_DYNAMIC),
        Example(before=_EXPORTS, after=_EXPORTS),
        Example(before=_LATE, after=_LATE, refused="fleet cannot change the graphs"),
    ),
    run=run,
)
