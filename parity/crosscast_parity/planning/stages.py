"""What a check consists of: the stages of `--check quick`, `model`, `full` and `nightly`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Literal

from crosscast.recipe.document import Recipe
from crosscast_parity.planning.runs import LARGE, RECORDED, RECORDED_LARGE, Part, Stage
from crosscast_parity.recipes.derived import (
    comparable,
    is_small,
    shortened,
    small_batches,
    tiny,
    weights_of,
    with_dtype,
    with_seed,
    with_slower_steps,
)
from crosscast_parity.recipes.on_toy import active_on_toy, own_on_toy
from crosscast_parity.recipes.stress import stress_recipe

Depth = Literal["quick", "model", "full", "nightly"]
DEPTHS: tuple[Depth, ...] = ("quick", "model", "full", "nightly")

ALL: frozenset[Part] = frozenset({"gate", "start", "faults", "trajectory"})
START: frozenset[Part] = frozenset({"start"})
TRAJECTORY: frozenset[Part] = frozenset({"trajectory"})
DTYPES = ("float32", "float16", "bfloat16")
FULL_WINDOWS, NIGHTLY_WINDOWS, SEED_WINDOWS = 64, 200, 200
"""Windows of trajectories unless asked for others; the last is for paired results."""
PROOF_WINDOWS = 64
CUSTOM_WINDOWS = 24
"""Of custom models in a quick check, which are not made smaller."""
TOY_WINDOWS = 256
"""Windows of the toy: every transition of the recipe's state machine several times, and late."""
TOY_MICRO_BATCHES = 1024
"""In the toy of a user's script, whose windows cannot be made smaller."""
FULL_SEEDS, NIGHTLY_SEEDS = 5, 10
SEEDS = 2**31
"""Seeds lie below it; those of a check follow the recipe's."""
SMALL_SEEDS = 3
"""Seeds of the small model that a full check goes through in every type."""


def make_stages(
    recipe: Recipe, depth: Depth, *, windows: int | None, twins: int, stress: bool = False
) -> list[Stage]:
    """Return the stages of a check.

    Args:
        recipe: of the comparison.
        depth: `quick`: a tiny model through all levels but L3, and the start of the recipe's own
            model. `model`: the recipe's own model only. `full`: the tiny model with several seeds
            and in every type, the recipe's own up to L2, and paired seeds (L3). `nightly`: the same
            with more windows and seeds.
        windows: of trajectories, None for the usual number.
        twins: perturbed runs of the reference.
        stress: whether the small model gets a recipe in which every feature is active.
    """
    if depth == "model":
        return [_model(recipe, ALL, windows or FULL_WINDOWS, twins)]
    if depth == "quick":
        return list(_quick(recipe, windows or FULL_WINDOWS, twins, stress))
    return list(_full(recipe, depth, windows, twins, stress))


def toy_stages() -> list[Stage]:
    """Return the stages in which scripts train the toy: own values, and every feature active.

    They belong to every check.
    """
    own = partial(own_on_toy, windows=TOY_WINDOWS)
    active = partial(active_on_toy, windows=TOY_WINDOWS)
    return [_toy("toy", TOY_WINDOWS, own), _toy("toy-active", TOY_WINDOWS, active, stress=True)]


def custom_stages(
    recipe: Recipe, weights: int, depth: Depth, windows: int | None, twins: int
) -> list[Stage]:
    """Return the stages of a comparison of custom models: themselves, and the toy.

    Args:
        recipe: of the comparison.
        weights: how many the models have.
        depth: `quick`: a few small windows, into which the schedule is squeezed, with a learning
            rate for so few rows. `model`: more of them, with all their rows. `full`: that in every
            type, and paired seeds (L3). `nightly`: the same with more windows and seeds.
        windows: of trajectories, None for the usual number.
        twins: perturbed runs of the reference.
    """
    usual = {"quick": CUSTOM_WINDOWS, "nightly": NIGHTLY_WINDOWS}
    length = windows or usual.get(depth, FULL_WINDOWS)
    derived: dict[str, Callable[[Recipe], Recipe]] = {}
    derived["model"] = partial(_squeezed, windows=length) if depth == "quick" else _comparable
    if depth in ("full", "nightly"):
        derived |= {
            f"model-{dtype}": partial(_typed, dtype=dtype) for dtype in _other_dtypes(recipe)
        }
    trained = [
        Stage(
            name=name,
            parts=ALL,
            windows=length,
            derive=derive,
            recorded=_recorded(recipe, weights),
            twins=twins,
        )
        for name, derive in derived.items()
    ]
    return [*trained, *_seed_stages(recipe, depth, _seeded_custom), *toy_stages()]


def seeds_of(recipe: Recipe, depth: Depth) -> list[int]:
    """Return the seeds of the pairs of L3; none in a check without them."""
    count = {"full": FULL_SEEDS, "nightly": NIGHTLY_SEEDS}.get(depth, 0)
    return [(recipe.seed + number) % SEEDS for number in range(count)]


def _seed_stages(recipe: Recipe, depth: Depth, derive: Callable[..., Recipe]) -> list[Stage]:
    return [
        Stage(
            name=f"seed-{seed}",
            parts=TRAJECTORY,
            windows=SEED_WINDOWS,
            derive=partial(derive, seed=seed),
            twins=0,
            seed=seed,
        )
        for seed in seeds_of(recipe, depth)
    ]


