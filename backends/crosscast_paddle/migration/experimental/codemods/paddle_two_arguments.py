"""CM321: positional arguments that mean something else in Paddle 3 get their names."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast_migrate.codemod import Change, Codemod, Example, Outcome, Refusal
from crosscast_paddle.migration.experimental.paddle_two.moved_arguments import (
    BY_NAME,
    DEFAULTS,
    MovedArguments,
)
from crosscast_paddle.migration.experimental.paddle_two.tensor_methods import called
from crosscast_reading.edits.node_edits import insert_before
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.syntax.nodes import identifier
from crosscast_reading.sources.subject import Subject

_KNOWN = BY_NAME.keys() | DEFAULTS.keys()


def run(subject: Subject) -> Iterator[Outcome]:
    """Name the moved arguments of each call; ask where the order that was meant is not certain."""
    for module in subject.program.modules:
        for call in module.calls:
            name = called(call, _KNOWN)
            if module.is_dead(call.node):
                continue
            if name in BY_NAME:
                yield from _named(call, name, BY_NAME[name])
            elif name in DEFAULTS:
                yield from _default(call, name)


def _positional(call: Call) -> list[ast.expr]:
    """Return the positional arguments without the `self` of `Base.__init__(self, ...)`."""
    by_class = call.name.endswith(".__init__") and not isinstance(call.receiver, ast.Call)
    return call.node.args[1 if by_class else 0 :]


def _named(call: Call, name: str, row: MovedArguments) -> Iterator[Outcome]:
    node, short, given = call.node, name.rpartition(".")[2], _positional(call)
    if any(isinstance(argument, ast.Starred) for argument in given):
        return
    moved = given[row.kept : len(row.order)]
    if not moved or len(given) > len(row.order):
        return
    names = row.order[row.kept : row.kept + len(moved)]
    text = ", ".join(
        f"{name}={call.module.text(value)}" for name, value in zip(names, moved, strict=True)
    )
    if row.now and not _is_shown(row, dict(zip(names, moved, strict=True))):
        if all(isinstance(value, ast.Constant) and value.value is None for value in moved):
            return
        yield Refusal(
            span=call.module.span(node),
            message=f"the argument {call.module.text(moved[0])} of {short} is {names[0]} in Paddle "
            f"2 and {row.now} in Paddle 3",
            hint=f"write {text} if the program was written for Paddle 2, "
            f"else {row.now}={call.module.text(moved[0])}",
        )
        return
    yield Change(
        span=call.module.span(node),
        message=f"the arguments of {short} have their names, because their order is another one "
        "in Paddle 3",
        edits=tuple(
            insert_before(call.module, value, f"{name}=")
            for name, value in zip(names, moved, strict=True)
        ),
    )


def _is_shown(row: MovedArguments, given: dict[str, ast.expr]) -> bool:
    """Whether an argument shows the order of Paddle 2.

    A literal does where only that order has one of its type, and a name that is the parameter's.
    """
    return any(identifier(value) == name for name, value in given.items()) or any(
        name in given and _is_a(given[name], types) for name, types in row.shown_by
    )


def _is_a(node: ast.expr, types: tuple[type, ...]) -> bool:
    if isinstance(node, ast.List | ast.Tuple):
        return list in types
    return isinstance(node, ast.Constant) and type(node.value) in types


def _default(call: Call, name: str) -> Iterator[Outcome]:
    node, row = call.node, DEFAULTS[name]
    open_ended = any(isinstance(argument, ast.Starred) for argument in node.args) or any(
        keyword.arg is None for keyword in node.keywords
    )
    given = {keyword.arg for keyword in node.keywords}
    if open_ended or len(node.args) > row.place or row.parameter in given:
        return
    short = name.rpartition(".")[2]
    yield Refusal(
        span=call.module.span(node),
        message=f"{short} without {row.parameter}: its default is {row.before} in Paddle 2 and "
        f"{row.now} in Paddle 3",
        hint=f"write {row.parameter}={row.before} if the program was written for Paddle 2, else "
        f"{row.parameter}={row.now}",
    )


_STEP = "loss.backward()\noptimizer.step()\n"
_BEFORE = """\
import paddle
from paddle.nn import Conv2D, Embedding

