"""What Paddle's layers of sequences mean: attention, encoders and recurrent layers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crosscast_migrate.models.rows import Argument, Reading, ignored, must

_INITIAL = (
    Argument("weight_attr", "weight_initial", None),
    Argument("bias_attr", "bias_initial", None),
)
_MASKED = (Argument("src", "value"), Argument("src_mask", "shows", None), must("cache", None))


def _both(direction: Any) -> Any:
    """Return whether a layer has two directions, by its word for that."""
    return {"forward": False, "bidirect": True, "bidirectional": True}[direction]


def _has_bias(attribute: Any) -> bool:
    return attribute is not False


def _recurrent(cell: str, *more: Argument) -> Reading:
    return Reading(
        "recurrence",
        (
            Argument("input_size", "inputs"),
            Argument("hidden_size", "units"),
            Argument("num_layers", "layers", 1),
            Argument("direction", "both", "forward", _both),
            Argument("time_major", "rows_first", False, lambda value: not value),
            Argument("dropout", "rate", 0.0),
            *more,
            must("weight_ih_attr", None),
            must("weight_hh_attr", None),
            Argument("bias_ih_attr", "bias", None, _has_bias),
            Argument("bias_hh_attr", "state_bias", None, _has_bias),
            *((must("proj_size", None),) if cell == "lstm" else ()),
            *ignored("name"),
        ),
        {"cell": cell, "returns": "states"},
        call=(
            Argument("inputs", "value"),
            Argument("initial_states", "state", None),
            must("sequence_length", None),
        ),
    )


SEQUENCES: Mapping[str, Reading] = {
    "LSTM": _recurrent("lstm"),
    "GRU": _recurrent("gru"),
    "SimpleRNN": _recurrent("rnn", must("activation", "tanh")),
    "MultiHeadAttention": Reading(
        "attention",
        (
            Argument("embed_dim", "width"),
            Argument("num_heads", "heads"),
            Argument("dropout", "rate", 0.0),
            Argument("kdim", "key_size", None),
            Argument("vdim", "value_size", None),
            must("need_weights", False),
            *_INITIAL,
        ),
        call=(
            Argument("query", "query"),
            Argument("key", "key", None),
            Argument("value", "value", None),
            Argument("attn_mask", "shows", None),
            must("cache", None),
        ),
    ),
    "TransformerEncoderLayer": Reading(
        "encoder_layer",
        (
            Argument("d_model", "width"),
            Argument("nhead", "heads"),
            Argument("dim_feedforward", "hidden"),
            Argument("dropout", "rate", 0.1),
            Argument("activation", "activation", "relu"),
            Argument("attn_dropout", "attention_rate", None),
            Argument("act_dropout", "inner_rate", None),
            Argument("normalize_before", "norm_first", False),
            *_INITIAL,
            Argument("layer_norm_eps", "eps", 1e-5),
        ),
        call=_MASKED,
    ),
    "TransformerEncoder": Reading(
        "encoder",
        (
            Argument("encoder_layer", "layer"),
            Argument("num_layers", "count"),
            Argument("norm", "norm", None),
        ),
        call=_MASKED,
    ),
}
"""By the name in paddle.nn."""
ATTENDS: Mapping[str, Reading] = {
    "paddle.nn.functional.scaled_dot_product_attention": Reading(
        "attend",
        fixed={"heads_last": True},
        call=(
            Argument("query", "query"),
            Argument("key", "key"),
            Argument("value", "value"),
            Argument("attn_mask", "shows", None),
            Argument("dropout_p", "rate", 0.0),
            Argument("is_causal", "causal", False),
            Argument("training", "trains", True),
            *ignored("backend", "name"),
        ),
    )
}
ACTIVATIONS: Mapping[str, Reading] = {
    "relu": Reading("relu"),
    "gelu": Reading("gelu", fixed={"tanh": False}),
}
"""What `activation` of an encoder takes."""
