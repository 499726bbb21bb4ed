"""What could explain updates that are off: a few known mistakes, tried one by one.

A hint for the reader, not a proof: `bisect` searches in earnest.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

from crosscast.plan.operations import Plan, Step
from crosscast.reference.data import Roles
from crosscast.reference.optimizer_formulas import settings_of
from crosscast_parity.levels.recompute import Source
from crosscast_parity.levels.updates import Windows, measure_updates

MOST_ENTRIES = 400_000
"""Tensors are tried from the smallest on until they have so many entries."""
MOST_NAMES = 3
MOST_COUNTS = 8
CORRECTED = ("adam", "adamw", "lamb")
BETAS = ((0.9, 0.98), (0.9, 0.95), (0.95, 0.999), (0.8, 0.999), (0.9, 0.99), (0.999, 0.9))


def likely_cause(
    plan: Plan, roles: Roles, seen: Windows, source: Source, off: Collection[str], limit: float
) -> str:
    """Return which known mistake fits the tensors that are off, or nothing.

    A mistake that the other tensors do not share is said to be only in those that are off.
    """

    def unlike(other: Plan, names: Collection[str]) -> bool:
        measured = measure_updates(other, roles, seen, source, names)
        return not all(error <= limit for window in measured for error in window.errors.values())

    for words, other in known_mistakes(plan):
        if not unlike(other, _smallest(seen, off)):
            rest = _concerned(plan, other, roles, seen[0].before.keys() - off)
            alone = bool(rest) and unlike(other, _smallest(seen, rest))
            return f"fits {words}" + (f", only in {listed(off)}" if alone else "")
    return _other_count(plan, roles, seen, source, _smallest(seen, off), limit)


def _other_count(
    plan: Plan, roles: Roles, seen: Windows, source: Source, names: Collection[str], limit: float
) -> str:
    """Return which count of updates fits the bias correction from the first wrong window on.

    Moments do not depend on that count, and every window begins with the observed weights: so all
    windows can be recomputed with one count, and those before the first wrong one left out. Of the
    counts that fit, the nearest is named; late in a run neighbors differ by less than the limit.
    """
    step = plan.find(Step)
    if step is None or step.optimizer not in CORRECTED or not step.bias_correction:
        return ""

    def errors(ahead: int) -> dict[int, float]:
        measured = measure_updates(plan, roles, seen, source, names, ahead=ahead)
        return {w.window: max(w.errors.values(), default=0.0) for w in measured}

    first = next((window for window, worst in errors(0).items() if not worst <= limit), None)
    if first is None:
        return ""
    updates = next(w.row.updates for w in seen if w.window == first)
    fitting = []
    for ahead, words in _counts(updates, first + 1 - updates):
        worst = max(size for window, size in errors(ahead).items() if window >= first)
        if worst <= limit:
            fitting.append((worst, words))
    if not fitting:
        return ""
    return f"fits a bias correction that {min(fitting)[1]}, from window {first} on"


def _counts(updates: int, skipped: int) -> Iterator[tuple[int, str]]:
    """Yield by how much a count of updates may be off in the window after which it is `updates`."""
    if updates > 1:
        yield 1 - updates, "begins again"
    if updates > 2:  # else it is the same
        yield -1, "is one update behind"
    if not skipped:
        yield 1, "is one update ahead"
    for ahead in range(skipped, max(0, skipped - MOST_COUNTS), -1):
        yield ahead, f"counts {ahead} skipped window{'s' * (ahead > 1)} as updates"


def _concerned(plan: Plan, other: Plan, roles: Roles, names: Collection[str]) -> Collection[str]:
    """Return the tensors that a mistake would show in: where decay or rate differ, else all."""
    mine, theirs = (_settings(of, roles) for of in (plan, other))
    return [name for name in names if mine[name] != theirs[name]] if mine != theirs else names


def _settings(plan: Plan, roles: Roles) -> Mapping[str, tuple[float, float]]:
    step = plan.find(Step)
    return {name: settings_of(step, name, own) for name, own in roles.items()} if step else {}


def listed(names: Collection[str]) -> str:
    """Return the first names of tensors, and how many more there are."""
    shown = sorted(names)[:MOST_NAMES]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _smallest(seen: Windows, names: Collection[str]) -> set[str]:
    sizes = sorted((seen[0].before[name].size, name) for name in names)
    chosen, entries = {sizes[0][1]}, 0
    for size, name in sizes:
        entries += size
        if entries > MOST_ENTRIES:
            break
        chosen.add(name)
    return chosen


def known_mistakes(plan: Plan) -> Iterator[tuple[str, Plan]]:
    """Yield mistakes that are often made with an optimizer, in words and as plans."""
    step = plan.find(Step)
    if step is None:
        return
    if step.no_decay:
        yield "decay also on biases and LayerNorm", with_step(plan, no_decay=())
    if step.weight_decay:
        yield "no decay", with_step(plan, weight_decay=0.0)
    if step.optimizer in ("adam", "adamw"):
        yield from _adam_mistakes(plan, step)
    if step.groups:
        yield "groups without effect", with_step(plan, groups=())
    if step.optimizer == "sgd" and step.momentum:
        yield "no momentum", with_step(plan, momentum=0.0, nesterov=False)
        yield "nesterov inverted", with_step(plan, nesterov=not step.nesterov)


def _adam_mistakes(plan: Plan, step: Step) -> Iterator[tuple[str, Plan]]:
    before = step.eps_placement == "before_correction"
    place = "after_correction" if before else "before_correction"
    yield (
        f"eps added {'after' if before else 'before'} the bias correction",
        with_step(plan, eps_placement=place),
    )
    for eps in (1e-8, 1e-7, 1e-6, 1e-5, 1e-12):
        if eps != step.eps:
            yield f"eps {eps:g}", with_step(plan, eps=eps)
    has = step.bias_correction
    words = "no bias correction" if has else "bias correction"
    yield words, with_step(plan, bias_correction=not has)
    coupled = "adam" if step.optimizer == "adamw" else "adamw"
    if step.weight_decay:
        words = "decay added to the gradients" if coupled == "adam" else "decoupled decay"
        yield words, with_step(plan, optimizer=coupled)
    for betas in BETAS:
        if betas != step.betas:
            yield f"betas {betas[0]:g} and {betas[1]:g}", with_step(plan, betas=betas)


def with_step(plan: Plan, **changes: Any) -> Plan:
    """Return the plan with other settings of its optimizer."""
    return Plan(
        micro=plan.micro,
        window=tuple(replace(op, **changes) if isinstance(op, Step) else op for op in plan.window),
    )
