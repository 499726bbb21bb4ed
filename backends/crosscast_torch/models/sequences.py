"""What PyTorch's layers of sequences mean: attention, encoders and recurrent layers."""

from __future__ import annotations

from collections.abc import Mapping

from crosscast_migrate.models.rows import Reading, reading

_PLACE = "device? dtype?"
_MASKED = "src_key_padding_mask:pads=None is_causal?"
"""Behind the other mask, which says what is causal, too."""


def _recurrent(cell: str, more: str = "") -> Reading:
    return reading(
        "recurrence",
        *("input_size:inputs hidden_size:units num_layers:layers=1", more),
        "bias=True batch_first:rows_first=False dropout:rate=0.0 bidirectional:both=False",
        "proj_size==0" if cell == "lstm" else "",
        _PLACE,
        cell=cell,
        returns="states",
        call=("input:value hx:state=None",),
    )


SEQUENCES: Mapping[str, Reading] = {
    "LSTM": _recurrent("lstm"),
    "GRU": _recurrent("gru"),
    "RNN": _recurrent("rnn", "nonlinearity=='tanh'"),
    "MultiheadAttention": reading(
        "attention",
        "embed_dim:width num_heads:heads dropout:rate=0.0 bias=True add_bias_kv==False",
        "add_zero_attn==False kdim:key_size=None vdim:value_size=None",
        *("batch_first:rows_first=False", _PLACE),
        returns="pair",
        initial="packed",
        adds_numbers=True,
        call=(
            "query key value key_padding_mask:pads=None need_weights? attn_mask:hides=None",
            "average_attn_weights? is_causal?",
        ),
    ),
    "TransformerEncoderLayer": reading(
        "encoder_layer",
        "d_model:width nhead:heads dim_feedforward:hidden=2048 dropout:rate=0.1",
        "activation='relu' layer_norm_eps:eps=1e-5 batch_first:rows_first=False",
        *("norm_first=False bias=True", _PLACE),
        initial="packed",
        adds_numbers=True,
        call=("src:value src_mask:hides=None", _MASKED),
    ),
    "TransformerEncoder": reading(
        "encoder",
        "encoder_layer:layer num_layers:count norm=None enable_nested_tensor? mask_check?",
        call=("src:value mask:hides=None", _MASKED),
    ),
}
"""By the name in torch.nn."""
ATTENDS: Mapping[str, Reading] = {
    "torch.nn.functional.scaled_dot_product_attention": reading(
        "attend",
        adds_numbers=True,
        call=(
            "query key value attn_mask:shows=None dropout_p:rate=0.0 is_causal:causal=False",
            "scale=None enable_gqa==False",
        ),
    )
}
ACTIVATIONS: Mapping[str, Reading] = {
    "relu": reading("relu"),
    "gelu": reading("gelu", tanh=False),
}
"""What `activation` of an encoder takes."""
