"""Level L0d: in which types the shipped BERT keeps what it computes, by the order of its calls.

How many operations of a name there are in each type says little where both types occur in a right
run: the sum of the embeddings is float32 and those of the residual stream are half. Their order
tells them apart, which is the same on every framework: lookups and their sum, the first LayerNorm,
then the layers, whose residual sums alone add two tensors of one size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from crosscast.recipe.document import BertModel, Recipe
from crosscast_parity.inside.emulate import HALF
from crosscast_parity.inside.manifest import CLASSES
from crosscast_parity.recordings.type_manifest import OrderedCall

Calls = Sequence[OrderedCall]
FUSED = "scaled_dot_product_attention"
ROUNDED = {
    "pointwise": ("gelu", "tanh"),
    "reductions": ("softmax", "layer_norm"),
}
"""Operations that may compute in float32 and be stored in half by a cast that follows."""


def wrong_storage(recipe: Recipe, order: Calls, *, fused: bool) -> Iterator[str]:
    """Yield in words what is kept in another type than the recipe says; nothing for other models.

    Args:
        recipe: of the run.
        order: the calls of its first forward pass; nothing is judged without them.
        fused: whether the script computes attention in one operation if the recipe says so.
    """
    if not recipe.half or not isinstance(recipe.model, BertModel) or not order:
        return
    yield from _other_half(recipe, order)
    yield from _embeddings(recipe, order)
    yield from _sums(recipe, order)
    yield from _scores(recipe, order)
    yield from _rounded(recipe, order)
    yield from _widened(recipe, order)
    if fused and recipe.model.attention == "fused":
        yield from _attention(recipe.model, order)


def _first_norm(order: Calls) -> int:
    return next((n for n, call in enumerate(order) if call.name == "layer_norm"), len(order))


def _at(call: OrderedCall) -> str:
    return f"{call.name}{f' of {call.place}' if call.place else ''}"


def _other_half(recipe: Recipe, order: Calls) -> Iterator[str]:
    """Judge casts to the half type that is not the recipe's, which round once more."""
    for call in order:
        if call.name == "cast" and call.output in HALF and call.output != recipe.half:
            yield f"{_at(call)} to {call.output}, not {recipe.half}"


def _embeddings(recipe: Recipe, order: Calls) -> Iterator[str]:
    """Judge what the lookups read, and the type of their sum.

    Embeddings in half may be looked up in a rounded table: Keras' layers round theirs before they
    look up, which gives the same numbers as rounding what was looked up.
    """
    stored = recipe.precision.ops.embeddings
    wanted = recipe.half if stored == "half" else "float32"
    reads_float32 = recipe.precision.mode == "mixed" and stored != "half"
    for call in order[: _first_norm(order)]:
        if call.name == "add" and stored != "half" and call.narrowed:
            yield f"{_at(call)} adds embeddings that were rounded to {recipe.half}"
        if call.name == "add" and call.output != wanted:
            yield f"{_at(call)} (sum of embeddings) computed in {call.output}, not {wanted}"
        halves = set(call.inputs) & set(HALF)
        if call.name == "embedding" and halves and reads_float32:
            yield f"{_at(call)} reads a table in {halves.pop()}, not float32"


def _sums(recipe: Recipe, order: Calls) -> Iterator[str]:
    wanted = recipe.half if recipe.precision.ops.residual == "half" else "float32"
    for call in order[_first_norm(order) :]:
        if call.name == "add" and call.whole and call.output != wanted:
            yield f"{_at(call)} (residual stream) computed in {call.output}, not {wanted}"


def _scores(recipe: Recipe, order: Calls) -> Iterator[str]:
    """Judge what a softmax in float32 gets: the sum of scores and mask, not rounded before it."""
    for call in order:
        if call.name == "softmax" and call.narrowed and recipe.precision.ops.reductions != "half":
            yield f"{_at(call)} gets scores that were rounded to {recipe.half}"


def _rounded(recipe: Recipe, order: Calls) -> Iterator[str]:
    """Judge results in float32 that the recipe stores in half: a cast follows at once."""
    names = {
        name
        for kind, names in ROUNDED.items()
        if getattr(recipe.precision.ops, kind) == "float32_stored_half"
        for name in names
    }
    for call, following in pairwise((*order, None)):
        if call is None or call.name not in names or call.output != "float32":
            continue
        if following is None or not _rounds(call, following, recipe.half):
            yield f"{_at(call)} kept in float32, not {recipe.half}"


def _rounds(call: OrderedCall, following: OrderedCall, half: str | None) -> bool:
    """Whether a call returns the result of the one before it in half."""
    return following.name == "cast" and (following.size, following.output) == (call.size, half)


def _widened(recipe: Recipe, order: Calls) -> Iterator[str]:
    """Judge pointwise operations in half that stand between a cast to float32 and one back."""
    if recipe.precision.ops.pointwise != "half":
        return
    for before, call, following in zip(order, order[1:], order[2:], strict=False):
        widened = before.name == "cast" and before.output == call.output == "float32"
        if call.name not in CLASSES["pointwise"] or not widened or before.size != call.size:
            continue
        if before.inputs == (recipe.half,) and _rounds(call, following, recipe.half):
            yield f"{_at(call)} (pointwise) computed in float32, not {recipe.half}"


def _attention(model: BertModel, order: Calls) -> Iterator[str]:
    count = sum(call.name == FUSED for call in order)
    kept = next((call for call in order if call.name == "softmax"), None)
    if kept is not None:
        yield f"{_at(kept)}: attention keeps its scores, which the recipe does not"
    elif count < model.layers:
        yield f"{count} fused attentions, not {model.layers}: the others keep their scores"
