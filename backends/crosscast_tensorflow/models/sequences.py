"""What Keras' layers of sequences mean: attention and recurrent layers."""

from __future__ import annotations

from collections.abc import Mapping

from crosscast_migrate.models.rows import Argument, Reading, reading

_FREE = (
    "kernel_regularizer==None recurrent_regularizer==None bias_regularizer==None "
    "activity_regularizer==None kernel_constraint==None recurrent_constraint==None "
    "bias_constraint==None dropout==0.0 recurrent_dropout==0.0"
)


def _recurrent(
    cell: str, named: str, *, gates: str = "", seed: str = "", last: str = ""
) -> Reading:
    """Return the row of a recurrent layer; one of two biases is that of its state alone.

    Args:
        cell: what it computes.
        named: keywords of every layer.
        gates: its arguments behind those of all, before the weights' settings.
        seed: where it stands before the flags.
        last: its last arguments.
    """
    return reading(
        "recurrence",
        "units activation=='tanh'",
        "recurrent_activation=='sigmoid'" if cell != "rnn" else "",
        "use_bias:bias=True kernel_initializer? recurrent_initializer? bias_initializer?",
        *(gates, _FREE, seed),
        "return_sequences:sequences=False return_state==False go_backwards==False",
        *("stateful==False unroll?", last, named),
        cell=cell,
        inputs=None,
        state_bias=cell == "gru",
        call=(
            Argument("sequences", "value", others=("inputs",)),
            "initial_state==None mask==None training?",
        ),
    )


def sequences(named: str) -> Mapping[str, Reading]:
    """Return the rows by the name in keras.layers.

    Args:
        named: keywords of every layer.
    """
    return {
        "LSTM": _recurrent(
            "lstm", named, gates="unit_forget_bias?", seed="seed?", last="use_cudnn?"
        ),
        "GRU": _recurrent("gru", named, seed="seed?", last="reset_after==True use_cudnn?"),
        "SimpleRNN": _recurrent("rnn", named, last="seed?"),
        "Bidirectional": reading(
            "directions",
            *("layer:of merge_mode=='concat' weights==None backward_layer==None", named),
            call=(
                Argument("sequences", "value", others=("inputs",)),
                "initial_state==None mask==None training?",
            ),
        ),
        "MultiHeadAttention": reading(
            "attention",
            "num_heads:heads key_dim:depth value_dim==None dropout:rate=0.0 use_bias:bias=True",
            "output_shape==None attention_axes==None sliding_window==None flash_attention?",
            "kernel_initializer:weight_initial='glorot_uniform'",
            "bias_initializer:bias_initial='zeros' kernel_regularizer==None bias_regularizer==None",
            "activity_regularizer==None kernel_constraint==None bias_constraint==None",
            *("use_gate==False seed?", named),
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
