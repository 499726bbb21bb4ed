"""Level L0a: whether the dropout of two programs was given the same masks."""

from __future__ import annotations

from itertools import zip_longest

from crosscast.recipe.document import BertModel, Recipe
from crosscast_parity.checks.check import Check, Result
from crosscast_parity.levels.tensor_checks import untested
from crosscast_parity.recordings.masks import DropoutCall, GivenMasks

NO_PLACE = (
    "a script without micro_batch_loss and train_window cannot be given masks; "
    "compare it with `model.dropout: 0`"
)


def places_of_dropout(recipe: Recipe) -> int | None:
    """Return how often the shipped BERT drops in a micro-batch; None if that is not known.

    The embeddings, in every layer the weights of attention and what is added to the residual
    stream, and what the classifier gets. Layers that are computed twice drop twice.
    """
    model = recipe.model
    if not isinstance(model, BertModel) or not model.dropout or recipe.activation_checkpointing:
        return None
    return 3 * model.layers + 2


def compare_masks(
    ours: GivenMasks | None, theirs: GivenMasks | None, places: int | None = None
) -> Check:
    """Compare the dropout calls of the first micro-batch, in their order.

    Another rate is a difference. Where the masks do not fit each other, losses and gradients say
    nothing: that is `unclear`, or `not tested` where it is because of the framework.

    Args:
        ours: what our run was given.
        theirs: what the reference was given.
        places: how often the recipe's model drops; None if that is not known of our program.
    """
    if ours is None or theirs is None:
        return untested("L0a", "dropout", NO_PLACE)
    for calls in (ours, theirs):
        if calls.out_of_reach:
            words = f"nothing can replace the dropout within {', '.join(calls.out_of_reach)}"
            return untested("L0a", "dropout", words)
    counts = len(ours.calls), len(theirs.calls)
    if counts[0] != places == counts[1]:
        return _check("fail", f"{counts[0]} calls, the recipe's model has {places}")
    for number, (call, other) in enumerate(zip_longest(ours.calls, theirs.calls), start=1):
        if call is None or other is None or not _fit(call, other):
            place = f"call {number}: {_call_text(call)}, reference {_call_text(other)}"
            if counts[0] != counts[1]:
                place = f"{counts[0]} calls, reference {counts[1]}; {place}"
            return _check("unclear", f"no common masks: {place}")
        if None not in (call.rate, other.rate) and call.rate != other.rate:
            words = f"call {number}: rate {call.rate:g} in {call.module}"
            return _check("fail", f"{words}, reference {other.rate:g} in {other.module}")
    return _check("pass", f"{counts[0]} calls with the same masks")


def _fit(ours: DropoutCall, theirs: DropoutCall) -> bool:
    """Whether both lay their numbers out in one order, last dimension fastest.

    So rows that are [rows, tokens, features] here may be [rows * tokens, features] there, but
    channels that come first here must not come last there.
    """
    a, b = ([size for size in call.shape if size != 1] for call in (ours, theirs))
    if a == b:
        return True
    fewer, more = sorted((a, b), key=len)
    if ours.size != theirs.size or len(fewer) == len(more):
        return False
    rest = iter(more)
    for size in fewer:
        product = next(rest, 0)
        while 0 < product < size:
            product *= next(rest, 0)
        if product != size:
            return False
    return next(rest, None) is None


def _call_text(call: DropoutCall | None) -> str:
    if call is None:
        return "none"
    return f"{list(call.shape)} in {call.module or 'no module'}"


def _check(result: Result, words: str) -> Check:
    return Check(level="L0a", name="dropout", result=result, wording=words)
