"""Windows on one branch of a switch of which the other branch has none."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from crosscast_reading.lint.answers.loop import backward_of, compatible, implies, own_windows
from crosscast_reading.lint.answers.windows import ACCUMULATES, end_tests, modules_of
from crosscast_reading.trainstep.events import Event, Guard, TrainingStep, WindowTest

_SWITCH = re.compile(
    r"(?<![a-z])(amp|autocast|fp16|bf16|float16|bfloat16|half|mixed|precision|apex|scaler"
    r"|distributed|ddp|cuda|gpu)(?![a-z])",
    re.I,
)
"""Words of conditions that decide how a step is computed, not how many rows it has."""


def without_windows(step: TrainingStep) -> Iterator[tuple[Event, Guard, WindowTest]]:
    """Yield the steps after every micro-batch on a branch whose other branch has windows.

    Yields also the condition, and the test for the end of a window on the other branch.
    """
    if not own_windows(step):
        return
    ends = [(event, test) for event, test in end_tests(step) if not test.by_caller]
    for applied in step.inside("step"):
        if applied.window is not None or any(compatible(event, applied) for event, _ in ends):
            continue
        if not _ends_every_round(applied, step):
            continue
        for guard in applied.guards:
            if not _SWITCH.search(guard.text.replace("_", " ")) or guard.window is not None:
                continue
            tests = [test for event, test in ends if _sets_apart(guard, applied, event)]
            lengths = [test for test in tests if ACCUMULATES.search(test.steps_text)]
            if lengths and not _asked_together(guard.text, step):
                yield applied, guard, lengths[0]
                break


def _sets_apart(switch: Guard, applied: Event, other: Event) -> bool:
    """Whether only a switch, and what follows on the other branch, sets two steps apart."""
    met = {id(guard.node): guard.holds for guard in other.guards}
    return all(
        met.get(id(guard.node)) is (guard.holds if guard is not switch else not guard.holds)
        for guard in applied.guards
    )


def _ends_every_round(applied: Event, step: TrainingStep) -> bool:
    """Whether a step follows every backward pass of its branch, and the gradients are cleared."""
    backward = [event for event in backward_of(step) if compatible(event, applied)]
    cleared = [event for event in step.inside("zero_grad") if compatible(event, applied)]
    return (
        bool(backward)
        and applied.library in ("", "apex")
        and all(implies(event, applied) and event.loops == applied.loops for event in backward)
        and any(implies(applied, event) for event in cleared)
    )


def _asked_together(switch: str, step: TrainingStep) -> bool:
    """Whether the program knows that the two do not go together, and refuses or reports them."""
    for module in modules_of(step):
        for node in module.nodes:
            if isinstance(node, ast.If | ast.Assert):
                text = module.text(node.test)
                if switch in text and ACCUMULATES.search(text):
                    return True
    return False
