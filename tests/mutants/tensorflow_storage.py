"""The bugs of storage in the emitted files of TensorFlow.

Keras casts float32 weights where they are used: bugs of half copies have no place in them.
"""

from __future__ import annotations

from crosscast.targets.harness import Edit
from mutants.spelling import Spellings, model, spellings, train

MARK = 'DTYPE_POLICY = "mixed_'
"""Stands only in scripts that store half."""
FIRST = "        x = self.attention_norm(x + y)\n"
SECOND = "        return self.output_norm(x + y)\n"
GELU = "        y = self.output_dense(gelu(y))\n"
WEIGHTS = "    weights = half(tf.nn.softmax(float32(scores) / HEAD_SIZE**0.5 + mask))\n"
SOFTMAX = "        weights = softmax(scores, mask)\n"
DROPPED = "        weights = dropout(weights, seed, self.first_mask)\n"
CONTEXT = "        context = tf.matmul(weights, v)\n"
DROP = "        y = dropout(y, seed, self.first_mask + 2)\n"
LOOKUP = (
    "        x = self.word_embeddings(input_ids) + self.token_type_embeddings(token_type_ids)\n"
)
PLACES = "        x = half(x + self.position_embeddings(positions))\n"
EMBEDDED = "        x = self.embeddings_norm(x)\n"
POOLED = "        x = tf.tanh(self.pooler(x[:, 0]))\n"
CLASSIFIED = "        return self.classifier(dropout(x, seed, MASKS - 1))\n"
PLAIN = "        return self.classifier(x)\n"
KEPT = "    kept = tf.cast(float32(x) / (1.0 - DROPOUT), x.dtype)\n"
MASK = "(1.0 - float32(attention_mask)[:, None, None, :]) * -1e9"
LOGITS = "    logits = tf.cast(model(**inputs, training=training), tf.float32)\n"
SUMMED = (
    "    losses, _ = row_losses(model, batch, training=True)\n    return tf.reduce_sum(losses)\n"
)
EVALUATED = "    return tf.reduce_sum(losses), tf.math.count_nonzero(right)\n"
DIVIDED = "        loss = loss / divisor\n"
ADDED = "            total.assign_add(gradient)\n"
GRADIENTS = '    gradients = tape.gradient(scaled_loss, variables, unconnected_gradients="zero")\n'
UPDATE = "            weight.assign_sub(self.learning_rate * mean / correction / (root + EPS))\n"
LAYERS = "        self.encoder = [EncoderLayer(3 * i + 1) for i in range(LAYERS)]\n"
HALF = "DTYPE_POLICY[6:]"  # behind `mixed_`
ROUNDED = f"tf.cast(tf.cast({{}}, {HALF}), tf.float32)"
WIDE = "    centered = float32(x)\n"
SCALE = "    scale = tf.math.rsqrt(variance + LAYER_NORM_EPS)\n"
STATISTICS = "    mean, centered, variance = map(float32, (mean, centered, variance))\n"


def _in_float32(name: str, what: str) -> str:
    """Return the product of a dense layer in float32, and its bias, rounded to half."""
    return f"half(tf.matmul(float32({what}), self.{name}.kernel) + self.{name}.bias)"


def _evaluated(text: str) -> Edit:
    return train(EVALUATED, f"{text}{EVALUATED}")


