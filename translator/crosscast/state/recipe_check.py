"""Compare a state with the recipe that continues it."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast.emit.frame import recipe_hash
from crosscast.emit.lowering import slot_names
from crosscast.plan.canonical import canonical_plan
from crosscast.recipe.bert_shapes import bert_shapes
from crosscast.recipe.document import BertModel, DynamicLossScaling, Recipe, StaticLossScaling
from crosscast.state.problems import listed
from crosscast.state.training_state import TrainingState


def misfits(state: TrainingState, recipe: Recipe) -> Iterator[str]:
    """Yield the differences between a state and a recipe."""
    digest = recipe_hash(recipe)
    if state.recipe != digest:
        yield f"the recipe is {digest}, the state was trained by {state.recipe}"
        return  # further differences would be consequences
    yield from structure_misfits(state, recipe)


def structure_misfits(state: TrainingState, recipe: Recipe) -> Iterator[str]:
    """Yield misfits of weights, moments, averages and loss scale, without the fingerprint."""
    if isinstance(recipe.model, BertModel):
        yield from _weights(state, recipe.model)
    yield from _moments(state, recipe)
    if bool(state.averages) != (recipe.ema.decay is not None):
        has = "has" if state.averages else "lacks"
        yield f"the state {has} averages of the weights, unlike the recipe's ema"
    yield from _scale(state, recipe)


def _weights(state: TrainingState, model: BertModel) -> Iterator[str]:
    wanted = bert_shapes(model)
    missing, unknown = wanted.keys() - state.weights.keys(), state.weights.keys() - wanted.keys()
    if missing:
        yield f"weights are missing: {listed(missing)}"
    if unknown:
        yield f"weights that are not in the model: {listed(unknown)}"
    for name in wanted.keys() & state.weights.keys():
        shape = state.weights[name].shape
        if shape != wanted[name]:
            yield f"{name!r} has shape {shape}, in the recipe {wanted[name]}"
    averaged = wanted.keys() - state.averages.keys()
    if state.averages and averaged:
        yield f"averages are missing: {listed(averaged)}"


def _moments(state: TrainingState, recipe: Recipe) -> Iterator[str]:
    wanted, stored = set(slot_names(canonical_plan(recipe))), set(state.moments)
    if stored - wanted:
        yield f"moments {listed(stored - wanted)} are not those of {recipe.optimizer.name}"
    if not state.updates:
        return
    if recipe.optimizer.name == "adafactor":
        wanted &= {"row_var"} if isinstance(recipe.model, BertModel) else set()
    if wanted - stored:
        yield f"moments {listed(wanted - stored)} of {recipe.optimizer.name} are missing"
    if isinstance(recipe.model, BertModel) and wanted:
        held = {name for arrays in state.moments.values() for name in arrays}
        bare = state.weights.keys() - held
        if bare:
            yield f"weights without moments: {listed(bare)}"


def _scale(state: TrainingState, recipe: Recipe) -> Iterator[str]:
    scaling, scale = recipe.loss_scaling, state.scale
    if (scale is not None) != recipe.scaling_on:
        has = "has" if scale is not None else "lacks"
        yield f"the state {has} a loss scale; the recipe's is {scaling.mode}"
    elif isinstance(scaling, StaticLossScaling) and scale is not None:
        if scale.scale != scaling.scale:
            yield f"the loss scale is {scale.scale:g}, in the recipe constant {scaling.scale:g}"
    elif isinstance(scaling, DynamicLossScaling) and scale is not None:
        least, most = scaling.floor, scaling.max_scale
        if scale.scale < least or (most is not None and scale.scale > most):
            yield f"the loss scale {scale.scale:g} is outside the recipe's bounds"
        if scale.good >= scaling.growth_interval:
            yield f"{scale.good} clean windows, but the scale grows at {scaling.growth_interval}"
        if scale.bad >= scaling.hysteresis:
            yield f"{scale.bad} overflows, but the scale backs off at {scaling.hysteresis}"
