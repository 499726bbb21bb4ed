"""Checks of the types of one program: operations, gradients and weights (L0d)."""

from __future__ import annotations

from crosscast_parity.checks.kinds import Kind

ON_GRID = 0.99
"""Least share of a half gradient's entries on the grid of its type."""
OFF_GRID = 0.05
"""Largest share of a float32 gradient's entries on a half grid."""
NO_GRADIENTS = "the gradients of the backward pass were not observed"

TYPES = (
    Kind(
        "L0d",
        "operations",
        "the type of every operation of a forward pass, loss included, with `precision`; of a"
        " custom model in half precision that of every product, and what the model's own casts take"
        " from sums, normalizations, averages and losses that are not half in the recipe",
        "types",
        basis="equality",
        untested="no operation was seen: a compiled model, PyTorch before 2.4",
    ),
    Kind(
        "L0d",
        "operations, the rest",
        "nothing: what runs inside of a function that hides it, or after 20 000 operations",
        "types",
        limit=None,
        untested="always",
    ),
    Kind(
        "L0d",
        "operations of the evaluation",
        "the type of every operation of the evaluation with `precision`; of a custom model in half"
        " precision that of every product",
        "types",
        "evaluate",
        basis="equality",
        untested="no operation was seen, as above",
    ),
    Kind(
        "L0d",
        "operations of the evaluation, the rest",
        "nothing: counts operations in half of a custom model that its forward pass does not have",
        "types",
        "evaluate",
        limit=None,
        untested="always",
    ),
    Kind(
        "L0d",
        "gradient types",
        "the type in which backward delivers every gradient with that of its weight",
        "types",
        basis="equality",
        untested=NO_GRADIENTS,
    ),
    Kind(
        "L0d",
        "gradient grid",
        "whether gradients of kernels are numbers of the type of the products",
        "types",
        limit=None,
        unit=f"share of entries on the half grid: at least {ON_GRID} in a half recipe, at most"
        f" {OFF_GRID} in float32",
        basis="0.990 and 0.136 measured at worst",
        untested="no gradient of a single micro-batch was recorded",
    ),
    Kind(
        "L0d",
        "gradient grid of later windows",
        "the same in every recorded window of a long run",
        "late",
        limit=None,
        unit="as for the gradient grid, of numbers that are normal in float16",
        basis="1.000 and 0.005 measured at worst",
        untested="no gradient of a single micro-batch was recorded or has enough normal numbers",
    ),
    Kind(
        "L0d",
        "weight grid",
        "whether the weights that the optimizer moved are float32 numbers",
        "types",
        limit=0.5,
        unit="share of entries on a half grid",
        basis="float32 weights 0.016 at most, half weights 1",
        untested="no recorded window changed enough weights",
    ),
)
