"""What the layers of sequences of Flax NNX mean: attention and recurrent cells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crosscast_migrate.models.network import UnreadableError
from crosscast_migrate.models.rows import Argument, Reading, reading

_MADE = "dtype? param_dtype? promote_dtype? precision? rngs? keep_rngs?"
_ATTENDED = "query key value bias==None mask:shows=None"


def _off(name: str) -> Argument:
    """Return an argument that is to be false or not given."""

    def off(value: Any) -> None:
        if value:
            raise UnreadableError(f"{name}=True of attention is not carried")

    return Argument(name, name, None, off)


def _cell(cell: str, *, bias: bool, state_bias: bool, gates: bool = True) -> Reading:
    """Return the row of a cell, which has one bias: of its inputs or of its state."""
    return reading(
        "cell",
        "in_features:inputs hidden_features:units",
        "gate_fn==None" if gates else "residual==False",
        "activation_fn==None kernel_init? recurrent_kernel_init? bias_init? carry_init==None",
        *(_MADE, "kernel_metadata? recurrent_kernel_metadata? bias_metadata?"),
        cell=cell,
        bias=bias,
        state_bias=state_bias,
    )


SEQUENCES: Mapping[str, Reading] = {
    "LSTMCell": _cell("lstm", bias=False, state_bias=True),
    "OptimizedLSTMCell": _cell("lstm", bias=False, state_bias=True),
    "GRUCell": _cell("gru", bias=True, state_bias=False),
    "SimpleCell": _cell("rnn", bias=True, state_bias=False, gates=False),
    "RNN": reading(
        "cells",
        "cell:of time_major==False return_carry==False reverse:backward=False",
        "keep_order:keeps_order=False unroll? state_axes? broadcast_rngs? rngs?",
        call=(
            "inputs:value initial_carry==None seq_lengths==None return_carry==None",
            "time_major==None reverse==None keep_order==None rngs?",
        ),
    ),
    "MultiHeadAttention": reading(
        "attention",
        "num_heads:heads in_features:query_size qkv_features:width=None",
        "out_features:out_size=None num_kv_heads==None in_kv_features:key_size=None",
        "broadcast_dropout:shares_dropout=True dropout_rate:rate=0.0",
        _off("deterministic"),
        "kernel_init:weight_initial=None out_kernel_init==None",
        "bias_init:bias_initial=None out_bias_init==None use_bias:bias=True",
        "attention_fn==None normalize_qk==False",
        _off("decode"),
        *(_MADE, "kernel_metadata? out_kernel_metadata? bias_metadata?"),
        call=(
            "inputs_q:query inputs_k:key=None inputs_v:value=None mask:shows=None",
            _off("deterministic"),
            "rngs? sow_weights?",
            _off("decode"),
            "is_causal:causal=False",
        ),
    ),
}
"""By the name in flax.nnx."""
ATTENDS: Mapping[str, Reading] = {
    "jax.nn.dot_product_attention": reading(
        "attend",
        heads_last=True,
        call=(_ATTENDED, "scale=None is_causal:causal=False implementation?"),
    ),
    "flax.nnx.dot_product_attention": reading(
        "attend",
        heads_last=True,
        call=(
            _ATTENDED,
            "dropout_rate==0.0 deterministic? dtype? precision? is_causal:causal=False",
        ),
    ),
}
