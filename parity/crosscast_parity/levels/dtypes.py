"""Level L0d: in which types a run computed, by what its operations and its numbers show.

A half number that was cast to float32 still lies on the grid of its half type, and gradients of
matrices are results of products: all their entries are on the grid of the type that the products
were computed in. Measured on the tiny model, one micro-batch (share of entries on the grid, worst
of all matrices, three frameworks, `precision.ops` in eight variants):

    computed in   on the float16 grid   on the bfloat16 grid
    float32       0.001 at most         0.000
    float16       1.000                 0.094 to 0.136
    bfloat16      0.990 to 1.000        1.000

Float32 weights after an update: 0.016 at most on either grid; half weights: 1.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

import numpy as np

from crosscast.plan.operations import Dtype
from crosscast.recipe.document import BertModel, Recipe
from crosscast.recipe.predicates import stores_half
from crosscast.reference.rounding import round_to
from crosscast_parity.checks.check import Check
from crosscast_parity.checks.kinds import Level
from crosscast_parity.checks.table import limit_of
from crosscast_parity.checks.type_kinds import OFF_GRID, ON_GRID
from crosscast_parity.levels.gradient_types import wrong_gradients
from crosscast_parity.levels.own_types import check_own_types, evaluated_operations
from crosscast_parity.levels.stored_types import wrong_storage
from crosscast_parity.levels.tensor_checks import untested
from crosscast_parity.recordings.observations import Observation, ObservedWindow, Tensors
from crosscast_parity.recordings.roles import Roles
from crosscast_parity.recordings.type_manifest import Manifest, Operation

LEVEL: Level = "L0d"
HALVES: tuple[Dtype, ...] = ("float16", "bfloat16")

OTHER_GRID = 0.5
"""Largest share of a float16 gradient's entries on the grid of bfloat16."""
ENOUGH_ENTRIES = 32
SMALLEST_NORMAL = 2.0**-14
"""Smallest normal number of float16."""

TOLD: Mapping[str, tuple[str, ...]] = {
    "pointwise": ("gelu", "tanh"),
    "reductions": ("softmax", "layer_norm"),
    "losses": ("cross_entropy",),
}
"""Operations whose type `precision.ops` decides alone. Sums follow what they add."""
SUMS = ("add", "sub")
RESIDUAL_SUMS = 2
"""Of an encoder layer."""


def check_dtypes(
    recipe: Recipe, observation: Observation, *, emulated: bool, fused: bool = False
) -> tuple[Check, ...]:
    """Check operations, gradients and weights of a run against the recipe's precision.

    Args:
        recipe: what the run should compute in.
        observation: what was recorded of it.
        emulated: whether half precision was emulated; said in the wording.
        fused: whether the script has fused attention where the recipe says so.
    """
    windows, manifest = observation.windows, observation.manifest
    seen = manifest or Manifest(autocast=None, operations={})
    if _is_own_half(recipe):
        forward = check_own_types(recipe, seen, emulated=emulated)
    else:
        kept = (
            *wrong_storage(recipe, seen.order, fused=fused),
            *wrong_gradients(recipe, seen.backward),
        )
        forward = [_operations(recipe, "operations", seen.operations, emulated, kept)]
    return (
        *forward,
        *_evaluation(recipe, seen, emulated),
        _delivered(recipe, windows),
        _gradient_grid(recipe, windows),
        _weight_grid(recipe, windows),
    )


Operations = Mapping[str, tuple[Operation, ...]]
"""By class of `precision.ops`."""
MATMUL = "matmul"
CASTS = "casts"
"""Class of what changes types and computes nothing; it shows in what is computed afterwards."""


def half_casts(manifest: Manifest | None) -> str:
    """Return how often a forward pass casts to half precision; empty if it does not."""
    casts = manifest.operations.get(CASTS, ()) if manifest else ()
    to_half = [cast for cast in casts if cast.output in HALVES]
    count = sum(cast.count for cast in to_half)
    types = " and ".join(dict.fromkeys(cast.output for cast in to_half))
    return f"the forward pass casts to {types} ({count} times)" if to_half else ""


