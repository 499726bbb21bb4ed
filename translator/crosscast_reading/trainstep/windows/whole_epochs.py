"""Epochs whose rounds are counted, and whether windows fit into them without a rest."""

from __future__ import annotations

import ast

from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.trainstep.events import TrainingStep, WindowTest
from crosscast_reading.trainstep.frames.object_kinds import last_name


def fits_whole(step: TrainingStep, test: WindowTest) -> bool:
    """Whether every epoch has a whole number of windows, by numbers that the source fixes.

    False also if the rounds of an epoch are not known, if a flag may change them, or if rounds are
    left out.
    """
    if step.loop is None or test.aligned is not True or step.inside("leave"):
        return False
    match test.steps:
        case Known(value=int(steps), flag="") if steps > 0:
            pass
        case _:
            return False
    node = step.loop.node
    if not isinstance(node, ast.For):
        return False
    rounds = _rounds(node.iter, step.module.owner_of(node))
    return rounds is not None and rounds % steps == 0


def _rounds(iterable: ast.expr, module: Module) -> int | None:
    """Return the rounds of `range(0, 512, 16)`, also within `enumerate` or a progress bar."""
    match iterable:
        case ast.Call(args=[inner, *_]) if last_name(iterable.func) in ("enumerate", "tqdm"):
            return _rounds(inner, module)
        case ast.Call(func=ast.Name(id="range"), args=given, keywords=[]) if 1 <= len(given) <= 3:
            numbers = [_fixed(argument, module) for argument in given]
            known = [number for number in numbers if number is not None]
            if len(known) < len(numbers) or known[2:] == [0]:
                return None
            return len(range(*known))
    return None


def _fixed(node: ast.expr, module: Module) -> int | None:
    match evaluate(node, module):
        case Known(value=bool()):
            return None
        case Known(value=int(number), flag=""):
            return number
    return None
