"""Bugs in the emitted model of JAX."""

from __future__ import annotations

from crosscast.targets.harness import Edit
from mutants.spelling import Spellings, model

GELU = "nnx.gelu(y, approximate=False)"
SOFTMAX = "nnx.softmax(scores / HEAD_SIZE**0.5 + mask)"
HEADS = "        heads = (*x.shape[:2], ATTENTION_HEADS, HEAD_SIZE)\n"
LAYERS = "        layers = self.query, self.key, self.value\n"
CUT = "(f(x).reshape(heads) for f in layers)"
DENSE = "        x = self.dense(x)\n"
SUM = "self.LayerNorm(residual + x"
"""Half of a sum: what is added may be cast."""
HALF_SUM = f"{SUM}.astype(jnp.float32))"
SQUARE = "if array.ndim == 2 and not name"
SCORES = 'jnp.einsum("bqhd,bkhd->bhqk", q, k).astype(jnp.float32)'
IMPORT = "import jax.numpy as jnp\n"


def with_jax(*edits: Edit) -> tuple[Edit, ...]:
    """Return edits of a model that use JAX itself."""
    return model(IMPORT, f"import jax\n{IMPORT}"), *edits


MODEL: Spellings = {
    "gelu_tanh": model(GELU, GELU.replace("False", "True")),
    "quick_gelu": model(GELU, "y * nnx.sigmoid(1.702 * y)"),
    "relu": model(GELU, "nnx.relu(y)"),
    "no_mask": model(SOFTMAX, SOFTMAX.replace(" + mask", "")),
    "mask_inverted": model(
        "(1.0 - attention_mask[:, None, None, :].astype(jnp.float32))",
        "attention_mask[:, None, None, :].astype(jnp.float32)",
    ),
    "dropout_on": with_jax(
        model(
            DENSE,
            f"{DENSE}        kept = jax.random.bernoulli(jax.random.key(0), 0.9, x.shape)\n"
            "        x = jnp.where(kept, x / 0.9, 0.0)\n",
        )
    ),
    "tied_layout": model(
        SQUARE, "if array.ndim == 2 and array.shape[0] != array.shape[1] and not name"
    ),
    "heads_interleaved": (
        model(HEADS, HEADS.replace("ATTENTION_HEADS, HEAD_SIZE", "HEAD_SIZE, ATTENTION_HEADS")),
        model(CUT, CUT.replace("(heads)", "(heads).swapaxes(2, 3)")),
    ),
    "qk_swapped": model(LAYERS, LAYERS.replace("self.query, self.key", "self.key, self.query")),
    "positions_off_by_one": model(
        "jnp.arange(input_ids.shape[1])", "jnp.arange(1, 1 + input_ids.shape[1])"
    ),
    "embeddings_frozen": with_jax(
        model(
            "self.word_embeddings(input_ids) +",
            "jax.lax.stop_gradient(self.word_embeddings(input_ids)) +",
        )
    ),
    "pooler_no_tanh": model("return jnp.tanh(x)", "return x"),
    "pooler_mean": model("x[:, 0]", "x.mean(1)"),
    "residual_missing": model(SUM, "self.LayerNorm(x"),
    "pre_layer_norm": model(SUM, "residual + self.LayerNorm(x"),
    "softmax_half": model(SOFTMAX, f"nnx.softmax(({SOFTMAX[12:-1]}).astype(HALF))"),
    "layer_norm_half": model("**exact, dtype=jnp.float32, rngs", "**exact, dtype=HALF, rngs"),
    "residual_half": model(
        HALF_SUM, "self.LayerNorm((residual.astype(x.dtype) + x).astype(jnp.float32))"
    ),
    "gelu_half": model(
        'self.intermediate["dense"](x).astype(jnp.float32)', 'self.intermediate["dense"](x)'
    ),
    "tanh_half": model(
        'self.pooler["dense"](x[:, 0]).astype(jnp.float32)', 'self.pooler["dense"](x[:, 0])'
    ),
    "scores_float32": model(
        SCORES, 'jnp.einsum("bqhd,bkhd->bhqk", q.astype(jnp.float32), k.astype(jnp.float32))'
    ),
}
