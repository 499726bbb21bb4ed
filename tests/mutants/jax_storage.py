"""The bugs of storage in the emitted files of JAX.

Flax casts float32 weights where they are used: bugs of half copies have no place in them.
"""

from __future__ import annotations

from crosscast.targets.harness import Edit
from mutants.jax_products import loss_in
from mutants.jax_window import ADD, APPLIED, DIVIDE, LOGITS, SUMS, UPDATE
from mutants.spelling import Spellings, model, train

MARK = "\nHALF = "
"""Stands only in scripts that store half."""
SUM = "        return self.LayerNorm(residual + x)\n"
DROPPED_SUM = f"        x = self.dropout(x)\n{SUM}"
TYPES = "        self.token_type_embeddings = table(TYPE_VOCAB_SIZE, rngs)\n"
NORM = "        self.LayerNorm = norm(rngs)\n"
EMBEDDED = "        return self.dropout(self.LayerNorm(x))\n"
LOOKUP = (
    "        x = self.word_embeddings(input_ids) + self.token_type_embeddings(token_type_ids)\n"
)
PLACES = "        x = x + self.position_embeddings(positions)\n"
SOFTMAX = "        weights = nnx.softmax(scores / HEAD_SIZE**0.5 + mask).astype(v.dtype)\n"
DROPPED = "        weights = self.dropout(weights).astype(v.dtype)\n"
SCORES = '"bqhd,bkhd->bhqk", q, k,'
CONTEXT = '        return jnp.einsum("bhqk,bkhd->bqhd", weights, v)\n'
GELU = "nnx.gelu(y, approximate=False)"
LAYERS = "        layers = nnx.List(EncoderLayer(rngs) for _ in range(LAYERS))\n"
POOLED = '        x = self.pooler["dense"](x[:, 0])\n'
CLASSIFIER = "        self.classifier = dense(HIDDEN_SIZE, LABELS, rngs)\n"
KEPT = "        return super().__call__(x.astype(jnp.float32)).astype(HALF)\n"
MASK = "attention_mask[:, None, None, :].astype(jnp.float32)) * -1e9\n"
IMPORT = "from model import LIMITS, MAX_POSITIONS, build_model\n"
SUMMED = "    return losses.sum()\n"
ROUNDED = "{}.astype(HALF).astype(jnp.float32)"
WIDE = ".astype(jnp.float32)"


def _with_half(*edits: Edit) -> tuple[Edit, ...]:
    """Return edits of train.py that use the half type of the model."""
    return train(IMPORT, IMPORT.replace("import ", "import HALF, ")), *edits


def _rounded_weights(condition: str) -> tuple[Edit, ...]:
    """Return edits that round the weights whose path meets a condition after every update."""
    return _with_half(
        train(
            APPLIED,
            f"{APPLIED}    weights = jax.tree_util.tree_map_with_path(\n"
            f"        lambda path, w: {ROUNDED.format('w')} if {condition} else w, weights\n"
            "    )\n",
        )
    )