words = Embedding(1000, 16, None, True, paddle.ParamAttr(name="words"))  # sparse gradients
plain = Embedding(1000, 16, 0)
pixels = Conv2D(3, 8, 3, 1, 1, 1, 1, "reflect", None, False)
drop = paddle.nn.Dropout(0.1, None, "downscale_in_infer")
norm = paddle.nn.LayerNorm(16, 1e-6, paddle.ParamAttr(name="scale"))
"""
_AFTER = """\
import paddle
from paddle.nn import Conv2D, Embedding

words = Embedding(1000, 16, None, sparse=True, weight_attr=paddle.ParamAttr(name="words"))  \
# sparse gradients
plain = Embedding(1000, 16, 0)
pixels = Conv2D(3, 8, 3, 1, 1, 1, 1, padding_mode="reflect", weight_attr=None, bias_attr=False)
drop = paddle.nn.Dropout(0.1, axis=None, mode="downscale_in_infer")
norm = paddle.nn.LayerNorm(16, 1e-6, weight_attr=paddle.ParamAttr(name="scale"))
"""
_PASSED_ON = """\
import paddle


class Words(paddle.nn.Layer):
    def __init__(self, size, width, sparse=False, weight_attr=None):
        super().__init__()
        self.table = paddle.nn.Embedding(size, width, None, sparse, weight_attr)
"""
_BOUND = """\
import paddle

table = paddle.nn.Embedding(1000, 16, None, limit)
"""
_BOTH_WAYS = """\
import paddle

paddle.distributed.alltoall(sent, received)
"""
_UNIFORM = """\
import paddle

noise = paddle.uniform([4, 8])
"""
_BASES = """\
import paddle
from paddle.nn import Conv2D, Embedding


class Padded(Conv2D):
    def __init__(self, mode, attr):
        super().__init__(3, 8, 3, 1, 1, 1, 1, mode, attr)


class Words(Embedding):
    def __init__(self, count):
        Embedding.__init__(self, count, 16, None, True)


class Deep(Words):
    def __init__(self, count, a, b, c):
        super().__init__(count, a, b, c)


"""
_NOISE = """\
import paddle

noise = paddle.empty([4, 8])
noise.uniform_()
"""
_GIVEN = """\
import paddle

noise = paddle.uniform([4, 8], min=-1.0)
more = paddle.uniform([4, 8], "float32", 0.0)
drop = paddle.nn.Dropout(0.1, mode="downscale_in_infer")
"""

CODEMOD = Codemod(
    code="CM321",
    name="paddle-two-arguments",
    api="paddle3",
    title="Positional arguments and defaults of Paddle 2 that mean something else in Paddle 3",
    hints=(
        "Embedding",
        "embedding",
        "Dropout",
        "dropout",
        "LayerNorm",
        "GroupNorm",
        "Conv1D",
        "Conv2D",
        "Conv3D",
        "AdamW",
        "alltoall",
        "alltoall_single",
        "uniform",
        "DataLoader",
    ),
    examples=(
        Example(before=_BEFORE + _STEP, after=_AFTER + _STEP),
        Example(
            before=_BOUND + _STEP,
            after=_BOUND + _STEP,
            refused="is sparse in Paddle 2 and max_norm",
        ),
        Example(
            before=_PASSED_ON + _STEP,
            after=_PASSED_ON.replace(
                "None, sparse, weight_attr", "None, sparse=sparse, weight_attr=weight_attr"
            )
            + _STEP,
        ),
        Example(
            before=_BOTH_WAYS + _STEP,
            after=_BOTH_WAYS + _STEP,
            refused="in_tensor_list in Paddle 2",
        ),
        Example(
            before=_UNIFORM + _STEP,
            after=_UNIFORM + _STEP,
            refused="its default is -1.0 in Paddle 2",
        ),
        Example(before=_GIVEN + _STEP, after=_GIVEN + _STEP),
        Example(
            before=_BASES + _STEP,
            after=_BASES.replace(
                "1, mode, attr)", "1, padding_mode=mode, weight_attr=attr)"
            ).replace("None, True", "None, sparse=True")
            + _STEP,
        ),
        Example(before=_NOISE + _STEP, after=_NOISE + _STEP, refused="uniform_ without min"),
    ),
    run=run,
    scope="every file",
)
