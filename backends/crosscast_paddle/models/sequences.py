"""What Paddle's layers of sequences mean: attention, encoders and recurrent layers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crosscast_migrate.models.rows import Argument, Reading, reading

_INITIAL = "weight_attr:weight_initial=None bias_attr:bias_initial=None"
_MASKED = ("src:value src_mask:shows=None cache==None",)


def _both(direction: Any) -> Any:
    """Return whether a layer has two directions, by its word for that."""
    return {"forward": False, "bidirect": True, "bidirectional": True}[direction]


def _has_bias(attribute: Any) -> bool:
    return attribute is not False


def _recurrent(cell: str, more: str = "") -> Reading:
    return reading(
        "recurrence",
        "input_size:inputs hidden_size:units num_layers:layers=1",
        Argument("direction", "both", "forward", _both),
        Argument("time_major", "rows_first", False, lambda value: not value),
        *("dropout:rate=0.0", more, "weight_ih_attr==None weight_hh_attr==None"),
        Argument("bias_ih_attr", "bias", None, _has_bias),
        Argument("bias_hh_attr", "state_bias", None, _has_bias),
        "proj_size==0" if cell == "lstm" else "",
        "name?",
        cell=cell,
        returns="states",
        call=("inputs:value initial_states:state=None sequence_length==None",),
    )


SEQUENCES: Mapping[str, Reading] = {
    "LSTM": _recurrent("lstm"),
    "GRU": _recurrent("gru"),
    "SimpleRNN": _recurrent("rnn", "activation=='tanh'"),
    "MultiHeadAttention": reading(
        "attention",
        "embed_dim:width num_heads:heads dropout:rate=0.0 kdim:key_size=None",
        *("vdim:value_size=None need_weights==False", _INITIAL),
        value_is="query",
        adds_numbers=True,
        call=("query key=None value=None attn_mask:shows=None cache==None",),
    ),
    "TransformerEncoderLayer": reading(
        "encoder_layer",
        "d_model:width nhead:heads dim_feedforward:hidden dropout:rate=0.1 activation='relu'",
        "attn_dropout:attention_rate=None act_dropout:inner_rate=None",
        *("normalize_before:norm_first=False", _INITIAL, "layer_norm_eps:eps=1e-5"),
        adds_numbers=True,
        call=_MASKED,
    ),
    "TransformerEncoder": reading(
        "encoder", "encoder_layer:layer num_layers:count norm=None", call=_MASKED
    ),
}
"""By the name in paddle.nn."""
ATTENDS: Mapping[str, Reading] = {
    "paddle.nn.functional.scaled_dot_product_attention": reading(
        "attend",
        heads_last=True,
        adds_numbers=True,
        call=(
            "query key value attn_mask:shows=None dropout_p:rate=0.0 is_causal:causal=False",
            "training=True backend? name?",
        ),
    )
}
ACTIVATIONS: Mapping[str, Reading] = {
    "relu": reading("relu"),
    "gelu": reading("gelu", tanh=False),
}
"""What `activation` of an encoder takes."""
