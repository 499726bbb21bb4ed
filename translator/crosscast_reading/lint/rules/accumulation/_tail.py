"""Windows that can be cut by the end of an epoch."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from crosscast_reading.lint.answers.schedules import spelled_out
from crosscast_reading.lint.answers.windows import ACCUMULATES, end_tests, length_set, loses_window
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.trainstep.answers.opening import clears_first
from crosscast_reading.trainstep.events import Event, TrainingStep, WindowTest
from crosscast_reading.trainstep.frames.frame import CallFrame
from crosscast_reading.trainstep.windows.counters import life_of
from crosscast_reading.trainstep.windows.first_values import counter_path
from crosscast_reading.trainstep.windows.whole_epochs import fits_whole

_PER_EPOCH = re.compile(r"%|\blen\(|per_epoch|\*\s*epoch|epoch\s*\*|num_batches|n_batches")
"""Words of conditions that end every epoch after a given number of batches."""
_OF_RUN = re.compile(r"max_|total|num_train", re.I)
"""Words of the length of a whole run."""
_ONE_EPOCH = re.compile(r"^_?(train|fit|run)(ing)?_(one_|an_|single_)?epoch$|^_?train_one_ep", re.I)
"""Names of functions that are called once for every epoch."""


def open_tails(step: TrainingStep) -> Iterator[tuple[Event, WindowTest, tuple[Event, ...]]]:
    """Yield every step whose window may be cut by the end of an epoch.

    Yields also the test, and the call that clears the gradients between epochs (none: they leak).
    """
    for event, test, outer in _open(step, restarts=True):
        assert step.loop is not None
        opening = tuple(
            candidate for candidate in step.inside("zero_grad") if clears_first(candidate, step)
        )
        if opening:
            yield event, test, opening
        else:
            inner = outer if test.counter == step.loop.counter else None
            yield event, test, tuple(step.around("zero_grad")) if _per_epoch(step, inner) else ()


def carried_tails(step: TrainingStep) -> Iterator[tuple[Event, WindowTest, tuple[Event, ...]]]:
    """Yield every step whose counter continues across epochs.

    Yields also the test, and the call that clears the gradients when an epoch starts, if any.
    """
    for event, test, _ in _open(step, restarts=False):
        if length_set(event, test.steps_text, within_epoch=False) is not None:
            continue  # reported by window-length-changes
        mine = {event.subject, *(each.subject for each in step.of("forward"))}
        cleared = [
            candidate
            for candidate in step.around("zero_grad")
            if not candidate.guards and any(loop in event.loops for loop in candidate.loops)
            if candidate.subject in mine
        ]
        yield event, test, tuple(cleared)


def closed_tails(step: TrainingStep) -> Iterator[tuple[Event, WindowTest, tuple[Event, ...]]]:
    """Yield every step whose counter continues although a step behind the loop ends the window.

    Yields also the test, and that step.
    """
    for event, test, outer in _open(step, restarts=False, closed=True):
        closing = tuple(
            other
            for other in step.around("step")
            if other.subject == event.subject
            and other.order > event.order
            and any(loop.node is outer for loop in other.loops)
        )
        if closing and not _set_within(outer, test.counter, event.module):
            yield event, test, closing


def _set_within(outer: ast.AST, counter: str, module: Module) -> bool:
    """Whether the loop over epochs sets a counter, maybe behind the loop over batches."""
    return any(
        isinstance(node, ast.Assign) and counter in map(module.text, node.targets)
        for node in walk(outer)
    )


def _open(
    step: TrainingStep, *, restarts: bool, closed: bool = False
) -> Iterator[tuple[Event, WindowTest, ast.AST]]:
    """Yield the steps of windows that epochs may cut, with the loop over epochs.

    Args:
        step: the loop.
        restarts: whether the counter starts again in every epoch.
        closed: whether the rest of an epoch is applied behind the loop.
    """
    if step.loop is None or step.loop.role not in ("batch", "other") or _ends_itself(step):
        return
    for event, test in end_tests(step):
        if test.last or test.never_again or test.by_caller or test.restarts is not restarts:
            continue
        if test.inverted:
            continue  # a window has no end
        if fits_whole(step, test):
            continue  # nothing is left over
        if isinstance(test.node, ast.BoolOp) and isinstance(test.node.op, ast.Or):
            continue  # the other condition may test for the last batch
        if any(loses_window(cleared, event, step) for cleared in step.inside("zero_grad")):
            continue  # nothing is left over: reported by zero-grad-loses-gradients
        if test.aligned is None:
            continue
        single = isinstance(test.steps, Known) and test.steps.value == 1
        if single and getattr(test.steps, "origin", "") == "literal":
            continue
        outer = _outer(step, event)
        if outer is None or _closed_behind(step) is not closed:
            continue
        yield event, test, outer


def _outer(step: TrainingStep, event: Event) -> ast.AST | None:
    """Return the loop over epochs, if it encloses the loop over batches.

    If no caller is seen of a function that trains one epoch (`train_epoch`), it is the function.
    """
    assert step.loop is not None
    for place, loop in enumerate(event.loops):
        if loop.node is step.loop.node:
            return event.loops[place - 1].node if place else _epoch_function(step)
    return None


def _epoch_function(step: TrainingStep) -> ast.AST | None:
    assert step.loop is not None
    module = step.module.owner_of(step.loop.node)
    function = module.function_of(step.loop.node)
    names = {step.function.rpartition(".")[2], function.name if function is not None else ""}
    return function if any(_ONE_EPOCH.search(name) for name in names) else None


def _per_epoch(step: TrainingStep, outer: ast.AST | None) -> bool:
    """Whether gradients are cleared in a loop around the batches (in this one, if given)."""
    if isinstance(outer, ast.FunctionDef):
        return any(not event.guards for event in step.around("zero_grad"))
    return any(
        not event.guards and any(outer is None or loop.node is outer for loop in event.loops)
        for event in step.around("zero_grad")
    )


def _closed_behind(step: TrainingStep) -> bool:
    """Whether the remaining gradients are applied after the loop."""
    return bool(step.around("step"))


def _counts(text: str) -> bool:
    return bool(_PER_EPOCH.search(text))


def _ends_itself(step: TrainingStep) -> bool:
    """Whether the program leaves the loop at a chosen batch of every epoch."""
    return any(
        isinstance(event.node, ast.Break)
        and any(guard.window is not None or _counts(guard.text) for guard in event.guards)
        and not _ends_run(event, step)
        and not _never_leaves(event, step)
        and not _ends_at_rounded(event, step)
        for event in step.inside("leave")
    )


def _never_leaves(event: Event, step: TrainingStep) -> bool:
    """Whether a break waits for a round that the loop does not have: `for i in range(n)`, i >= n.

    Such a loop ends by its range alone.
    """
    assert step.loop is not None
    for guard in event.guards:
        match guard.node:
            case ast.Compare(
                left=ast.Name(id=step.loop.counter),
                ops=[ast.Gt() | ast.GtE() | ast.Eq()],
                comparators=[ast.Name(id=end)],
            ) if f"range({end})" in step.loop.over:
                return True
    return False


def _ends_at_rounded(event: Event, step: TrainingStep) -> bool:
    """Whether a break waits for a number of batches that a division without windows gives.

    `i >= rows // batch_size` is a multiple of the window by chance only, as `len(loader)` is.
    """
    lengths = [test.steps_text for _, test in end_tests(step)]
    for guard in event.guards:
        match guard.node:
            case ast.Compare(ops=[ast.Gt() | ast.GtE() | ast.Eq()], comparators=[end]):
                text = spelled_out(end, event.module)
            case _:
                continue
        names_window = ACCUMULATES.search(text) or any(length in text for length in lengths)
        if "/" in text and not names_window and not re.search(r"[%*]", text):
            return True
    return False


def _ends_run(event: Event, step: TrainingStep) -> bool:
    """Whether a break waits for a counter of the whole run: `updates >= args.max_steps`."""
    assert step.loop is not None
    module = event.module
    frame = CallFrame(module, module.function_of(event.node))
    for guard in event.guards:
        if guard.window is not None:
            continue
        match guard.node:
            case ast.Compare(left=ast.BinOp(left=counted, op=ast.Mod(), right=limit)):
                if not _OF_RUN.search(module.text(limit)):
                    continue  # no `updates % args.max_steps == 0`
            case ast.Compare(left=counted):
                pass
            case _:
                continue
        name = counter_path(counted)
        life = life_of(name, step.loop.node, frame) if name else None
        if life is not None and life.grows and not life.resets and life.per_epoch is False:
            return True
    return False