def left_in_half(manifest: Manifest | None) -> str:
    """Return the first operation in half precision without autocast, in words; empty for none."""
    by_kind = _computing(manifest.operations) if manifest else {}
    if not any(by_kind.values()):
        return "no operations were recorded"
    for operations in by_kind.values():
        for operation in operations:
            if set(HALVES) & {*operation.inputs, operation.output}:
                return f"{operation.name} is in half precision by a cast of the script's own"
    return ""


def _computing(operations: Operations) -> Operations:
    return {kind: of_kind for kind, of_kind in operations.items() if kind != CASTS}


def _verdict(name: str, problems: list[str], fine: str, value: float | None = None) -> Check:
    result: Literal["pass", "fail"] = "fail" if problems else "pass"
    more = f"; {len(problems) - 1} more" if len(problems) > 1 else ""
    words = f"{problems[0]}{more}" if problems else fine
    return Check(level=LEVEL, name=name, result=result, wording=words, value=value)


def _operations(
    recipe: Recipe,
    name: str,
    operations: Operations,
    emulated: bool,
    kept: Iterable[str] = (),
) -> Check:
    operations = _computing(operations)
    checked = [operation for of_kind in operations.values() for operation in of_kind]
    if not checked:
        return untested(LEVEL, name, "no operations were recorded")
    problems = [*_wrong_operations(recipe, operations), *kept]
    how = ", as the script asks; rounded by the emulation" if emulated and recipe.half else ""
    count = sum(operation.count for operation in checked)
    fine = f"{count} operations in the types of the recipe{how}"
    return _verdict(name, problems, fine)


def _evaluation(recipe: Recipe, manifest: Manifest, emulated: bool) -> Iterator[Check]:
    """Judge an evaluation: of a custom model products, and what the forward pass does not do."""
    name, operations = "operations of the evaluation", manifest.evaluation
    if not _is_own_half(recipe):
        yield _operations(recipe, name, operations, emulated)
        return
    products, unlike = evaluated_operations(recipe, manifest)
    yield _operations(recipe, name, {MATMUL: products}, emulated)
    if unlike:
        count = sum(operation.count for operation in unlike)
        words = f"{count} operations in half that the forward pass lacks, as {unlike[0].name}"
        yield untested(LEVEL, f"{name}, the rest", words)


def _is_own_half(recipe: Recipe) -> bool:
    return bool(recipe.half) and not isinstance(recipe.model, BertModel)


def _wrong_operations(recipe: Recipe, operations: Operations) -> Iterator[str]:
    for kind, of_kind in operations.items():
        for operation in of_kind:
            allowed = _allowed(recipe, kind, operation)
            if operation.output not in allowed:
                wrong = f"{operation.name} ({kind}) computed in {operation.output}"
                yield f"{wrong}, not {' or '.join(allowed)}"
    sums = [operation for operation in operations.get("pointwise", ()) if operation.name in SUMS]
    if recipe.half and sums and isinstance(recipe.model, BertModel):
        wanted = recipe.half if recipe.precision.ops.residual == "half" else "float32"
        count = sum(operation.count for operation in sums if operation.output == wanted)
        least = RESIDUAL_SUMS * recipe.model.layers
        # Another program may add in operations of other names; then the numbers say nothing.
        countable = sum(operation.count for operation in sums) >= least
        if not count or (countable and count < least):
            words = f"not at least {least} of the residual stream"
            yield f"{count or 'no'} sums (pointwise) computed in {wanted}, {words}"


