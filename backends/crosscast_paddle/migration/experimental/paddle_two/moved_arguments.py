"""Functions whose positional arguments mean something else in Paddle 3, as data.

The signatures are those of 2.6.2 and 3.3.1; a test compares them with the installed Paddle.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedArguments:
    """The positional order of a function in Paddle 2, and how much of it Paddle 3 kept."""

    names: tuple[str, ...]
    """Qualified names, such as `paddle.nn.Dropout`."""
    order: tuple[str, ...]
    """Parameters of Paddle 2 in positional order."""
    kept: int
    """How many of them stand in the same place in Paddle 3."""
    now: str
    """What the first argument after these means in Paddle 3; empty if the call fails."""
    shown_by: tuple[tuple[str, tuple[type, ...]], ...] = ()
    """Parameters, and types of literals that only the order of Paddle 2 has in their places."""


_CONVOLUTION = (
    "in_channels",
    "out_channels",
    "kernel_size",
    "stride",
    "padding",
    "dilation",
    "groups",
    "padding_mode",
    "weight_attr",
    "bias_attr",
    "data_format",
)

MOVED = (
    MovedArguments(
        names=("paddle.nn.Embedding",),
        order=("num_embeddings", "embedding_dim", "padding_idx", "sparse", "weight_attr", "name"),
        kept=3,
        now="max_norm",
        shown_by=(("sparse", (bool,)),),
    ),
    MovedArguments(
        names=("paddle.nn.functional.embedding",),
        order=("x", "weight", "padding_idx", "sparse", "name"),
        kept=3,
        now="max_norm",
        shown_by=(("sparse", (bool,)),),
    ),
    MovedArguments(
        names=("paddle.nn.Dropout",),
        order=("p", "axis", "mode", "name"),
        kept=1,
        now="inplace",
        shown_by=(("axis", (int, list, tuple)), ("mode", (str,))),
    ),
    MovedArguments(
        names=("paddle.nn.functional.dropout",),
        order=("x", "p", "axis", "training", "mode", "name"),
        kept=4,
        now="inplace",
        shown_by=(("mode", (str,)),),
    ),
    MovedArguments(
        names=("paddle.nn.LayerNorm",),
        order=("normalized_shape", "epsilon", "weight_attr", "bias_attr", "name"),
        kept=2,
        now="",
    ),
    MovedArguments(
        names=("paddle.nn.GroupNorm",),
        order=(
            "num_groups",
            "num_channels",
            "epsilon",
            "weight_attr",
            "bias_attr",
            "data_format",
            "name",
        ),
        kept=3,
        now="",
    ),
    MovedArguments(
        names=("paddle.nn.Conv1D", "paddle.nn.Conv2D", "paddle.nn.Conv3D"),
        order=_CONVOLUTION,
        kept=7,
        now="",
    ),
    MovedArguments(
        names=("paddle.optimizer.AdamW",),
        order=(
            "learning_rate",
            "beta1",
            "beta2",
            "epsilon",
            "parameters",
            "weight_decay",
            "lr_ratio",
            "apply_decay_param_fun",
            "grad_clip",
            "lazy_mode",
            "multi_precision",
            "name",
        ),
        kept=6,
        now="use_lowprecision_moment",
    ),
    MovedArguments(
        names=("paddle.distributed.alltoall",),
        order=("in_tensor_list", "out_tensor_list", "group", "sync_op"),
        kept=0,
        now="out_tensor_list",
    ),
    MovedArguments(
        names=("paddle.distributed.alltoall_single",),
        order=("in_tensor", "out_tensor", "in_split_sizes", "out_split_sizes", "group", "sync_op"),
        kept=0,
        now="out_tensor",
    ),
    MovedArguments(
        names=("paddle.io.DataLoader",),
        order=(
            "dataset",
            "feed_list",
            "places",
            "return_list",
            "batch_sampler",
            "batch_size",
            "shuffle",
            "drop_last",
            "collate_fn",
            "num_workers",
            "use_buffer_reader",
            "prefetch_factor",
            "use_shared_memory",
            "timeout",
            "worker_init_fn",
            "persistent_workers",
        ),
        kept=11,
        now="reader_buffer_size",
    ),
)
BY_NAME = {name: row for row in MOVED for name in row.names}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedDefault:
    """A default of Paddle 2 that is another one in Paddle 3."""

    names: tuple[str, ...]
    parameter: str
    place: int
    """Its place among the positional arguments."""
    before: str
    """The default of Paddle 2, as source text."""
    now: str


CHANGED = (
    ChangedDefault(
        names=("paddle.uniform", "paddle.tensor.random.uniform"),
        parameter="min",
        place=2,
        before="-1.0",
        now="0",
    ),
    ChangedDefault(
        names=("paddle.Tensor.uniform_",), parameter="min", place=0, before="-1.0", now="0"
    ),
)
DEFAULTS = {name: row for row in CHANGED for name in row.names}
