"""CM302: mixed precision of static graphs, which Paddle 3 asks for in another form, is named."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast_migrate.codemod import Codemod, Example, Outcome, Refusal
from crosscast_paddle.migration.experimental.paddle_fluid import guarded
from crosscast_paddle.reading.static import is_static
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.sources.subject import Subject

_FLUID = "paddle.fluid.contrib.mixed_precision"
_DECORATE = "paddle.static.amp.decorate"
_NAMES = (f"{_FLUID}.decorate", _DECORATE, "paddle.static.amp.bf16.decorate_bf16")
_STATE = (
    "in Paddle 3 it neither casts nor scales on its own",
    f"it was removed, and {_DECORATE} of Paddle 3 neither casts nor scales on its own",
)
_HINT = (
    'build the network under paddle.amp.auto_cast(level="O1", dtype="float16"), write '
    'decorate(optimizer, level="O1", dtype="float16", master_weight=False), and call '
    "paddle.amp.GradScaler(...).minimize(optimizer, scaler.scale(loss)) with the scale that "
    "decorate has: before Paddle 2.5 its defaults are init_loss_scaling=2.0**15, incr_ratio=2.0, "
    "decr_ratio=0.8, incr_every_n_steps=1000, decr_every_n_nan_or_inf=2; or let "
    "`crosscast migrate SOURCE --to paddle -o DIR` create a new script"
)
_SCRIPT = "let `crosscast migrate SOURCE --to paddle -o DIR` create a script with dynamic graphs"


def run(subject: Subject) -> Iterator[Outcome]:
    """Name each decorated optimizer, and strategies of fleet."""
    program = subject.program
    if any("FLAGS_enable_pir_api" in source.text for source in subject.sources):
        return  # the program selects its graph representation itself
    for call in _calls(program):
        if _is_old(call, program):
            yield Refusal(
                span=call.module.span(call.node),
                message=f"{call.name} is unchanged, although {_STATE[call.name != _DECORATE]}",
                hint=_HINT,
            )
    yield from _fleet(program)


def _calls(program: Program) -> Iterator[Call]:
    for module in program.modules:
        yield from module.calls


def _is_old(call: Call, program: Program) -> bool:
    """Whether a call certainly decorates an optimizer that is not used with a GradScaler."""
    if call.name not in _NAMES or len(call.names) != 1 or guarded(call.module, [_FLUID]):
        return False
    return call.name != _DECORATE or not any(
        call.name == "paddle.amp.GradScaler.minimize" for call in _calls(program)
    )


def _fleet(program: Program) -> Iterator[Refusal]:
    """Name strategies of fleet for static programs, which Paddle 3 does not build."""
    if not is_static(program):
        return
    for module in program.modules:
        for node in module.every(ast.Assign):
            target = node.targets[0]
            if isinstance(target, ast.Attribute) and target.attr in ("amp", "use_amp"):
                made = module.resolve(target.value)
                if made.startswith("paddle.") and made.endswith("DistributedStrategy"):
                    yield Refusal(
                        span=module.span(node),
                        message=f"{module.text(target)}: fleet of Paddle 3 does not build static "
                        "programs with mixed precision",
                        hint=_SCRIPT,
                    )


_GRAPH = """\
import paddle

paddle.enable_static()
images = paddle.static.data("images", [8, 4])
loss = paddle.mean(paddle.nn.Linear(4, 2)(images))
optimizer = paddle.optimizer.Momentum(0.1)
"""
_OLD = f"""\
{_GRAPH}optimizer = paddle.static.amp.decorate(optimizer, init_loss_scaling=1024.0)
optimizer.minimize(loss)
"""
_NEW = f"""\
{_GRAPH}optimizer = paddle.static.amp.decorate(optimizer, level="O1", dtype="float16")
scaler = paddle.amp.GradScaler(init_loss_scaling=1024.0)
scaler.minimize(optimizer, scaler.scale(loss))
"""

CODEMOD = Codemod(
    code="CM302",
    name="paddle-static-amp",
    api="paddle3",
    title="decorate of static graphs, which needs auto_cast and a GradScaler in Paddle 3, is named",
    hints=("mixed_precision", "static.amp", "decorate", "DistributedStrategy"),
    examples=(
        Example(before=_OLD, after=_OLD, refused="it neither casts nor scales on its own"),
        Example(before=_NEW, after=_NEW),
    ),
    run=run,
    names_only=True,
)