STORAGE: Spellings = {
    "one_sum_float32": model(SECOND, SECOND.replace("x + y", "half(float32(x) + float32(y))")),
    "all_sums_float32": [
        model(old, old.replace("x + y", "float32(x) + float32(y)")) for old in (FIRST, SECOND)
    ],
    "norm_kept_float32": [
        model(
            "self.embeddings_norm = layer_norm()",
            "self.embeddings_norm ="
            ' layers.LayerNormalization(epsilon=LAYER_NORM_EPS, dtype="float32")',
        ),
        model(FIRST, FIRST.replace("x + y", "float32(x) + float32(y)")),
    ],
    "statistics_half": [
        model(WIDE, WIDE.replace("float32", "half")),
        model(SCALE, STATISTICS + SCALE),
    ],
    "softmax_sums_half": model(
        SOFTMAX,
        "        scores = half(float32(scores) / HEAD_SIZE**0.5 + mask)\n"
        "        scores = tf.exp(scores - tf.reduce_max(scores, axis=-1, keepdims=True))\n"
        "        weights = scores / tf.reduce_sum(scores, axis=-1, keepdims=True)\n",
    ),
    "softmax_rounded_twice": model(
        WEIGHTS,
        WEIGHTS.replace(
            "float32(scores) / HEAD_SIZE**0.5 + mask",
            "float32(half(float32(scores) / HEAD_SIZE**0.5 + mask))",
        ),
    ),
    "softmax_float32": [
        model(
            SOFTMAX, "        weights = tf.nn.softmax(float32(scores) / HEAD_SIZE**0.5 + mask)\n"
        ),
        model(CONTEXT, CONTEXT.replace("weights, v", "half(weights), v")),
    ],
    "loss_half": train(LOGITS, "    logits = model(**inputs, training=training)\n"),
    "loss_sum_half": train(
        SUMMED,
        SUMMED.replace("(losses)", "(tf.cast(losses, tf.as_dtype(model.pooler.compute_dtype)))"),
    ),
    "window_loss_half": spellings(
        train(
            "        window_loss += micro_step(state, loss_fn, batch, divisor, scale)\n    return",
            "        window_loss += micro_step(state, loss_fn, batch, divisor, scale)\n"
            f"        window_loss = {ROUNDED.format('window_loss')}\n    return",
        ),
        train(
            "        window_loss += micro_step(state, loss_fn, batch, divisor)\n    return",
            "        window_loss += micro_step(state, loss_fn, batch, divisor)\n"
            f"        window_loss = {ROUNDED.format('window_loss')}\n    return",
        ),
    ),
    "evaluated_loss_half": train(
        LOGITS,
        "    logits = model(**inputs, training=training)\n"
        "    logits = tf.cast(logits, tf.float32) if training else logits\n",
    ),
    "embeddings_sum_half": [
        model(
            LOOKUP,
            "        x = half(self.word_embeddings(input_ids))\n"
            "        x = x + half(self.token_type_embeddings(token_type_ids))\n",
        ),
        model(PLACES, "        x = x + half(self.position_embeddings(positions))\n"),
    ],
    "embeddings_rounded_twice": model(PLACES, f"        x = float32(half(x))\n{PLACES}"),
    "table_half": model(
        "self.word_embeddings(input_ids)",
        "(self.word_embeddings(input_ids), float32(tf.nn.embedding_lookup("
        "half(self.word_embeddings.embeddings), input_ids)))[1]",
    ),
    "gelu_float32": [
        model(LAYERS, f"{LAYERS}        self.encoder[0].first = True\n"),
        model(
            GELU,
            "        if hasattr(self, 'first'):\n"
            "            y = half(tf.nn.gelu(float32(y)))\n"
            "        else:\n"
            "            y = gelu(y)\n"
            "        y = self.output_dense(y)\n",
        ),
    ],
    "tanh_float32": model(POOLED, "        x = half(tf.tanh(float32(self.pooler(x[:, 0]))))\n"),
    "pooler_float32": model(
        POOLED,
        "        if not self.pooler.built:\n"
        "            self.pooler(x[:, 0])\n"
        f"        x = tf.tanh({_in_float32('pooler', 'x[:, 0]')})\n",
    ),
    "classifier_float32": model(
        "        self.classifier = dense(LABELS)\n",
        "        self.classifier = layers.Dense(\n"
        '            LABELS, kernel_initializer=random_normal(), dtype="float32"\n'
        "        )\n",
    ),
    "attention_float32": [
        model(
            "tf.matmul(q, k, transpose_b=True)",
            "half(tf.matmul(float32(q), float32(k), transpose_b=True))",
        ),
        model(
            CONTEXT,
            CONTEXT.replace(
                "tf.matmul(weights, v)", "half(tf.matmul(float32(weights), float32(v)))"
            ),
        ),
    ],
    "dropout_scale_half": model(KEPT, "    kept = x * half(1.0 / (1.0 - DROPOUT))\n"),
    "dropout_float32": model(
        DROP, DROP.replace("dropout(y,", "half(dropout(float32(y),").replace("2)", "2))")
    ),
    "attention_dropout_missing": model(DROPPED, ""),
    "attention_dropout_twice": model(CONTEXT, CONTEXT + DROPPED.replace("weights", "context")),
    "attention_scale": model(WEIGHTS, WEIGHTS.replace("HEAD_SIZE**0.5", "HEAD_SIZE")),
    "attention_unscaled": model(WEIGHTS, WEIGHTS.replace(" / HEAD_SIZE**0.5", "")),
    "attention_mask_on_queries": model(MASK, MASK.replace("None, None, :", "None, :, None")),
    "attention_mask_weak": model(MASK, MASK.replace("1e9", "1.0")),
    "stored_other_half": [
        model(FIRST, FIRST.replace("(x + y)", "(half(tf.cast(x + y, tf.bfloat16)))")),
        model(SECOND, SECOND.replace("(x + y)", "(half(tf.cast(x + y, tf.bfloat16)))")),
    ],
    "gradients_other_half": train(
        ADDED, "            total.assign_add(tf.cast(tf.cast(gradient, tf.bfloat16), tf.float32))\n"
    ),
    "masters_rounded": train(
        UPDATE,
        f"{UPDATE}            rounded = tf.cast(weight, DTYPE_POLICY[6:])\n"
        "            weight.assign(tf.cast(rounded, tf.float32))\n",
    ),
    "gradients_half": train(
        ADDED, f"            total.assign({ROUNDED.format('total.value() + gradient')})\n"
    ),
    "norm_weights_half": train(
        UPDATE,
        f"{UPDATE}            if weight.name in ('gamma', 'beta'):\n"
        "                rounded = tf.cast(weight, DTYPE_POLICY[6:])\n"
        "                weight.assign(tf.cast(rounded, tf.float32))\n",
    ),
    "scaled_loss_half": train(DIVIDED, f"{DIVIDED}        loss = {ROUNDED.format('loss')}\n"),
    "softmax_gradient_half": model(
        "        w, g = float32_after(upstream, weights), float32(upstream)\n",
        "        w, g = weights, upstream\n",
    ),
    "norm_gradient_half": [
        model(
            "        n = (float32_after(upstream, x) - mean) * scale\n"
            "        g = float32(upstream)\n",
            "        n = half((float32(x) - mean) * scale)\n        g = upstream\n",
        ),
        model("        g *= gamma\n", "        g *= half(gamma)\n"),
        model("tf.reduce_mean(gn * gamma,", "tf.reduce_mean(gn * half(gamma),"),
        model(
            "tf.cast(g * scale, dtype), of_gamma, of_beta",
            "g * half(scale), float32(of_gamma), float32(of_beta)",
        ),
    ],
    "decay_of_rounded": train(
        "WEIGHT_DECAY * weight)",
        "WEIGHT_DECAY * tf.cast(tf.cast(weight, DTYPE_POLICY[6:]), tf.float32))",
    ),
}
