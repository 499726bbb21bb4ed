"""Schedules of TensorFlow whose length counts batches, where sums of gradients are applied."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from crosscast_reading.lint.answers.windows import ACCUMULATES
from crosscast_reading.pysource.syntax.nodes import identifier
from crosscast_reading.readers.python.value_flow import flow_of
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.answers.summed_gradients import windowed_sums
from crosscast_tensorflow.reading.sum_windows import window_of
from crosscast_tensorflow.rules.schedule._replica_lengths import (
    LengthInBatches,
    counted,
    lengths,
    sizes,
)

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.program import Program
    from crosscast_tensorflow.reading.sum_windows import SumWindow


def lengths_in_batches(
    subject: Subject, program: Program
) -> Iterator[tuple[LengthInBatches, SumWindow]]:
    """Yield lengths of `rows // batch * epochs` if one update takes several such batches.

    A count of calls ends the windows: a loop over parts of one batch makes an update per batch.
    """
    windows = [window_of(total) for total, _ in windowed_sums(subject)]
    window = next((window for window in windows if window is not None), None)
    if window is None or window.never:
        return
    of_data = {module.text(size) for module in program.modules for size in sizes(module)}
    of_window = _words(node for node, _ in flow_of(window.length, window.module))
    seen: set[ast.AST] = set()
    for call, node in lengths(program):
        parts = flow_of(node, call.module, counted)
        words = _words(part for part, _ in parts)
        if words & of_window or any(ACCUMULATES.search(word) for word in words):
            continue
        if not any("epoch" in word.lower() for word in words):
            continue
        for part, module in parts:
            match part:
                case ast.BinOp(op=ast.FloorDiv() | ast.Div(), right=right) if part not in seen:
                    if module.text(right) in of_data:
                        seen.add(part)
                        length = LengthInBatches(
                            call=call,
                            node=node,
                            quotient=part,
                            module=module,
                            batch=module.text(right),
                        )
                        yield length, window
                        break


def _words(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names in nodes; of `args.steps` the last part."""
    named = [node for node in nodes if isinstance(node, ast.Name | ast.Attribute)]
    owners = {node.value for node in named if isinstance(node, ast.Attribute)}
    return {identifier(node) for node in named if node not in owners}
