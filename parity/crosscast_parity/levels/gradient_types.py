"""Level L0d: in which types a program computes the gradients that it defines itself.

A framework derives most operations by itself, in kernels. Where a script gives a function a
gradient of its own, that is code as any other, and what it sums in half is lost in as many
roundings as there are numbers: of the gradient of a softmax, those of a row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from crosscast.recipe.document import BertModel, Recipe
from crosscast_parity.recordings.type_manifest import Operation

SUMS = ("sum", "mean")
"""Operations of the class `reductions` that no kernel of a framework hides."""


def wrong_gradients(recipe: Recipe, backward: Mapping[str, Sequence[Operation]]) -> Iterator[str]:
    """Yield in words what gradients sum in half against the recipe; nothing for other models.

    Args:
        recipe: of the run.
        backward: operations that the program calls in its first backward pass, by class.
    """
    shipped = recipe.half and isinstance(recipe.model, BertModel)
    if not shipped or recipe.precision.ops.reductions == "half":
        return
    for operation in backward.get("reductions", ()):
        if operation.name in SUMS and operation.output == recipe.half:
            words = "of a gradient of its own, computed in"
            yield f"{operation.name} (reductions) {words} {operation.output}, not float32"
