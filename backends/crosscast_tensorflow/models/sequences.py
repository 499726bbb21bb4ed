"""What Keras' layers of sequences mean: attention and recurrent layers."""

from __future__ import annotations

from collections.abc import Mapping

from crosscast_migrate.models.rows import Argument, Reading, reading

_FREE = (
    "kernel_regularizer==None bias_regularizer==None kernel_constraint==None bias_constraint==None"
)


def _recurrent(cell: str, named: str, more: str = "") -> Reading:
    """Return the row of a recurrent layer; one of two biases is that of its state alone."""
    return reading(
        "recurrence",
        "units activation=='tanh'",
        "recurrent_activation=='sigmoid'" if cell != "rnn" else "",
        "use_bias:bias=True kernel_initializer? recurrent_initializer? bias_initializer?",
        *(more, _FREE, "recurrent_regularizer==None recurrent_constraint==None"),
        "activity_regularizer==None dropout==0.0 recurrent_dropout==0.0",
        "return_sequences:sequences=False return_state==False go_backwards==False",
        *("stateful==False unroll? use_cudnn?", named),
        cell=cell,
        inputs=None,
        state_bias=cell == "gru",
        call=(
            Argument("sequences", "value", others=("inputs",)),
            "mask==None training? initial_state==None",
        ),
    )


def sequences(named: str) -> Mapping[str, Reading]:
    """Return the rows by the name in keras.layers.

    Args:
        named: keywords of every layer.
    """
    return {
        "LSTM": _recurrent("lstm", named, "unit_forget_bias?"),
        "GRU": _recurrent("gru", named, "reset_after==True"),
        "SimpleRNN": _recurrent("rnn", named),
        "Bidirectional": reading(
            "directions",
            *("layer:of merge_mode=='concat' weights==None backward_layer==None", named),
            call=(
                Argument("inputs", "value", others=("sequences",)),
                "training? mask==None initial_state==None",
            ),
        ),
        "MultiHeadAttention": reading(
            "attention",
            "num_heads:heads key_dim:depth value_dim==None dropout:rate=0.0 use_bias:bias=True",
            "output_shape==None attention_axes==None flash_attention?",
            "kernel_initializer:weight_initial='glorot_uniform'",
            *("bias_initializer:bias_initial='zeros'", _FREE, "activity_regularizer==None", named),
            initial="by heads",
            width=None,
            key_is="value",
            call=(
                "query value key=None query_mask==None value_mask==None key_mask==None",
                "attention_mask:shows_rows=None return_attention_scores==False training?",
                "use_causal_mask:causal=False",
            ),
        ),
    }


ATTENDS: Mapping[str, Reading] = {
    "keras.ops.dot_product_attention": reading(
        "attend",
        heads_last=True,
        call=(
            "query key value bias==None mask:shows=None scale=None is_causal:causal=False",
            "flash_attention? attn_logits_soft_cap==None",
        ),
    )
}