def _allowed(recipe: Recipe, kind: str, operation: Operation) -> tuple[str, ...]:
    """Return the types that an operation may compute in.

    What is computed in float32 and stored in half is one operation in half, or one in float32 and
    a cast.
    """
    half, types = recipe.half, recipe.precision.ops
    if not half:
        return ("float32",)
    chosen = getattr(types, kind, "float32")
    own = {"half": (half,), "float32": ("float32",)}.get(chosen, (half, "float32"))
    if kind == MATMUL or operation.name in TOLD.get(kind, ()):
        return own
    if kind == "pointwise":
        others = {types.pointwise, types.reductions, types.embeddings, types.residual}
        scaled = operation.name == "div" and types.matmul == "half"  # of attention: by a constant
        return (half, "float32") if others != {"float32"} or scaled else ("float32",)
    if kind == "embeddings" and recipe.precision.mode == "full":
        return (half, "float32")
    sums_in_float32 = chosen != "half" and kind in ("reductions", "losses")
    return ("float32",) if chosen == "float32" or sums_in_float32 else (half, "float32")


def _delivered(recipe: Recipe, windows: tuple[ObservedWindow, ...]) -> Check:
    """The types in which the backward pass handed over the gradients."""
    name = "gradient types"
    if not any(window.gradient_dtypes for window in windows):
        return untested(LEVEL, name, "the gradients of the backward pass were not observed")
    problems = [
        f"window {window.window}, {tensor}: {dtype}, not "
        f"{' or '.join(_handed_over(recipe, roles.get(tensor, frozenset())))}"
        for window, roles in ((window, window.roles) for window in windows)
        for tensor, dtype in window.gradient_dtypes.items()
        if not _left_open(recipe, roles.get(tensor, frozenset()))
        and dtype not in _handed_over(recipe, roles.get(tensor, frozenset()))
    ]
    fine = "as the recipe's weights"
    if any(
        _left_open(recipe, roles_of) for window in windows for roles_of in window.roles.values()
    ):
        fine += "; NOT TESTED: those of normalization layers, which each framework chooses (CC330)"
    return _verdict(name, problems, fine)


def _left_open(recipe: Recipe, roles: frozenset[str]) -> bool:
    """Whether a framework decides about the type: of a custom model's normalization layers."""
    return recipe.precision.mode == "full" and "norm" in roles


def _handed_over(recipe: Recipe, roles: frozenset[str]) -> tuple[str, ...]:
    """The types in which the gradient of a weight may be handed over.

    A layer that computes in half with a copy of a float32 weight hands over the gradient of the
    copy, or that gradient cast to float32, which is the same numbers.
    """
    own = _weight_type(recipe, roles)
    copied = recipe.half and stores_half(recipe) and "embedding" not in roles
    return (own, recipe.half) if copied and own == "float32" else (own,)


def _weight_type(recipe: Recipe, roles: frozenset[str]) -> str:
    """The type of a weight that the model computes with."""
    half = recipe.precision.mode == "full" and "layer_norm" not in roles
    return recipe.half if half and recipe.half else "float32"


def check_later_types(recipe: Recipe, observation: Observation) -> Check:
    """Check that the products of a long run stay in the recipe's type, also late in it.

    At the recipe's own scale small gradients lie among the subnormal numbers of float16, which
    have fewer bits: they are left out.

    Args:
        recipe: what the run should compute in.
        observation: what was recorded of it.
    """
    return _grid(recipe, "gradient grid of later windows", observation.windows)


def _gradient_grid(recipe: Recipe, windows: tuple[ObservedWindow, ...]) -> Check:
    """Whether gradients of matrices show the rounding of the type that products compute in."""
    alone = (window for window in windows if not window.row.skipped and _of_one_batch(window))
    return _grid(recipe, "gradient grid", tuple(itertools.islice(alone, 1)))


