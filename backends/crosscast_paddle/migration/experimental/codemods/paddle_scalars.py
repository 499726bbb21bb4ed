"""CM322: `loss.numpy()[0]` to `loss.item()`, because a scalar of Paddle 3 has no dimension."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast_migrate.codemod import Change, Codemod, Example, Outcome, Refusal
from crosscast_paddle.migration.experimental.paddle_names.old_graphs import has_old_graphs
from crosscast_paddle.migration.experimental.paddle_two.fetches import is_fetched_scalar
from crosscast_paddle.migration.experimental.paddle_two.possible_scalars import (
    is_of_arrays,
    may_be_scalar,
)
from crosscast_paddle.migration.experimental.paddle_two.scalars import is_scalar
from crosscast_reading.edits.node_edits import replace_node
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.sources.subject import Subject


def run(subject: Subject) -> Iterator[Outcome]:
    """Change each first element that is taken of a scalar."""
    modules = subject.program.modules
    minimized = not any(has_old_graphs(module) for module in modules)
    for module in modules:
        for node in module.every(ast.Subscript):
            if _is_first(node) and is_fetched_scalar(node.value, module, minimized=minimized):
                yield _change(node, node.value, module)
                continue
            tensor = _tensor(node)
            if module.is_dead(node) or not _is_first(node):
                continue
            if tensor is None and is_scalar(node.value, module):
                yield _refused(node, module)
            elif tensor is None and is_of_arrays(node.value, module):
                yield _asked(node, node.value, module)
            elif tensor is not None and is_scalar(tensor, module):
                yield _change(node, tensor, module)
            elif tensor is not None and may_be_scalar(tensor, module):
                yield _asked(node, tensor, module)


def _change(node: ast.Subscript, scalar: ast.expr, module: Module) -> Change:
    text = module.text(scalar)
    return Change(
        span=module.span(node),
        message=f"{module.text(node)} is {text}.item(): {text} has no dimension since Paddle 2.5",
        edits=(replace_node(module, node, f"{text}.item()"),),
    )


def _tensor(node: ast.Subscript) -> ast.expr | None:
    """Return `x` of `x.numpy()[0]`."""
    call = node.value
    if not _is_first(node) or not isinstance(call, ast.Call):
        return None
    if call.args or call.keywords or not isinstance(call.func, ast.Attribute):
        return None
    return call.func.value if call.func.attr == "numpy" else None


def _is_first(node: ast.Subscript) -> bool:
    """Whether the first element is read."""
    index = node.slice
    zero = isinstance(index, ast.Constant) and index.value == 0 and index.value is not False
    return zero and isinstance(node.ctx, ast.Load)


def _refused(node: ast.Subscript, module: Module) -> Refusal:
    text = module.text(node.value)
    return Refusal(
        span=module.span(node),
        message=f"{module.text(node)} fails: {text} has no dimension since Paddle 2.5",
        hint=f"write {text} for the tensor, or {text}.item() for the number",
    )


def _asked(node: ast.Subscript, scalar: ast.expr, module: Module) -> Refusal:
    text = module.text(scalar)
    return Refusal(
        span=module.span(node),
        message=f"{module.text(node)} fails if {text} is a mean or a sum of all, which has no "
        "dimension since Paddle 2.5",
        hint=f"write {text}.item() if it is one number",
    )


_MADE = """\
import paddle

criterion = paddle.nn.CrossEntropyLoss()
each = paddle.nn.CrossEntropyLoss(reduction="none")
for images, labels in loader:
    logits = model(images)
    loss = criterion(logits, labels)
    losses = each(logits, labels)
    rows = paddle.mean(logits, axis=1)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    accuracy = paddle.metric.accuracy(logits, labels)
"""
_LOSS = """\
import paddle

for images, labels in loader:
    logits, loss = model(images, labels)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
"""
_GRAPH = """\
import paddle

