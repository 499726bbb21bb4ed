"""What the layers of sequences of Flax NNX mean: attention and recurrent cells."""

from __future__ import annotations

from collections.abc import Mapping

from crosscast_migrate.models.rows import Argument, Reading, ignored, must

_MADE = ignored("dtype", "param_dtype", "promote_dtype", "precision", "rngs", "keep_rngs")
_DETAILS = ("kernel_metadata", "recurrent_kernel_metadata", "bias_metadata")
_QUERIES = (Argument("query", "query"), Argument("key", "key"), Argument("value", "value"))


def _cell(cell: str, *, bias: bool, state_bias: bool, gates: bool = True) -> Reading:
    """Return the row of a cell, which has one bias: of its inputs or of its state."""
    return Reading(
        "cell",
        (
            Argument("in_features", "inputs"),
            Argument("hidden_features", "units"),
            *((must("gate_fn", None),) if gates else (must("residual", False),)),
            must("activation_fn", None),
            *ignored("kernel_init", "recurrent_kernel_init", "bias_init"),
            must("carry_init", None),
            *_MADE,
            *ignored(*_DETAILS),
        ),
        {"cell": cell, "bias": bias, "state_bias": state_bias},
    )


SEQUENCES: Mapping[str, Reading] = {
    "LSTMCell": _cell("lstm", bias=False, state_bias=True),
    "OptimizedLSTMCell": _cell("lstm", bias=False, state_bias=True),
    "GRUCell": _cell("gru", bias=True, state_bias=False),
    "SimpleCell": _cell("rnn", bias=True, state_bias=False, gates=False),
    "RNN": Reading(
        "cells",
        (
            Argument("cell", "of"),
            must("time_major", False),
            must("return_carry", False),
            Argument("reverse", "backward", False),
            Argument("keep_order", "keeps_order", False),
            *ignored("unroll", "state_axes", "broadcast_rngs", "rngs"),
        ),
        call=(
            Argument("inputs", "value"),
            must("initial_carry", None),
            must("seq_lengths", None),
            must("return_carry", None),
            must("time_major", None),
            must("reverse", None),
            must("keep_order", None),
            *ignored("rngs"),
        ),
    ),
    "MultiHeadAttention": Reading(
        "attention",
        (
            Argument("num_heads", "heads"),
            Argument("in_features", "query_size"),
            Argument("qkv_features", "width", None),
            Argument("out_features", "out_size", None),
            must("num_kv_heads", None),
            Argument("in_kv_features", "key_size", None),
            *ignored("broadcast_dropout"),
            Argument("dropout_rate", "rate", 0.0),
            *ignored("deterministic"),
            Argument("kernel_init", "weight_initial", None),
            must("out_kernel_init", None),
            Argument("bias_init", "bias_initial", None),
            must("out_bias_init", None),
            Argument("use_bias", "bias", True),
            must("attention_fn", None),
            must("normalize_qk", False),
            *ignored("decode"),
            *_MADE,
            *ignored("kernel_metadata", "out_kernel_metadata", "bias_metadata"),
        ),
        call=(
            Argument("inputs_q", "query"),
            Argument("inputs_k", "key", None),
            Argument("inputs_v", "value", None),
            Argument("mask", "shows", None),
            *ignored("deterministic", "rngs", "sow_weights", "decode"),
            Argument("is_causal", "causal", False),
        ),
    ),
}
"""By the name in flax.nnx."""
ATTENDS: Mapping[str, Reading] = {
    "jax.nn.dot_product_attention": Reading(
        "attend",
        fixed={"heads_last": True},
        call=(
            *_QUERIES,
            must("bias", None),
            Argument("mask", "shows", None),
            Argument("scale", "scale", None),
            Argument("is_causal", "causal", False),
            *ignored("implementation"),
        ),
    ),
    "flax.nnx.dot_product_attention": Reading(
        "attend",
        fixed={"heads_last": True},
        call=(
            *_QUERIES,
            must("bias", None),
            Argument("mask", "shows", None),
            must("dropout_rate", 0.0),
            *ignored("deterministic", "dtype", "precision"),
            Argument("is_causal", "causal", False),
        ),
    ),
}
