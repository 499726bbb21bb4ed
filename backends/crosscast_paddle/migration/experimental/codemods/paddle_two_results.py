"""CM325: calls of Paddle 2 that return something else in Paddle 3, under the same name."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast_migrate.codemod import Change, Codemod, Example, Outcome, Refusal
from crosscast_paddle.migration.experimental.paddle_names.modes import mode_of
from crosscast_paddle.migration.experimental.paddle_names.old_graphs import has_old_graphs
from crosscast_paddle.migration.experimental.paddle_two.changed_results import RESULT_OF
from crosscast_paddle.migration.experimental.paddle_two.tensor_methods import called
from crosscast_reading.edits.node_edits import replace_node
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.sources.subject import Subject


def run(subject: Subject) -> Iterator[Outcome]:
    """Ask once in each file; graphs of fluid have the old results."""
    modules = subject.program.modules
    if not modules or any(map(has_old_graphs, modules)):
        return
    graphs = mode_of(modules, subject.beside) == "static"
    files = [*subject.sources, *subject.beside]
    for module in modules:
        seen: set[str] = set()
        for call in module.calls:
            name = called(call, RESULT_OF)
            row = RESULT_OF.get(name)
            if row is None or module.is_dead(call.node) or (graphs and not row.in_graphs):
                continue
            if not row.concerns(call, files):
                continue
            if squeezed := _squeezed(call):
                yield _change(call, squeezed)
                continue
            if name in seen:
                continue
            seen.add(name)
            yield Refusal(
                span=module.span(call.node),
                message=f"{name.rpartition('.')[2]} {row.meaning}",
                hint=row.way,
            )


def _squeezed(call: Call) -> ast.Call | None:
    """Return `indices[0].squeeze(1)`, which only indices of the shape [N, 1] have."""
    item = call.module.parent(call.node)
    member = call.module.parent(item) if isinstance(item, ast.Subscript) else None
    whole = call.module.parent(member) if isinstance(member, ast.Attribute) else None
    if not isinstance(member, ast.Attribute) or member.attr != "squeeze":
        return None
    if not isinstance(whole, ast.Call) or whole.func is not member:
        return None
    given = [*whole.args, *(keyword.value for keyword in whole.keywords if keyword.arg == "axis")]
    ones = [value for value in given if isinstance(value, ast.Constant) and value.value == 1]
    return whole if len(ones) == len(whole.args) + len(whole.keywords) == 1 else None


def _change(call: Call, squeezed: ast.Call) -> Change:
    module, member = call.module, squeezed.func
    assert isinstance(member, ast.Attribute)
    indices = module.text(member.value)
    return Change(
        span=module.span(squeezed),
        message=f"{module.text(squeezed)} is {indices}.flatten(): the indices have one dimension "
        "since Paddle 3",
        edits=(replace_node(module, squeezed, f"{indices}.flatten()"),),
    )


_STEP = """\
import paddle
import paddle.nn.functional as F

loss = F.cross_entropy(model(images), labels)
loss.backward()
"""
_INDICES = _STEP + "rows = paddle.where(labels > 0)[0]\n"
_SQUEEZED = _STEP + "rows = paddle.where(labels > 0)[0].squeeze(axis=1).numpy()  # of them\n"
_FLAT = (
    _STEP
    + """\
rows = paddle.where(labels > 0)[0].flatten()
more = paddle.nonzero(labels, as_tuple=True)[0].shape[0]
pairs = paddle.nonzero(labels)
chosen = paddle.where(labels > 0, labels, more)
"""
)
_ALL = _STEP + "x, y = labels.nonzero(as_tuple=True)\n"
_IGNORED = _STEP + "padded = paddle.nn.CrossEntropyLoss(ignore_index=-1)(logits, labels)\n"
_PADDED = _STEP + "labels[lengths:] = -100\n"
_COUNTED = (
    _STEP
    + """\
one = F.cross_entropy(logits, labels, ignore_index=255)
two = F.cross_entropy(logits, labels, ignore_index=-1, reduction="sum")
shares = paddle.round(F.sigmoid(logits))
"""
)
_SAVED = (
    _STEP
    + """\
paddle.jit.save(model, "deploy/model")
predictor = paddle.inference.Config("deploy/model.pdmodel", "deploy/model.pdiparams")
"""
)
_ROUNDED = _STEP + "boxes = paddle.round(corners / 2)\n"

CODEMOD = Codemod(
    code="CM325",
    name="paddle-two-results",
    api="paddle3",
    title="Calls that return something else in Paddle 3: indices, the mean of a loss, halves",
    hints=("where", "nonzero", "cross_entropy", "CrossEntropyLoss", "round", "pdmodel", "save"),
    examples=(
        Example(before=_INDICES, after=_INDICES, refused="shape [N] in Paddle 3"),
        Example(before=_SQUEEZED, after=_SQUEEZED.replace("squeeze(axis=1)", "flatten()")),
        Example(before=_FLAT, after=_FLAT),
        Example(before=_ALL, after=_ALL, refused="nonzero returns indices"),
        Example(before=_IGNORED, after=_IGNORED, refused="divides by the number of all labels"),
        Example(before=_PADDED, after=_PADDED, refused="divides by the number of all labels"),
        Example(before=_COUNTED, after=_COUNTED),
        Example(before=_SAVED, after=_SAVED, refused="writes NAME.json in Paddle 3"),
        Example(before=_ROUNDED, after=_ROUNDED, refused="rounds halves"),
    ),
    run=run,
    scope="every file",
)
