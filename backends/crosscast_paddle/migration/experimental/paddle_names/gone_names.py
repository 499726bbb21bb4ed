"""What to write in place of names that Paddle 3 does not have or that came back in it, as data.

Which names are gone is not listed: they are those that the index of Paddle does not have.
"""

from __future__ import annotations

from collections.abc import Mapping

_SEQUENCES = (
    "rows of several lengths in one tensor (LoD) are gone; pad them, and mask with "
    "paddle.nn.functional.sequence_mask"
)
WAYS: Mapping[str, str] = {
    "paddle.static.ExecutionStrategy": "remove it: its options have no effect in Paddle 3",
    "paddle.static.ParallelExecutor": "run the program with paddle.static.Executor, and start one "
    "process for each device with paddle.distributed.launch",
    "paddle.framework.to_variable": "write paddle.to_tensor, which copies a tensor without its "
    "gradient",
    "paddle.incubate.nn.FusedEcMoe": "write the experts with paddle.nn.Linear",
    "paddle.static.nn.data_norm": "write paddle.nn.BatchNorm1D, or the means in the program",
    **{
        f"paddle.static.nn.sequence_{name}": _SEQUENCES
        for name in (
            *("concat", "enumerate", "expand_as", "pad", "reshape", "reverse", "scatter"),
            *("slice", "unpad"),
        )
    },
    **{
        f"paddle.compat.{name}": "use str, bytes, round and // of Python 3"
        for name in ("to_text", "to_bytes", "round", "floor_division", "get_exception_message")
    },
    "paddle.nn.functional.hsigmoid": "write paddle.nn.functional.hsigmoid_loss(input, label, "
    "num_classes, weight, bias)",
    "paddle.nn.UpSample": "write paddle.nn.Upsample with align_corners=True, its old default",
    "paddle.imperative": "write paddle, paddle.nn or paddle.jit",
}
"""Name, or a module whose names are all gone, to what to write."""


RETURNED: Mapping[str, tuple[str, str]] = {
    "paddle.range": (
        "leaves out its end in Paddle 2.0 alpha and beta, and includes it since Paddle 3.2",
        "write paddle.arange if the program was written for Paddle 2",
    ),
    "paddle.mul": (
        "is a product of matrices in Paddle 2.0 alpha and beta, and one of elements in Paddle 3",
        "write paddle.matmul if the program was written for Paddle 2, else paddle.multiply",
    ),
}
"""Names that 2.6 does not have and Paddle 3 gives another meaning, with what to decide."""


def way_out(name: str) -> str:
    """Return what to write in place of a name that is gone."""
    here = name
    while here:
        if here in WAYS:
            return WAYS[here]
        here = here.rpartition(".")[0]
    return "write what it did with names of Paddle 3, or remove what needs it"
