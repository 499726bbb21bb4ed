"""What the toy is given in a stage of the harness: its windows, overflows and their places."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from crosscast.plan.canonical import canonical_plan
from crosscast.plan.operations import UpdateScale
from crosscast.recipe.document import Recipe
from crosscast_parity.planning.runs import Stage
from crosscast_parity.recipes.stress_scale import HIGHEST, Course, lowest_scale, up_to_the_bottom
from crosscast_parity.recipes.window_rows import expected_counts
from crosscast_parity.toy.faults import PARAMETERS, Fault, Faults

SURGES = (9, -9)
"""Windows of the recipe's own values in which gradients overflow by themselves in half precision:
one near the beginning, one near the end."""
STRENGTH = 24
LARGEST = 4.0
"""No gradient of the toy is larger, surges apart."""
SAFE = 32768.0
"""Scaled gradients up to here are finite in float16."""
VALUES = (math.inf, math.nan, -math.inf)
DISTANCES = (3, 8, 1, 12, 5, 2, 17, 1, 9, 23)
"""Windows from one overflow to the next, in turn: no two in a row are alike."""
LOWERED = 2.0**-12
"""Share of the first scale below which it shall not fall: gradients would become zero in half."""
CALM_END = 3
"""Windows at the end that do not overflow: the last one is an update."""


def course_of(recipe: Recipe, stage: Stage) -> Faults:
    """Return the windows of a recipe for the rows of a stage, and their overflows.

    Each overflow is in another parameter and micro-batch than the one before: what looks for them
    must not pass one over. Gradients are so small that nothing else overflows, but for two windows
    of the recipe's own values.
    """
    rows = recipe.batch.micro_batch_size
    counts = expected_counts(recipe, getattr(recipe.data, "train_rows", 2**31))
    windows = tuple(
        (rows,) * (n_micro - 1) + (total - rows * (n_micro - 1),)
        for n_micro, total in itertools.islice(counts, stage.windows)
    )
    machine = canonical_plan(recipe).find(UpdateScale)
    if machine is None:
        return Faults(recipe.seed, windows)
    course = _active(machine, len(windows)) if stage.stress else _own(machine, len(windows))
    calm = _calm(machine)
    surges = dict.fromkeys(range(len(windows)), calm)
    if not stage.stress and len(windows) > 2 * max(SURGES):
        surges |= {range(len(windows))[place]: calm + STRENGTH for place in SURGES}
    return Faults(recipe.seed, windows, surges, tuple(_faults(course, windows)))


def _faults(course: Sequence[bool], windows: Sequence[tuple[int, ...]]) -> list[Fault]:
    """Parameters, places in the window and values take turns, each at its own pace."""
    return [
        Fault(
            window=window,
            micro_batch=(len(windows[window]) // 2, len(windows[window]) - 1, 0)[number % 3],
            parameter=PARAMETERS[number % len(PARAMETERS)],
            value=VALUES[number // 3 % 3],
        )
        for number, window in enumerate(w for w, bad in enumerate(course) if bad)
    ]


def _active(machine: UpdateScale, windows: int) -> list[bool]:
    """Pass every transition of the scale again and again, at distances that change.

    Up to the lowest scale as in a stress recipe, overflows there, then growth to the highest scale
    and one more; without a highest scale, growth twice, or less often where it is large.
    """
    if machine.mode != "dynamic":
        return _own(machine, windows)
    course, lowest = Course(machine), machine.min_scale or lowest_scale(machine)
    for cycle in itertools.count():
        up_to_the_bottom(course)
        while course.state.scale > lowest and len(course.overflows) < windows:
            course.overflow()
        course.overflow(machine.hysteresis)
        if machine.max_scale is None:
            for _ in range(2):
                if course.state.scale * machine.growth_factor <= HIGHEST:
                    course.clean(machine.growth_interval)
        else:
            while course.state.scale < machine.max_scale and len(course.overflows) < windows:
                course.clean(machine.growth_interval)
            course.clean(machine.growth_interval)
        course.clean(cycle % machine.growth_interval)
        if len(course.overflows) >= windows:
            break
    return _ended(course, windows)


def _own(machine: UpdateScale, windows: int) -> list[bool]:
    """Overflow at changing distances, as long as the scale does not fall too low."""
    course, distances = Course(machine), itertools.cycle(DISTANCES)
    lowest = max(machine.min_scale, machine.init_scale * LOWERED)
    course.clean(1)
    while len(course.overflows) < windows:
        high = machine.mode != "dynamic" or course.state.scale > lowest
        if high or lowest == machine.min_scale:
            course.overflow()
        course.clean(next(distances))
    return _ended(course, windows)


def _ended(course: Course, windows: int) -> list[bool]:
    return [*course.overflows[: windows - CALM_END], *[False] * CALM_END]


def _calm(machine: UpdateScale) -> int:
    """Return a power of two that keeps gradients finite under the largest scale of a course."""
    first = max(machine.init_scale, min(HIGHEST, machine.init_scale * 2**5))
    return min(0, math.floor(math.log2(SAFE / (LARGEST * first))))
