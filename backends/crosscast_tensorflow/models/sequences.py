"""What Keras' layers of sequences mean: attention and recurrent layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from crosscast_migrate.models.rows import Argument, Reading, ignored, must

_QUERIES = (Argument("query", "query"), Argument("key", "key"), Argument("value", "value"))
_INITIAL = (
    Argument("kernel_initializer", "weight_initial", "glorot_uniform"),
    Argument("bias_initializer", "bias_initial", "zeros"),
)
_FREE = tuple(
    must(f"{weight}_{what}", None)
    for what in ("regularizer", "constraint")
    for weight in ("kernel", "bias")
)


def _recurrent(cell: str, named: Sequence[Argument], *more: Argument) -> Reading:
    """Return the row of a recurrent layer; one of two biases is that of its state alone."""
    return Reading(
        "recurrence",
        (
            Argument("units", "units"),
            must("activation", "tanh"),
            *((must("recurrent_activation", "sigmoid"),) if cell != "rnn" else ()),
            Argument("use_bias", "bias", True),
            *ignored("kernel_initializer", "recurrent_initializer", "bias_initializer"),
            *more,
            *_FREE,
            must("recurrent_regularizer", None),
            must("recurrent_constraint", None),
            must("activity_regularizer", None),
            must("dropout", 0.0),
            must("recurrent_dropout", 0.0),
            Argument("return_sequences", "sequences", False),
            must("return_state", False),
            must("go_backwards", False),
            must("stateful", False),
            *ignored("unroll", "use_cudnn"),
            *named,
        ),
        {"cell": cell, "inputs": None, "state_bias": cell == "gru"},
        call=(
            Argument("sequences", "value", others=("inputs",)),
            must("mask", None),
            *ignored("training"),
            must("initial_state", None),
        ),
    )


def sequences(named: Sequence[Argument]) -> Mapping[str, Reading]:
    """Return the rows by the name in keras.layers.

    Args:
        named: keywords of every layer.
    """
    return {
        "LSTM": _recurrent("lstm", named, *ignored("unit_forget_bias")),
        "GRU": _recurrent("gru", named, must("reset_after", True)),
        "SimpleRNN": _recurrent("rnn", named),
        "Bidirectional": Reading(
            "directions",
            (
                Argument("layer", "of"),
                must("merge_mode", "concat"),
                must("weights", None),
                must("backward_layer", None),
                *named,
            ),
            call=(
                Argument("inputs", "value", others=("sequences",)),
                *ignored("training"),
                must("mask", None),
                must("initial_state", None),
            ),
        ),
        "MultiHeadAttention": Reading(
            "attention",
            (
                Argument("num_heads", "heads"),
                Argument("key_dim", "depth"),
                must("value_dim", None),
                Argument("dropout", "rate", 0.0),
                Argument("use_bias", "bias", True),
                must("output_shape", None),
                must("attention_axes", None),
                *ignored("flash_attention"),
                *_INITIAL,
                *_FREE,
                must("activity_regularizer", None),
                *named,
            ),
            {"initial": "by heads", "width": None},
            call=(
                Argument("query", "query"),
                Argument("value", "value"),
                Argument("key", "key", None),
                must("query_mask", None),
                must("value_mask", None),
                must("key_mask", None),
                Argument("attention_mask", "shows_rows", None),
                must("return_attention_scores", False),
                *ignored("training"),
                Argument("use_causal_mask", "causal", False),
            ),
        ),
    }


ATTENDS: Mapping[str, Reading] = {
    "keras.ops.dot_product_attention": Reading(
        "attend",
        fixed={"heads_last": True},
        call=(
            *_QUERIES,
            must("bias", None),
            Argument("mask", "shows", None),
            Argument("scale", "scale", None),
            Argument("is_causal", "causal", False),
            *ignored("flash_attention"),
            must("attn_logits_soft_cap", None),
        ),
    )
}