STORAGE: Spellings = {
    "one_sum_float32": model(
        SUM,
        "        if self.dense.in_features == INTERMEDIATE_SIZE:\n"
        f"            return self.LayerNorm(residual{WIDE} + x)\n{SUM}",
    ),
    "all_sums_float32": model(SUM, SUM.replace("residual", f"residual{WIDE}")),
    "norm_kept_float32": [
        model(TYPES + NORM, f"{TYPES}{NORM}        self.LayerNorm.dtype = jnp.float32\n"),
        model(EMBEDDED, EMBEDDED.replace("self.dropout(", "nnx.Dropout.__call__(self.dropout, ")),
    ],
    "statistics_half": model(
        SUM,
        "        x = residual + x\n"
        "        x = x - x.mean(-1, keepdims=True)\n"
        "        x = x / jnp.sqrt((x * x).mean(-1, keepdims=True) + LAYER_NORM_EPS)\n"
        "        scale, bias = self.LayerNorm.scale, self.LayerNorm.bias\n"
        "        return x * scale[...].astype(HALF) + bias[...].astype(HALF)\n",
    ),
    "softmax_sums_half": model(
        SOFTMAX,
        "        scores = (scores / HEAD_SIZE**0.5 + mask).astype(v.dtype)\n"
        "        scores = jnp.exp(scores - scores.max(-1, keepdims=True))\n"
        "        weights = scores / scores.sum(-1, keepdims=True)\n",
    ),
    "softmax_rounded_twice": model(
        SOFTMAX,
        "        scores = (scores / HEAD_SIZE**0.5 + mask).astype(v.dtype)\n"
        "        weights = nnx.softmax(scores.astype(jnp.float32)).astype(v.dtype)\n",
    ),
    "softmax_float32": model(SOFTMAX, SOFTMAX.replace(".astype(v.dtype)", "")),
    "loss_half": train(LOGITS, LOGITS.replace(WIDE, "")),
    "loss_sum_half": _with_half(train(SUMMED, f"    return losses.astype(HALF).sum(){WIDE}\n")),
    "window_loss_half": _with_half(
        train(
            SUMS,
            f"    window_loss = {ROUNDED.format('(window_loss + loss)')}\n"
            "    return rest, totals, window_loss\n",
        )
    ),
    "evaluated_loss_half": _with_half(*loss_in("HALF")),
    "embeddings_sum_half": [
        model(
            LOOKUP,
            "        x = self.word_embeddings(input_ids).astype(HALF)\n"
            "        x = x + self.token_type_embeddings(token_type_ids).astype(HALF)\n",
        ),
        model(PLACES, PLACES.replace("(positions)", "(positions).astype(HALF)")),
    ],
    "embeddings_rounded_twice": model(PLACES, f"        x = {ROUNDED.format('x')}\n{PLACES}"),
    "table_half": model(
        "self.word_embeddings(input_ids)",
        "self.word_embeddings.embedding[...].astype(HALF)[input_ids]",
    ),
    "gelu_float32": [
        model(LAYERS, f"{LAYERS}        layers[0].first = True\n"),
        model(
            GELU,
            f"({GELU.replace('y,', f'y{WIDE},')}.astype(HALF)"
            f" if hasattr(self, 'first') else {GELU})",
        ),
    ],
    "tanh_float32": model("return jnp.tanh(x)", f"return jnp.tanh(x{WIDE}).astype(x.dtype)"),
    "pooler_float32": model(
        POOLED,
        '        pooler = self.pooler["dense"]\n'
        f"        x = x[:, 0]{WIDE} @ pooler.kernel[...] + pooler.bias[...]\n"
        "        x = x.astype(HALF)\n",
    ),
    "classifier_float32": model(
        CLASSIFIER, f"{CLASSIFIER}        self.classifier.dtype = jnp.float32\n"
    ),
    "attention_float32": [
        model(SCORES, SCORES.replace("q, k", f"q{WIDE}, k{WIDE}")),
        model(CONTEXT, CONTEXT.replace("weights, v)", f"weights{WIDE}, v{WIDE}).astype(v.dtype)")),
    ],
    "dropout_scale_half": model(KEPT, "        return super().__call__(x)\n"),
    "dropout_float32": model(
        DROPPED_SUM,
        DROPPED_SUM.replace("self.dropout(x)", f"nnx.Dropout.__call__(self.dropout, x{WIDE})"),
    ),
    "attention_dropout_missing": model(DROPPED, ""),
    "attention_dropout_twice": model(
        CONTEXT, CONTEXT.replace("return ", "return self.dropout(").replace("v)", "v))")
    ),
    "attention_scale": model(SOFTMAX, SOFTMAX.replace("HEAD_SIZE**0.5", "HEAD_SIZE")),
    "attention_unscaled": model(SOFTMAX, SOFTMAX.replace(" / HEAD_SIZE**0.5", "")),
    "attention_mask_on_queries": model(MASK, MASK.replace("None, None, :", "None, :, None")),
    "attention_mask_weak": model(MASK, MASK.replace("1e9", "1.0")),
    "stored_other_half": model(SUM, SUM.replace("+ x)", "+ x).astype(jnp.bfloat16).astype(HALF)")),
    "gradients_other_half": train(
        ADD,
        "    rounded = jax.tree.map(lambda g: g.astype(jnp.bfloat16), gradients)\n"
        f"{ADD.replace(', gradients', ', rounded')}",
    ),
    "masters_rounded": _rounded_weights("path"),
    "norm_weights_half": _rounded_weights('"LayerNorm" in str(path)'),
    "gradients_half": _with_half(
        train(ADD, f"{ADD}    totals = jax.tree.map(lambda t: {ROUNDED.format('t')}, totals)\n")
    ),
    "decay_of_rounded": _with_half(
        train(
            UPDATE,
            f"    rounded = jax.tree.map(lambda w: {ROUNDED.format('w')}, arrays.weights)\n"
            f"{UPDATE.replace('arrays.weights', 'rounded')}",
        )
    ),
    "scaled_loss_half": _with_half(
        train(DIVIDE, f"{DIVIDE}        loss = {ROUNDED.format('loss')}\n")
    ),
}
