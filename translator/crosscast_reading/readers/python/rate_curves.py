"""The schedule that a formula of learning rates gives, from computing it for some fifty steps."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast_reading.pysource.machine.frames import NOTHING, Closure, Variables
from crosscast_reading.pysource.machine.slices import Slice
from crosscast_reading.pysource.values.budget import NoValueError
from crosscast_reading.readers.python.curve_fit import Curve, fit
from crosscast_reading.readers.python.rate_world import STAND_INS, RateWorld, StandIns

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Function, Module

Compute = Callable[[RateWorld], object]
_Computed = tuple[Curve, RateWorld, bool]
_FALLS = ("linear", "cosine", "polynomial", "inverse_sqrt")
_ROUNDS = 3
_MOST_LIMITS = 12
_LONG = 2000
"""No run has as many epochs."""
_GROUPS = ("param_groups", "groups")
_LOOPS = (ast.For, ast.While, ast.AsyncFor)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)


@dataclass(frozen=True, slots=True, kw_only=True)
class RateCurve:
    """A schedule as far as the source determines it; None where it depends on stand-ins."""

    name: str
    warmup: int | str | None
    """Steps, or text such as `5 epochs`."""
    warms: bool
    start: float | None
    """The first rate of the warm-up as a share of the highest."""
    late: bool
    """Whether it reaches the highest rate one step before the fall begins."""
    ahead: bool
    hold: bool
    total: int | str | None
    end: float | None
    """The last rate as a share of the highest."""
    peak: float | None
    relative: bool
    """Whether the rate of the optimizer is multiplied by it."""
    power: float | None
    decay_from: str


def curve_of_function(node: ast.expr, module: Module) -> RateCurve | None:
    """Return the schedule of a function from the number of a step to a factor or a rate."""

    def compute(world: RateWorld) -> object:
        match world.machine.value_in(node, module):
            case (Closure() as function) | [Closure() as function, *_]:
                world.relative = True
                return world.machine.run_function(function, [world.position])
        raise NoValueError

    return curve_of(compute)


def curve_of_method(node: Function, module: Module) -> RateCurve | None:
    """Return the schedule of a method of a schedule's class that returns the rates of groups."""

    def compute(world: RateWorld) -> object:
        return world.machine.run_function(Closure(node, module), [NOTHING])

    return curve_of(compute)


def curve_of_assignment(
    node: ast.Assign | ast.AugAssign | ast.Expr, module: Module, value: ast.expr | None = None
) -> RateCurve | None:
    """Return the schedule of a statement that sets the rate of a group in a function or loop.

    Args:
        node: an assignment, or the call of a setter.
        module: of it.
        value: the new rate, if `node` is a call.
    """
    part = Slice(_block(node, module), node, value)

    def compute(world: RateWorld) -> object:
        return world.machine.assigned_at(part, Variables(module))

    return curve_of(compute)


def _block(node: ast.AST, module: Module) -> list[ast.stmt]:
    """Return the body of the innermost loop around a statement that is not about groups."""
    here = module.enclosing(node, *_LOOPS, *_DEFINITIONS)
    while isinstance(here, ast.For) and any(word in module.text(here.iter) for word in _GROUPS):
        here = module.enclosing(here, *_LOOPS, *_DEFINITIONS)
    return list(getattr(here, "body", ()))


def curve_of(compute: Compute) -> RateCurve | None:
    """Return the schedule of rates that are computed in a world at its position.

    It is computed for two sets of stand-ins for unknown numbers, unless there is none: what is the
    same for both is what the source says.
    """
    first = _computed(compute, STAND_INS[0])
    if first is None:
        return None
    curve, world, _ = first
    if not world.assumed:
        return _certain(first, first)
    if curve.name == "constant" and not curve.warmup:
        return None  # one of the unknown numbers may be what changes
    match _computed(compute, STAND_INS[1]):
        case (other, _, _) as second if _kind(other) == _kind(curve):
            return _certain(first, second)
    return None


