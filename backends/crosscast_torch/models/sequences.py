"""What PyTorch's layers of sequences mean: attention, encoders and recurrent layers."""

from __future__ import annotations

from collections.abc import Mapping

from crosscast_migrate.models.rows import Argument, Reading, ignored, must

_PLACE = ignored("device", "dtype")
_QUERIES = (Argument("query", "query"), Argument("key", "key"), Argument("value", "value"))
_MASKED = (
    Argument("src", "value"),
    Argument("src_mask", "hides", None, others=("mask",)),
    Argument("src_key_padding_mask", "pads", None),
    *ignored("is_causal"),  # the mask says it, too
)


def _recurrent(cell: str, *more: Argument) -> Reading:
    return Reading(
        "recurrence",
        (
            Argument("input_size", "inputs"),
            Argument("hidden_size", "units"),
            Argument("num_layers", "layers", 1),
            *more,
            Argument("bias", "bias", True),
            Argument("batch_first", "rows_first", False),
            Argument("dropout", "rate", 0.0),
            Argument("bidirectional", "both", False),
            *((must("proj_size", 0),) if cell == "lstm" else ()),
            *_PLACE,
        ),
        {"cell": cell, "returns": "states"},
        call=(Argument("input", "value"), Argument("hx", "state", None)),
    )


SEQUENCES: Mapping[str, Reading] = {
    "LSTM": _recurrent("lstm"),
    "GRU": _recurrent("gru"),
    "RNN": _recurrent("rnn", must("nonlinearity", "tanh")),
    "MultiheadAttention": Reading(
        "attention",
        (
            Argument("embed_dim", "width"),
            Argument("num_heads", "heads"),
            Argument("dropout", "rate", 0.0),
            Argument("bias", "bias", True),
            must("add_bias_kv", False),
            must("add_zero_attn", False),
            Argument("kdim", "key_size", None),
            Argument("vdim", "value_size", None),
            Argument("batch_first", "rows_first", False),
            *_PLACE,
        ),
        {"returns": "pair", "initial": "packed"},
        call=(
            *_QUERIES,
            Argument("key_padding_mask", "pads", None),
            *ignored("need_weights"),
            Argument("attn_mask", "hides", None),
            *ignored("average_attn_weights", "is_causal"),
        ),
    ),
    "TransformerEncoderLayer": Reading(
        "encoder_layer",
        (
            Argument("d_model", "width"),
            Argument("nhead", "heads"),
            Argument("dim_feedforward", "hidden", 2048),
            Argument("dropout", "rate", 0.1),
            Argument("activation", "activation", "relu"),
            Argument("layer_norm_eps", "eps", 1e-5),
            Argument("batch_first", "rows_first", False),
            Argument("norm_first", "norm_first", False),
            Argument("bias", "bias", True),
            *_PLACE,
        ),
        {"initial": "packed"},
        call=_MASKED,
    ),
    "TransformerEncoder": Reading(
        "encoder",
        (
            Argument("encoder_layer", "layer"),
            Argument("num_layers", "count"),
            Argument("norm", "norm", None),
            *ignored("enable_nested_tensor", "mask_check"),
        ),
        call=_MASKED,
    ),
}
"""By the name in torch.nn."""
ATTENDS: Mapping[str, Reading] = {
    "torch.nn.functional.scaled_dot_product_attention": Reading(
        "attend",
        call=(
            *_QUERIES,
            Argument("attn_mask", "shows", None),
            Argument("dropout_p", "rate", 0.0),
            Argument("is_causal", "causal", False),
            Argument("scale", "scale", None),
            must("enable_gqa", False),
        ),
    )
}
ACTIVATIONS: Mapping[str, Reading] = {
    "relu": Reading("relu"),
    "gelu": Reading("gelu", fixed={"tanh": False}),
}
"""What `activation` of an encoder takes."""
