"""CM303: arguments of paddle.amp.decorate whose position changed in Paddle 2.5."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast_migrate.codemod import Change, Codemod, Example, Outcome, Refusal
from crosscast_reading.edits.node_edits import insert_before
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.sources.subject import Subject

_NAMES = ("paddle.amp.decorate", "paddle.amp.amp_decorate")
_OLD = ("master_weight", "save_dtype")
"""Fourth and fifth until 2.4; since 2.5 dtype is the fourth and master_weight the fifth."""
_KEPT = 3
"""models, optimizers and level have kept their positions."""
_TYPES = ("float16", "bfloat16", "float32")


def run(subject: Subject) -> Iterator[Outcome]:
    """Name the arguments that certainly follow the old signature; refuse ambiguous ones."""
    for module in subject.program.modules:
        for call in module.calls:
            if call.name in _NAMES and len(call.names) == 1 and len(call.node.args) > _KEPT:
                yield from _outcome(call)


def _outcome(call: Call) -> Iterator[Outcome]:
    module, places = call.module, call.node.args[_KEPT:]
    first = places[0]
    if isinstance(first, ast.Constant) and first.value in _TYPES:
        return  # dtype: written for the current signature
    certain = isinstance(first, ast.Constant) and first.value in (True, False, None)
    starred = any(isinstance(argument, ast.Starred) for argument in call.node.args)
    if not certain or starred or len(places) > len(_OLD):
        yield Refusal(
            span=module.span(first),
            message=f"{module.text(first)} is master_weight up to Paddle 2.4 and dtype since 2.5",
            hint="pass it by name",
        )
        return
    yield Change(
        span=module.span(call.node),
        message=f"{' and '.join(_OLD[: len(places)])} by name: since Paddle 2.5 dtype is there",
        edits=tuple(
            insert_before(module, argument, f"{name}=")
            for argument, name in zip(places, _OLD, strict=False)
        ),
    )


_BEFORE = """\
import paddle

model, optimizer = paddle.amp.decorate(
    model, optimizer, "O2", None, "float32"  # saved in float32
)
"""
_AFTER = """\
import paddle

model, optimizer = paddle.amp.decorate(
    model, optimizer, "O2", master_weight=None, save_dtype="float32"  # saved in float32
)
"""
_PRESENT = """\
import paddle

model, optimizer = paddle.amp.decorate(model, optimizer, "O2", "bfloat16", True)
"""
_EITHER = """\
import paddle

model, optimizer = paddle.amp.decorate(model, optimizer, "O2", wanted)
"""

CODEMOD = Codemod(
    code="CM303",
    name="paddle-decorate-places",
    api="paddle3",
    title="positional master_weight and save_dtype of paddle.amp.decorate become keyword arguments",
    hints=("decorate",),
    examples=(
        Example(before=_BEFORE, after=_AFTER),
        Example(before=_PRESENT, after=_PRESENT),
        Example(before=_EITHER, after=_EITHER, refused="up to Paddle 2.4 and dtype since 2.5"),
    ),
    run=run,
)
