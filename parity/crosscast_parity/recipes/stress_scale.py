"""A loss scale that does everything it can within a short run, and the faults that make it.

The scale stays at most at 4096, so that nothing overflows but where a fault says so: the course of
the scale is then known before the run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

from crosscast.plan import loss_scale
from crosscast.plan.canonical import canonical_plan
from crosscast.plan.operations import UpdateScale
from crosscast.recipe.document import DynamicLossScaling, Recipe, StaticLossScaling
from crosscast_parity.inside.inject import Fault
from crosscast_parity.recipes.window_rows import expected_counts

HIGHEST = 4096.0
LOWEST_START = 128.0
UNBOUNDED_START = 1.0
"""Without a lowest scale, so that it falls below 1, which is the usual one."""
INTERVAL = 10
"""Clean windows before the scale grows; fewer where it need not grow so often."""
LEAST_INTERVAL = 4
"""The course has up to three clean windows in a row that shall not make the scale grow."""
HYSTERESIS = 3
MAX_GROWTH = 4.0
MIN_BACKOFF = 0.25
WINDOWS = 64
KINDS = ("inf", "nan", "-inf")
BY_NAME = "classifier.*"
"""Parameters of which one fault poisons the gradients alone."""


def scale_changes(recipe: Recipe) -> Iterator[tuple[str, Any]]:
    """Yield the magnitudes of the loss scaling of a stress recipe, by path."""
    scale = recipe.loss_scaling
    if isinstance(scale, StaticLossScaling):
        yield "loss_scaling.scale", min(scale.scale, HIGHEST)
    if not isinstance(scale, DynamicLossScaling):
        return
    growth, backoff = min(scale.growth_factor, MAX_GROWTH), max(scale.backoff_factor, MIN_BACKOFF)
    start = LOWEST_START if scale.min_scale is not None else UNBOUNDED_START
    machine = UpdateScale(
        mode="dynamic",
        init_scale=start,
        growth_factor=growth,
        backoff_factor=backoff,
        growth_interval=_interval(growth, scale.growth_interval),
        hysteresis=min(scale.hysteresis, HYSTERESIS),
        hysteresis_mode=scale.hysteresis_mode,
        min_scale=2.0**-60,
        max_scale=None if scale.max_scale is None else start * growth * (1 + growth) / 2,
    )
    for name, value in asdict(replace(machine, min_scale=lowest_scale(machine))).items():
        if name != "min_scale" or scale.min_scale is not None:
            yield f"loss_scaling.{name}", value


def lowest_scale(machine: UpdateScale) -> float:
    """Return the scale to which a stress run falls, whether the recipe has a lowest one or not."""
    return _before_the_bottom(machine) * (1.0 + machine.backoff_factor) / 2.0


def _interval(growth: float, own: int) -> int:
    """Return an interval at which a run without faults ends at the highest scale or below."""
    times = max(1, int(math.log(HIGHEST / LOWEST_START) / math.log(growth) + 1e-9))
    shortest = math.ceil(WINDOWS / (times + 1)) if times < WINDOWS else 1
    return max(min(own, INTERVAL), shortest, LEAST_INTERVAL)


def _before_the_bottom(machine: UpdateScale) -> float:
    """Return the scale before the back-offs that shall meet the lowest scale."""
    course = Course(machine)
    up_to_the_bottom(course)
    return course.state.scale


class Course:
    """Which windows overflow, and where the scale is after them."""

    def __init__(self, machine: UpdateScale) -> None:
        self.machine = machine
        self.state = loss_scale.initial(machine)
        self.overflows: list[bool] = []

    def clean(self, count: int) -> None:
        """Go on with windows that do not overflow."""
        for _ in range(count):
            self._advance(True)

    def overflow(self, count: int = 1) -> None:
        """Go on with windows that overflow."""
        for _ in range(count):
            self._advance(False)

    def _advance(self, finite: bool) -> None:
        self.overflows.append(not finite)
        self.state = loss_scale.adjust(self.machine, self.state, finite)


def up_to_the_bottom(course: Course) -> None:
    """The first window; two in a row or a back-off; hysteresis told from none; before a growth."""
    machine = course.machine
    course.overflow()
    course.clean(1)
    course.overflow(max(2, machine.hysteresis))
    if machine.hysteresis > 1:
        course.clean(2)
        # Consecutive: the clean window resets the count. Cumulative: it does not.
        course.overflow(machine.hysteresis - 1)
        course.clean(1)
        course.overflow()
    course.clean(machine.growth_interval - 1)
    course.overflow()


def _course(machine: UpdateScale, windows: int) -> list[bool]:
    course = Course(machine)
    if machine.mode == "static":
        course.overflow()
        course.clean(1)
        course.overflow(2)
        course.clean(2)
        course.overflow()
    else:
        up_to_the_bottom(course)
        for _ in range(machine.hysteresis):
            if course.state.scale > machine.min_scale:
                course.overflow()
        course.clean(machine.growth_interval + 1)
    return course.overflows[:windows]


def stress_faults(recipe: Recipe, windows: int) -> tuple[Fault, ...]:
    """Return overflows that take the loss scale of a recipe through all its states.

    The first window, two in a row, enough for a back-off and one too few, one window before a
    growth, down to the lowest scale, then a growth. Micro-batches and kinds of values take
    turns; one fault is in the gradients of a few parameters only.

    Args:
        recipe: With short intervals, as `stress_recipe` returns.
        windows: Length of the run; faults that would come later are left out.
    """
    machine = canonical_plan(recipe).find(UpdateScale)
    if machine is None:
        return ()
    course = _course(machine, windows)
    sizes = expected_counts(recipe, getattr(recipe.data, "train_rows", 2**31))
    micro = [n for _, (n, _) in zip(course, sizes, strict=False)]
    wanted = [window for window, bad in enumerate(course) if bad]
    return tuple(
        _fault(number, window, micro[window])
        for number, window in enumerate(wanted)
        if window < len(micro)
    )


def _fault(number: int, window: int, n_micro: int) -> Fault:
    """A middle micro-batch first, then the last, then the first."""
    micro = (n_micro // 2, n_micro - 1, 0)[number % 3]
    names = BY_NAME if number == 1 else ""
    return Fault(window, micro, KINDS[number % len(KINDS)], names)
