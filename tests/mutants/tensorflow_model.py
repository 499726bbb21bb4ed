"""Bugs in the emitted model of TensorFlow."""

from __future__ import annotations

from mutants.spelling import Spellings, model

_GELU = "tf.nn.gelu(y)"
_Y = "        y = float32(self.intermediate_dense(x))\n"
_SOFTMAX = "tf.nn.softmax(scores + mask)"
_HEADS = "heads = (-1, length, ATTENTION_HEADS, HEAD_SIZE)"
_TURNED = "tf.transpose(tf.reshape(project(x), heads), (0, 2, 1, 3))"
_RANGE = "positions = tf.range(tf.shape(input_ids)[1])"
_WORDS = "x = self.word_embeddings(input_ids) +"
_POOLED = "tf.tanh(float32(self.pooler(x[:, 0])))"
_AFTER_ATTENTION = "        y = float32(y)\n        x = self.attention_norm(x + y)\n"
_SCORES = "float32(tf.matmul(q, k, transpose_b=True))"
_NORMED = "x = self.attention_norm(x + y)"
_EMBEDDED = "x = self.embeddings_norm(x + self.position_embeddings(positions))"
_SQUARE = "if array.ndim == 2 and not name"

MODEL: Spellings = {
    "gelu_tanh": model(_GELU, "keras.ops.gelu(y)"),
    "quick_gelu": model(_GELU, "y * tf.sigmoid(1.702 * y)"),
    "relu": model(_GELU, "tf.nn.relu(y)"),
    "no_mask": model(_SOFTMAX, "tf.nn.softmax(scores)"),
    "mask_inverted": model(
        "(1.0 - float32(attention_mask)[:, None, None, :])",
        "float32(attention_mask)[:, None, None, :]",
    ),
    "dropout_on": model(
        _AFTER_ATTENTION,
        "        y = tf.nn.dropout(float32(y), 0.1)\n        x = self.attention_norm(x + y)\n",
    ),
    "tied_layout": model(
        _SQUARE, "if array.ndim == 2 and array.shape[0] != array.shape[1] and not name"
    ),
    "heads_interleaved": (
        model(_HEADS, "heads = (-1, length, HEAD_SIZE, ATTENTION_HEADS)"),
        model(_TURNED, _TURNED.replace("(0, 2, 1, 3)", "(0, 3, 1, 2)")),
    ),
    "positions_off_by_one": model(_RANGE, "positions = tf.range(1, tf.shape(input_ids)[1] + 1)"),
    "embeddings_frozen": model(_WORDS, "x = tf.stop_gradient(self.word_embeddings(input_ids)) +"),
    "pooler_no_tanh": model(_POOLED, "float32(self.pooler(x[:, 0]))"),
    "pooler_mean": model("self.pooler(x[:, 0])", "self.pooler(tf.reduce_mean(x, axis=1))"),
    "residual_missing": model("self.attention_norm(x + y)", "self.attention_norm(y)"),
    "pre_layer_norm": model("x = self.attention_norm(x + y)", "x = x + self.attention_norm(y)"),
    "softmax_half": model(_SOFTMAX, "tf.nn.softmax(tf.cast(scores + mask, q.dtype))"),
    "layer_norm_half": (
        model('epsilon=LAYER_NORM_EPS, dtype="float32")', "epsilon=LAYER_NORM_EPS)"),
        model(_NORMED, "x = float32(self.attention_norm(x + y))"),
        model("return self.output_norm(x + y)", "return float32(self.output_norm(x + y))"),
        model(_EMBEDDED, f"x = float32({_EMBEDDED.removeprefix('x = ')})"),
    ),
    "gelu_half": model(_Y, "        y = self.intermediate_dense(x)\n"),
    "tanh_half": model(_POOLED, "tf.tanh(self.pooler(x[:, 0]))"),
    "residual_half": model(
        _AFTER_ATTENTION, "        x = self.attention_norm(tf.cast(x, y.dtype) + y)\n"
    ),
    "scores_float32": model(_SCORES, "tf.matmul(float32(q), float32(k), transpose_b=True)"),
}