def _grid(recipe: Recipe, name: str, windows: tuple[ObservedWindow, ...]) -> Check:
    """Judge the gradients of single micro-batches in all windows."""
    products, full = recipe.precision.ops.matmul, recipe.precision.mode == "full"
    if products == "float32_stored_half" and not full:
        words = "products in float32 of numbers that were rounded lie on no grid and off none"
        return untested(LEVEL, name, words)
    rounded = products == "half" or full
    dtype: Dtype = recipe.precision.compute_dtype if rounded else "float32"
    least = SMALLEST_NORMAL if dtype == "float16" else 0.0
    shares = [
        (window.window, tensor, share)
        for window in windows
        if not window.row.skipped
        for tensor, share in _shares(_of_one_batch(window), window.roles, least)
    ]
    if not shares:
        seen = any(_of_one_batch(window) for window in windows if not window.row.skipped)
        words = "has enough normal numbers" if seen and least else "was recorded"
        return untested(LEVEL, name, f"no gradient of a single micro-batch {words}")
    problems = [
        f"window {window}, {tensor}: {problem}"
        for window, tensor, share in shares
        if (problem := _grid_problem(dtype, share))
    ]
    lowest = min(share.get(dtype, 1.0) for _, _, share in shares)
    highest = max(share[half] for _, _, share in shares for half in HALVES)
    value = highest if dtype == "float32" else lowest
    return _verdict(
        name,
        problems,
        f"{value:.3f} of the entries on the grid of {dtype}"
        if dtype != "float32"
        else f"at most {value:.3f} of the entries on a half grid",
        value,
    )


def _of_one_batch(window: ObservedWindow) -> Tensors:
    if window.first:
        return window.first
    return window.total if len(window.micro_rows) == 1 else {}


def _shares(
    tensors: Tensors, roles: Roles, least: float
) -> Iterator[tuple[str, Mapping[str, float]]]:
    """Yield for gradients of dense kernels the share of entries on every half grid.

    Entries below `least` and zeros do not count.
    """
    for name in tensors:
        if roles[name]:
            continue
        array = tensors[name]
        used = array[np.isfinite(array) & (array != 0) & (np.abs(array) >= least)]
        if array.ndim == 2 and used.size >= ENOUGH_ENTRIES:
            yield name, {half: on_grid(used, half) for half in HALVES}


def on_grid(array: np.ndarray, dtype: Dtype) -> float:
    """Return the share of entries that a half type holds exactly."""
    return float(np.mean(round_to(array, dtype) == array))


def _grid_problem(dtype: str, share: Mapping[str, float]) -> str:
    if dtype == "float32":
        half = max(share, key=lambda dtype: share[dtype])
        much = share[half] > OFF_GRID
        return f"{share[half]:.3f} of the entries are on the grid of {half}" if much else ""
    if share[dtype] < ON_GRID:
        return f"only {share[dtype]:.3f} of the entries are on the grid of {dtype}"
    if dtype == "float16" and share["bfloat16"] > OTHER_GRID:
        return f"{share['bfloat16']:.3f} of the entries are on the coarser grid of bfloat16"
    return ""


def _weight_grid(recipe: Recipe, windows: tuple[ObservedWindow, ...]) -> Check:
    """Whether the weights that the optimizer updates are float32.

    Kernels and embeddings begin as random numbers, whatever the run. Biases and LayerNorms may
    begin at 0 or 1, and correct float32 updates by a few powers of two then keep them on a half
    grid: of those, only entries that were off the grid before the first window are judged.
    """
    name = "weight grid"
    shares = []
    for window in reversed(windows):
        shares = list(_changed_shares(windows[0].before, window))
        if shares:
            break
    if not shares:
        return untested(LEVEL, name, "no recorded window changed enough weights")
    problems = [
        f"window {window.window}, {tensor}: {share:.3f} of the changed weights are on the grid"
        f" of {half}"
        for tensor, half, share in shares
        if share > limit_of(LEVEL, name)
    ]
    value = max(share for _, _, share in shares)
    return _verdict(name, problems, f"at most {value:.3f} of the weights on a half grid", value)


def _changed_shares(start: Tensors, window: ObservedWindow) -> Iterator[tuple[str, Dtype, float]]:
    for name in window.after:
        before, after = window.before[name], window.after[name]
        changed = (after != before) & np.isfinite(after) & (after != 0)
        used = after[changed]
        for half in reversed(HALVES):  # the coarser first, whose numbers lie on both
            if after.ndim != 2:
                used = after[changed & (round_to(start[name], half) != start[name])]
            if used.size >= ENOUGH_ENTRIES:
                yield name, half, on_grid(used, half)