def _kind(curve: Curve) -> tuple[object, ...]:
    return (
        curve.name,
        bool(curve.warmup),
        curve.rises,
        curve.decay_from,
        curve.late,
        curve.ahead,
        bool(curve.hold),
    )


def _computed(compute: Compute, stand_ins: StandIns) -> _Computed | None:
    """Return the curve for one set of stand-ins, and whether its steps are epochs."""
    world = RateWorld(stand_ins)
    every = 1

    def rate(step: int) -> float:
        world.position = step * every
        match compute(world):
            case bool() | [bool(), *_]:
                raise NoValueError
            case (int() | float() as value) | [int() | float() as value, *_]:
                return float(value)
        raise NoValueError

    try:
        rate(0)
    except NoValueError:
        return None
    by_epoch = bool(world.progress) and all(c.unit == "epoch" for c in world.progress)
    every = stand_ins.per_epoch if by_epoch else 1
    curve = fit(rate, _limits(rate, world, by_epoch=by_epoch))
    # A share of a highest rate of 0 says nothing.
    return (curve, world, by_epoch) if curve is not None and curve.peak else None


def _limits(rate: Callable[[int], float], world: RateWorld, *, by_epoch: bool) -> set[float]:
    """Return the numbers that a rate is computed with at several steps, and their epochs' ends."""
    seen: set[float] = set()
    limits: set[float] = set()
    waiting, tried = [0.0], set[float]()
    for _ in range(_ROUNDS):
        for step in waiting:
            tried.add(step)
            here = _seen(rate, world, round(step) + 1) & _seen(rate, world, round(step) + 5)
            seen |= here | world.limits
        per_epoch = 0 if by_epoch else world.stand_ins.per_epoch
        in_epochs = any(counted.unit == "epoch" for counted in world.progress)
        limits = seen | {n * per_epoch for n in seen if in_epochs and n < _LONG}
        waiting = sorted(limits - tried)[:_MOST_LIMITS]
    return limits


def _seen(rate: Callable[[int], float], world: RateWorld, step: int) -> set[float]:
    world.machine.limits.clear()
    try:
        rate(step)
    except NoValueError:
        return set()
    return set(world.machine.limits)


def _certain(one: _Computed, other: _Computed) -> RateCurve:
    """Return the curve of all that two curves for different stand-ins agree in."""
    (first, world, by_epoch), (second, elsewhere, _) = one, other
    epochs = (world.stand_ins.per_epoch, elsewhere.stand_ins.per_epoch)

    def length(here: int, there: int) -> int | str | None:
        if here == there:
            return f"{here} epochs" if by_epoch else here
        same = here / epochs[0] == there / epochs[1]
        return f"{here / epochs[0]:g} epochs" if same else None

    same_peak = abs(first.peak - second.peak) <= 1e-9 * abs(first.peak)
    shares = [(curve.end or 0.0) / curve.peak for curve in (first, second)]
    total = None
    match first.total, second.total:
        case int(here), int(there):
            total = length(here, there)
    warmup = None if first.rises else length(first.warmup, second.warmup)
    starts = (first.start, second.start)
    same_start = abs(starts[0] - starts[1]) < 1e-9 or max(starts) <= 0
    falls = first.name in _FALLS and not first.hold
    if isinstance(warmup, int) and first.late and not falls:
        warmup -= 1  # the step that reaches the highest rate, at which it stays
    return RateCurve(
        name=first.name,
        warmup=warmup,
        warms=first.warmup > 0 or first.rises,
        start=first.start if same_start else None,
        late=first.late and falls,
        ahead=first.ahead,
        hold=first.hold > 0,
        total=total,
        end=round(shares[0], 9) if abs(shares[0] - shares[1]) < 1e-9 else None,
        peak=float(f"{first.peak:.12g}") if same_peak else None,  # it may come from a slope
        relative=world.relative,
        power=first.power if first.power == second.power else None,
        decay_from=first.decay_from,
    )
