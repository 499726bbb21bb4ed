"""What trainers do in their own way, or have no way to do: one row per field of a recipe.

The rows with a behaviour behind them are measured by the conformance table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from crosscast.messages.diagnostics import Diagnostic, Severity
from crosscast.recipe import predicates
from crosscast.recipe.document import CrossEntropy, Recipe
from crosscast_parity.adapters import when

TORCH = frozenset({"accelerate", "transformers", "lightning"})
EVERY = TORCH | {"keras"}


@dataclass(frozen=True, slots=True)
class Limit:
    """One fact: which trainers, when, what they do. `refused`: the recipe cannot be run at all."""

    path: str
    adapters: frozenset[str]
    holds: Callable[[Recipe], bool]
    how: str
    refused: bool = False


def _only(*names: str) -> frozenset[str]:
    return frozenset(names)


LIMITS: tuple[Limit, ...] = (
    Limit(
        "model.kind",
        EVERY,
        lambda r: r.model.kind != "bert",
        "adapters know the shipped BERT",
        True,
    ),
    Limit(
        "loss",
        EVERY,
        lambda r: r.loss != CrossEntropy(),
        "adapters train with the plain cross-entropy",
        True,
    ),
    Limit(
        "precision.mode",
        EVERY,
        lambda r: r.precision.mode == "full",
        "half weights with float32 masters are not supported",
        True,
    ),
    Limit(
        "loss_scaling.mode",
        EVERY,
        lambda r: r.loss_scaling.mode == "static",
        "skipping with a static scale is not supported",
        True,
    ),
    Limit(
        "ema.decay",
        EVERY,
        lambda r: r.ema.decay is not None,
        "evaluation of averaged weights is left to the script",
        True,
    ),
    Limit(
        "distributed.strategy",
        EVERY,
        lambda r: r.processes > 1,
        "adapters run in one process",
        True,
    ),
    Limit(
        "clipping.exempt",
        EVERY,
        lambda r: bool(getattr(r.clipping, "exempt", ())),
        "all weights are clipped together",
        True,
    ),
    Limit(
        "clipping.kind",
        TORCH,
        lambda r: r.clipping.kind == "per_param_norm",
        "clipping by the norm of each gradient is not supported",
        True,
    ),
    Limit(
        "clipping.kind",
        _only("transformers"),
        lambda r: r.clipping.kind == "value",
        "only the global norm is clipped",
        True,
    ),
    Limit(
        "optimizer.name",
        _only("keras"),
        lambda r: r.optimizer.name not in ("sgd", "adam", "adamw"),
        "Keras has a different variant, or none",
        True,
    ),
    Limit(
        "optimizer.groups",
        _only("keras"),
        lambda r: bool(r.optimizer.groups),
        "there are no parameter groups",
        True,
    ),
    Limit(
        "optimizer.weight_decay",
        _only("keras"),
        predicates.coupled_decay,
        "decay is decoupled from the gradient, for every optimizer",
        True,
    ),
    Limit(
        "optimizer.rate_in_momentum",
        _only("keras"),
        when.rate_outside,
        "the rate is part of the momentum",
    ),
    Limit(
        "precision.compute_dtype",
        _only("accelerate", "transformers"),
        lambda r: r.half == "float16",
        "on a CPU it silently computes in float32 without scaling",
    ),
    Limit(
        "precision.compute_dtype",
        _only("lightning"),
        lambda r: r.half == "float16",
        "on a CPU it computes in bfloat16 without scaling, with a warning",
    ),
    Limit(
        "accumulation.tail",
        _only("accelerate", "lightning"),
        when.tail("flush"),
        "a short last window is divided by a full one",
    ),
    Limit(
        "accumulation.tail",
        _only("transformers"),
        when.tail("flush_renormalized"),
        "a short last window is divided by its own size",
    ),
    Limit(
        "accumulation.tail",
        _only("keras"),
        when.tail("carry"),
        "a short last window is carried into the next epoch",
    ),
    Limit(
        "accumulation.normalize_by",
        _only("accelerate", "lightning", "keras"),
        when.short_micro,
        "means of micro-batches are averaged, whatever their size",
    ),
    Limit(
        "loss_scaling",
        _only("transformers"),
        when.not_torch_scale,
        "no settings: the scale starts at 65536 with interval 2000",
    ),
    Limit("loss_scaling", EVERY, when.scale_knobs, "no hysteresis and no bounds"),
    Limit("loss_scaling.growth_factor", _only("keras"), when.fixed_factors, "doubles and halves"),
    Limit(
        "loss_scaling.growth_interval",
        _only("keras"),
        lambda r: predicates.dynamic(r) and predicates.accumulates(r),
        "counts micro-batches; an overflow drops one and shifts the windows",
    ),
    Limit(
        "schedule.tick",
        _only("lightning"),
        lambda r: (
            predicates.dynamic(r) and predicates.moving_rate(r) and r.schedule.tick == "update"
        ),
        "a skipped step advances the schedule",
    ),
    Limit(
        "schedule.tick",
        EVERY - {"lightning"},
        lambda r: (
            predicates.dynamic(r) and predicates.moving_rate(r) and r.schedule.tick == "attempt"
        ),
        "a skipped step does not advance the schedule",
    ),
    Limit(
        "schedule",
        _only("keras"),
        lambda r: predicates.accumulates(r) and predicates.moving_rate(r),
        "is evaluated at the number of micro-batches: it ends that many times too early",
    ),
    Limit(
        "optimizer.eps_placement",
        _only("keras"),
        when.corrected_epsilon,
        "epsilon is added before the bias correction",
    ),
)


def limits(adapter: str, recipe: Recipe) -> Iterator[Diagnostic]:
    """Yield diagnostics before an adapter runs a recipe: CC737 warnings, CC738 errors."""
    for limit in LIMITS:
        if adapter in limit.adapters and limit.holds(recipe):
            yield Diagnostic(
                code="CC738" if limit.refused else "CC737",
                severity=Severity.ERROR if limit.refused else Severity.WARNING,
                path=limit.path,
                message=f"{adapter}: {limit.how}",
            )