paddle.enable_static()
x = paddle.static.data("x", [None, 4])
logits = paddle.static.nn.fc(x, 2)
loss = own_loss(logits)
accuracy = paddle.mean(logits)
paddle.optimizer.SGD(0.1).minimize(loss)
exe = paddle.static.Executor()
"""
_FETCHED = """\
for rows in loader:
    shown = exe.run(feed=rows, fetch_list=[loss])[0][0]  # a number
    cost, rate, out = exe.run(feed=rows, fetch_list=[loss, accuracy, logits])
    print(cost[0], rate[0], out[0])
    all_of_it = exe.run(None, rows, [logits, loss])
    print(all_of_it[0][0], float(all_of_it[1][0]))
"""
_ITEMS = """\
for rows in loader:
    shown = exe.run(feed=rows, fetch_list=[loss])[0].item()  # a number
    cost, rate, out = exe.run(feed=rows, fetch_list=[loss, accuracy, logits])
    print(cost.item(), rate.item(), out[0])
    all_of_it = exe.run(None, rows, [logits, loss])
    print(all_of_it[0][0], float(all_of_it[1].item()))
"""
_NAMED_GRAPH = """\
import os
os.environ.setdefault("FLAGS_enable_pir_api", "0")  # the graphs of paddle.fluid, with names
"""

_SCALED = """\
import paddle

for images, labels in loader:
    losses = model(images, labels)
    loss = sum(losses.values())
    scaled = scaler.scale(loss)
    scaled.backward()
    scaler.minimize(optimizer, scaled)
    total += loss.numpy()[0]
    rows = preprocessing.scale(images)
    print(rows.numpy()[0])
"""

_OWN = """\
import paddle

for images, labels in loader:
    loss_list, features = criterion(model(images), labels)
    sum(loss_list).backward()
    kept = [one.numpy() for one in loss_list]
    rows = [row.numpy() for row in features]
    print([row[0] for row in rows], features.numpy()[0], accuracies[0])
"""

CODEMOD = Codemod(
    code="CM322",
    name="paddle-scalars",
    api="paddle3",
    title="loss.numpy()[0] becomes loss.item(), because scalars have no dimension since Paddle 2.5",
    hints=("[0]",),
    examples=(
        Example(
            before=_MADE + "    print(loss.numpy()[0], accuracy.numpy()[0])  # a line\n"
            "    print(losses.numpy()[0], rows.numpy()[0])\n",
            after=_MADE + "    print(loss.item(), accuracy.item())  # a line\n"
            "    print(losses.numpy()[0], rows.numpy()[0])\n",
        ),
        Example(
            before=_LOSS + "    print(loss.numpy()[0], logits.numpy()[0])\n",
            after=_LOSS + "    print(loss.item(), logits.numpy()[0])\n",
        ),
        Example(
            before=_LOSS + "    print(logits.numpy()[0], loss.item())\n",
            after=_LOSS + "    print(logits.numpy()[0], loss.item())\n",
        ),
        Example(
            before=_MADE + "    print(loss[0])\n",
            after=_MADE + "    print(loss[0])\n",
            refused="loss[0] fails",
        ),
        Example(before=_GRAPH + _FETCHED, after=_GRAPH + _ITEMS),
        Example(
            before=_NAMED_GRAPH + _GRAPH + "print(exe.run(feed=rows, fetch_list=[loss])[0][0])\n",
            after=_NAMED_GRAPH + _GRAPH + "print(exe.run(feed=rows, fetch_list=[loss])[0][0])\n",
        ),
        Example(before=_OWN, after=_OWN),
        *(
            Example(before=_OWN + line, after=_OWN + line, refused=refused)
            for line, refused in (
                ("    print([k[0] / 2 for k in kept])\n", ""),
                ("    print([one[0] / 2 for one in loss_kept])\n", ""),
                ("    acc = validate(model)\n    print(acc.numpy()[0])\n", "acc is a mean"),
                ("    print(sum(v.numpy()[0] for v in loss_list))\n", "if v is a mean"),
                ("    print(self.val_loss.numpy()[0])\n", "if self.val_loss is a mean"),
            )
        ),
        Example(
            before=_OWN.replace("kept", "avg_losses") + "    print([k[0] for k in avg_losses])\n",
            after=_OWN.replace("kept", "avg_losses") + "    print([k[0] for k in avg_losses])\n",
            refused="k[0] fails if k is a mean",
        ),
        Example(before=_SCALED, after=_SCALED.replace("loss.numpy()[0]", "loss.item()")),
    ),
    run=run,
)