def _typed(recipe: Recipe, dtype: str) -> Recipe:
    return with_dtype(_comparable(recipe), dtype)


def _seeded_custom(recipe: Recipe, seed: int) -> Recipe:
    return with_seed(shortened(_comparable(recipe), SEED_WINDOWS), seed)


def _squeezed(recipe: Recipe, windows: int) -> Recipe:
    own = _comparable(recipe)
    small = with_slower_steps(small_batches(own), own.batch.global_batch_size)
    return shortened(small, windows)


def own_toy_stage(recipe: Recipe) -> Stage:
    """Return the stage on the toy beside a user's script, which cannot be recompiled for it."""
    most = TOY_MICRO_BATCHES // recipe.accumulation.steps
    return _toy("toy", max(FULL_WINDOWS, min(TOY_WINDOWS, most)), _comparable)


def own_stage(recipe: Recipe, windows: int | None, twins: int, weights: int | None = None) -> Stage:
    """Return the stage of a comparison with the user's script, which cannot be recompiled.

    Args:
        recipe: of the comparison.
        windows: of trajectories, None for the usual number.
        twins: perturbed runs of the reference.
        weights: how many a custom model has.
    """
    return Stage(
        name="model",
        parts=ALL,
        windows=windows or FULL_WINDOWS,
        derive=_comparable,
        recorded=_recorded(recipe, weights),
        twins=twins,
        variants=False,
    )


def _toy(
    name: str, windows: int, derive: Callable[[Recipe], Recipe], *, stress: bool = False
) -> Stage:
    return Stage(
        name=name,
        parts=frozenset({"toy"}),
        windows=windows,
        derive=derive,
        recorded=0,
        twins=0,
        variants=False,
        stress=stress,
    )


def proof_stages(recipe: Recipe) -> list[Stage]:
    """Return the stages in which one program is held against its recipe, and against no other.

    First a recipe in which every feature is active, which shows most; then the recipe's own values.
    """
    parts: frozenset[Part] = frozenset({"start", "faults"})
    active = partial(_small, windows=PROOF_WINDOWS, stress=True)
    plain = partial(_small, windows=PROOF_WINDOWS, stress=False)
    return [
        Stage(
            name="active",
            parts=parts | TRAJECTORY,
            windows=PROOF_WINDOWS,
            derive=active,
            twins=0,
            stress=True,
        ),
        Stage(name="own-values", parts=parts, windows=PROOF_WINDOWS, derive=plain, twins=0),
    ]


def _comparable(recipe: Recipe) -> Recipe:
    return comparable(recipe)[0]


def _small(recipe: Recipe, windows: int, stress: bool) -> Recipe:
    own = _comparable(recipe)
    if stress:
        return stress_recipe(own)[0]
    return shortened(own if is_small(own) else tiny(own), windows)


def _recorded(recipe: Recipe, weights: int | None = None) -> int:
    count = weights_of(recipe) if weights is None else weights
    return RECORDED_LARGE if count >= LARGE else RECORDED


def _model(recipe: Recipe, parts: frozenset[Part], windows: int, twins: int) -> Stage:
    return Stage(
        name="model",
        parts=parts,
        windows=windows,
        derive=_comparable,
        recorded=_recorded(recipe),
        twins=twins,
    )


def _quick(recipe: Recipe, windows: int, twins: int, stress: bool) -> Iterator[Stage]:
    derive = partial(_small, windows=windows, stress=stress)
    yield Stage(name="tiny", parts=ALL, windows=windows, derive=derive, twins=twins, stress=stress)
    if not is_small(recipe):
        yield _model(recipe, START, windows, 0)


def _full(
    recipe: Recipe, depth: Depth, windows: int | None, twins: int, stress: bool
) -> Iterator[Stage]:
    nightly = depth == "nightly"
    for number in range(SMALL_SEEDS):
        for dtype in (recipe.precision.compute_dtype, *_other_dtypes(recipe)):
            yield _tiny(recipe, number, dtype, twins, stress)
    if not is_small(recipe):
        length = windows or (NIGHTLY_WINDOWS if nightly else FULL_WINDOWS)
        yield _model(recipe, ALL, length, twins)
    plain = partial(_seeded, windows=SEED_WINDOWS, stress=False)
    yield from _seed_stages(recipe, depth, plain)


def _other_dtypes(recipe: Recipe) -> list[str]:
    return [dtype for dtype in DTYPES if dtype != recipe.precision.compute_dtype]


def _tiny(recipe: Recipe, number: int, dtype: str, twins: int, stress: bool) -> Stage:
    own = dtype == recipe.precision.compute_dtype
    name = "tiny" + (f"-{number + 1}" if number else "") + ("" if own else f"-{dtype}")
    return Stage(
        name=name,
        parts=ALL,
        windows=FULL_WINDOWS,
        derive=partial(
            _variation,
            seed=(recipe.seed + number) % SEEDS,
            dtype=None if own else dtype,
            stress=stress,
        ),
        twins=twins,
        stress=stress,
    )


def _variation(recipe: Recipe, seed: int, dtype: str | None, stress: bool) -> Recipe:
    seeded = _seeded(recipe, seed, FULL_WINDOWS, stress)
    return with_dtype(seeded, dtype) if dtype else seeded


def _seeded(recipe: Recipe, seed: int, windows: int, stress: bool) -> Recipe:
    return with_seed(_small(recipe, windows, stress), seed)
