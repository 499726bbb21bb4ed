"""CM322: `loss.numpy()[0]` to `loss.item()`, because a scalar of Paddle 3 has no dimension."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast.edits.node_edits import replace_node
from crosscast.migrate.codemod import Change, Codemod, Example, Outcome, Refusal
from crosscast.migrate.paddle_two.scalars import is_scalar
from crosscast.pysource.programs.module import Module
from crosscast.sources.subject import Subject


def run(subject: Subject) -> Iterator[Outcome]:
    """Change each first element that is taken of a scalar."""
    for module in subject.program.modules:
        for node in module.every(ast.Subscript):
            tensor = _tensor(node)
            if tensor is None and _is_first(node) and is_scalar(node.value, module):
                yield _refused(node, module)
            if tensor is None or module.is_dead(node) or not is_scalar(tensor, module):
                continue
            text = module.text(tensor)
            yield Change(
                span=module.span(node),
                message=f"{module.text(node)} is {text}.item(): {text} has no dimension since "
                "Paddle 2.5",
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
        Example(before=_SCALED, after=_SCALED.replace("loss.numpy()[0]", "loss.item()")),
    ),
    run=run,
)
