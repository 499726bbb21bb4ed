"""Bugs in the emitted model and loss of Paddle."""

from __future__ import annotations

from mutants.paddle_window import ENTROPY
from mutants.shared_bugs import SUM
from mutants.spelling import Spellings, model, train

GELU = "self.output(F.gelu(hidden), x)"
SOFTMAX = "weights = F.softmax(scores / HEAD_SIZE**0.5 + mask, axis=-1)"
SCORES = 'scores = paddle.matmul(q, k, transpose_y=True).astype("float32")'
DENSE = '        x = self.dense(x).astype("float32")\n'
TANH = 'paddle.tanh(self.pooler["dense"](x[:, 0]).astype("float32"))'

MODEL: Spellings = {
    "gelu_tanh": model(GELU, GELU.replace("hidden", "hidden, approximate=True")),
    "quick_gelu": model(GELU, GELU.replace("F.gelu(hidden)", "hidden * F.sigmoid(1.702 * hidden)")),
    "relu": model(GELU, GELU.replace("gelu", "relu")),
    "no_mask": model(SOFTMAX, SOFTMAX.replace(" + mask", "")),
    "mask_inverted": model(
        '(1.0 - attention_mask.unsqueeze([1, 2]).astype("float32"))',
        'attention_mask.unsqueeze([1, 2]).astype("float32")',
    ),
    "dropout_on": model(SUM, SUM.replace("+ x", "+ F.dropout(x, 0.1, training=self.training)")),
    "tied_layout": model(
        "if array.ndim == 2 and not",
        "if array.ndim == 2 and array.shape[0] != array.shape[1] and not",
    ),
    "heads_interleaved": model(
        "reshape([0, 0, ATTENTION_HEADS, HEAD_SIZE]).transpose([0, 2, 1, 3])",
        "reshape([0, 0, HEAD_SIZE, ATTENTION_HEADS]).transpose([0, 3, 1, 2])",
    ),
    "positions_off_by_one": model(
        "paddle.arange(input_ids.shape[1])", "paddle.arange(1, 1 + input_ids.shape[1])"
    ),
    "pooler_no_tanh": model(TANH, TANH.removeprefix("paddle.tanh")),
    "pooler_mean": model("(x[:, 0])", "(x.mean(1))"),
    "label_smooth": train(ENTROPY, ENTROPY.replace('"sum"', '"sum", label_smoothing=0.1')),
    "ignore_index": train(ENTROPY, ENTROPY.replace('"sum"', '"sum", ignore_index=0')),
    "softmax_twice": train(ENTROPY, ENTROPY.replace("(logits", "(F.softmax(logits)")),
    "softmax_half": (
        model(SCORES, SCORES.replace('.astype("float32")', "")),
        model(
            SOFTMAX,
            SOFTMAX.replace(
                "scores / HEAD_SIZE**0.5 + mask",
                "(scores / HEAD_SIZE**0.5 + mask).astype(scores.dtype)",
            ),
        ),
    ),
    "layer_norm_half": (
        model(DENSE, "        x = self.dense(x)\n"),
        model(SUM, "self.LayerNorm(residual.astype(x.dtype) + x)"),
    ),
    "residual_half": (
        model(DENSE, "        x = self.dense(x)\n"),
        model(SUM, 'self.LayerNorm((residual.astype(x.dtype) + x).astype("float32"))'),
    ),
    "gelu_half": model(
        'self.intermediate["dense"](x).astype("float32")', 'self.intermediate["dense"](x)'
    ),
    "tanh_half": model(TANH, TANH.replace('.astype("float32")', "")),
    "scores_float32": model(
        f"        {SCORES}\n",
        "        with paddle.amp.auto_cast(False):\n"
        '            q, k = q.astype("float32"), k.astype("float32")\n'
        "            scores = paddle.matmul(q, k, transpose_y=True)\n",
    ),
}
