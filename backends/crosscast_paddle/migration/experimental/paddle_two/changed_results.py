"""Functions of Paddle 2 whose results are other ones in Paddle 3, under the same name, as data.

Measured in 2.6.2 and 3.3.1; a test computes the examples of every row in both.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from crosscast.messages.source import Source
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.readers.python.ignored_labels import counts_ignored

_FLAT = ("numel", "flatten", "size", "squeeze")
_OLD_MODEL = re.compile(r"""\.pdmodel['"]""")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedResult:
    """Calls with another result, and what to write for the one of Paddle 2."""

    names: tuple[str, ...]
    concerns: Callable[[Call, Sequence[Source]], bool]
    """Whether the difference can be seen in the result of a call, among all files given."""
    meaning: str
    way: str
    example: str
    """An expression that differs between the releases, of names in the test."""
    in_graphs: bool = False
    """Whether graphs have the other result, too."""


def _with_axis_of_one(call: Call, _: Sequence[Source]) -> bool:
    """Whether a call returns indices, of which the second dimension is looked at."""
    if call.method == "where":
        if len(call.node.args) + len(call.node.keywords) != 1:
            return False
    elif not _is_true(_given(call, "as_tuple", 1)):
        return False
    item = call.module.parent(call.node)
    if not isinstance(item, ast.Subscript):
        return True
    member = call.module.parent(item)
    if not isinstance(member, ast.Attribute):
        return True
    if member.attr == "shape":
        place = call.module.parent(member)
        return not (isinstance(place, ast.Subscript) and call.module.text(place.slice) == "0")
    return member.attr not in _FLAT or _has_arguments(call.module.parent(member))


def _has_arguments(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Call) and bool(node.args or node.keywords)


def _counts_ignored(call: Call, _: Sequence[Source]) -> bool:
    return counts_ignored(call)


def _of_any_number(call: Call, _: Sequence[Source]) -> bool:
    """Whether the argument may be a half; a probability of `sigmoid` hardly is."""
    given = call.node.args[0] if call.node.args else None
    if not isinstance(given, ast.Call):
        return True
    return not call.module.call(given).method.lower().endswith(("sigmoid", "softmax"))


def _is_read(_: Call, sources: Sequence[Source]) -> bool:
    """Whether a file with the old suffix is named in any of the files."""
    return any(_OLD_MODEL.search(source.text) for source in sources)


def _given(call: Call, name: str, place: int) -> ast.expr | None:
    if place < len(call.node.args):
        return call.node.args[place]
    return next((k.value for k in call.node.keywords if k.arg == name), None)


def _is_true(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


RESULTS = (
    ChangedResult(
        names=("paddle.where", "paddle.nonzero", "paddle.Tensor.nonzero"),
        concerns=_with_axis_of_one,
        meaning="returns indices of the shape [N] in Paddle 3, and [N, 1] in Paddle 2",
        way="add .unsqueeze(-1) to each of them if the program was written for Paddle 2",
        example="paddle.where(flags)[0]",
    ),
    ChangedResult(
        names=("paddle.nn.functional.cross_entropy", "paddle.nn.CrossEntropyLoss"),
        concerns=_counts_ignored,
        meaning="divides by the number of all labels in Paddle 3, and not of those that count, if "
        "the ignored label is below zero",
        way='give reduction="sum" and divide by the number of labels that count, or write the '
        "ignored label as one that is not below zero, in the data and as ignore_index",
        example="paddle.nn.functional.cross_entropy(logits, labels, ignore_index=-1)",
    ),
    ChangedResult(
        names=("paddle.round",),
        concerns=_of_any_number,
        meaning="rounds halves to the even number in Paddle 3, and away from zero in Paddle 2",
        way="write paddle.sign(x) * paddle.floor(paddle.abs(x) + 0.5) where x can be a half",
        example="paddle.round(x)",
    ),
    ChangedResult(
        names=("paddle.jit.save", "paddle.static.save_inference_model"),
        concerns=_is_read,
        meaning="writes NAME.json in Paddle 3, and NAME.pdmodel in Paddle 2, which is read here",
        way="read NAME.json, or set the environment variable FLAGS_enable_pir_api=0 before paddle "
        "is imported where the model is saved",
        example="saved('.pdmodel')",
        in_graphs=True,
    ),
)
RESULT_OF = {name: row for row in RESULTS for name in row.names}
