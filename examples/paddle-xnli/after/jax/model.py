"""BERT encoder with a classification head.

paddle-xnli: training for JAX 0.9 or newer (Flax NNX).
Written by crosscast 0.1.0 from recipe 12c67d2021d8a1b1.
Edit freely: nothing here imports crosscast.
"""

import jax.numpy as jnp
from flax import nnx

VOCAB_SIZE = 30522
HIDDEN_SIZE = 768
LAYERS = 12
ATTENTION_HEADS = 12
HEAD_SIZE = HIDDEN_SIZE // ATTENTION_HEADS
INTERMEDIATE_SIZE = 3072
MAX_POSITIONS = 512
TYPE_VOCAB_SIZE = 2
LABELS = 3
DROPOUT = 0.1
LAYER_NORM_EPS = 1e-12
INIT_STD = 0.02
# The numbers below which the values of each input lie.
LIMITS = {
    "input_ids": VOCAB_SIZE,
    "attention_mask": 2,
    "token_type_ids": TYPE_VOCAB_SIZE,
    "labels": LABELS,
}
HALF = jnp.float16

# Types: `dtype` is what a layer casts to what it gets, and returns; a normalization
# computes in float32 all the same. Other operations follow what they get.


def dense(inputs, outputs, rngs):
    """A dense layer with fresh weights."""
    init = nnx.initializers.normal(INIT_STD)
    return nnx.Linear(inputs, outputs, kernel_init=init, dtype=HALF, rngs=rngs)


def table(rows, rngs):
    """An embedding with fresh weights."""
    init = nnx.initializers.normal(INIT_STD)
    return nnx.Embed(rows, HIDDEN_SIZE, embedding_init=init, rngs=rngs)


def norm(rngs):
    """A LayerNorm; its fast variance would lose digits where the mean is large."""
    exact = {"epsilon": LAYER_NORM_EPS, "use_fast_variance": False}
    return nnx.LayerNorm(HIDDEN_SIZE, **exact, dtype=jnp.float32, rngs=rngs)


class Dropout(nnx.Dropout):
    """Dropout that divides in float32: the share that is kept is not a half number."""

    def __init__(self, rngs):
        super().__init__(DROPOUT, rngs=rngs)

    def __call__(self, x):
        return super().__call__(x.astype(jnp.float32)).astype(jnp.float32)


class SelfAttention(nnx.Module):
    def __init__(self, rngs):
        self.query = dense(HIDDEN_SIZE, HIDDEN_SIZE, rngs)
        self.key = dense(HIDDEN_SIZE, HIDDEN_SIZE, rngs)
        self.value = dense(HIDDEN_SIZE, HIDDEN_SIZE, rngs)
        self.dropout = Dropout(rngs)

    def __call__(self, x, mask):
        heads = (*x.shape[:2], ATTENTION_HEADS, HEAD_SIZE)
        layers = self.query, self.key, self.value
        q, k, v = (f(x).reshape(heads) for f in layers)
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k).astype(jnp.float32)
        weights = nnx.softmax(scores / HEAD_SIZE**0.5 + mask)
        weights = self.dropout(weights)
        x = jnp.einsum("bhqk,bkhd->bqhd", weights.astype(HALF), v)
        return x.reshape(*heads[:2], HIDDEN_SIZE)


class AddNorm(nnx.Module):
    """Dense layer, residual sum and LayerNorm."""

    def __init__(self, inputs, rngs):
        self.dense = dense(inputs, HIDDEN_SIZE, rngs)
        self.LayerNorm = norm(rngs)
        self.dropout = Dropout(rngs)

    def __call__(self, x, residual):
        x = self.dense(x)
        x = self.dropout(x)
        return self.LayerNorm(residual + x)


class EncoderLayer(nnx.Module):
    def __init__(self, rngs):
        self.attention = nnx.Dict(
            {"self": SelfAttention(rngs), "output": AddNorm(HIDDEN_SIZE, rngs)}
        )
        self.intermediate = nnx.Dict(
            {"dense": dense(HIDDEN_SIZE, INTERMEDIATE_SIZE, rngs)}
        )
        self.output = AddNorm(INTERMEDIATE_SIZE, rngs)

    def __call__(self, x, mask):
        x = self.attention["output"](self.attention["self"](x, mask), x)
        y = self.intermediate["dense"](x).astype(jnp.float32)
        return self.output(nnx.gelu(y, approximate=False), x)


class Embeddings(nnx.Module):
    def __init__(self, rngs):
        self.word_embeddings = table(VOCAB_SIZE, rngs)
        self.position_embeddings = table(MAX_POSITIONS, rngs)
        self.token_type_embeddings = table(TYPE_VOCAB_SIZE, rngs)
        self.LayerNorm = norm(rngs)
        self.dropout = Dropout(rngs)

    def __call__(self, input_ids, token_type_ids):
        positions = jnp.arange(input_ids.shape[1])
        x = self.word_embeddings(input_ids) + self.token_type_embeddings(token_type_ids)
        x = x + self.position_embeddings(positions)
        return self.dropout(self.LayerNorm(x))


class Bert(nnx.Module):
    """The encoder, with the attribute names of Hugging Face checkpoints."""

    def __init__(self, rngs):
        self.embeddings = Embeddings(rngs)
        layers = nnx.List(EncoderLayer(rngs) for _ in range(LAYERS))
        self.encoder = nnx.Dict({"layer": layers})
        self.pooler = nnx.Dict({"dense": dense(HIDDEN_SIZE, HIDDEN_SIZE, rngs)})

    def __call__(self, input_ids, attention_mask, token_type_ids):
        x = self.embeddings(input_ids, token_type_ids)
        # Added to the scores: 0 for tokens, -1e9 (still finite in a sum) for padding.
        mask = (1.0 - attention_mask[:, None, None, :].astype(jnp.float32)) * -1e9
        for layer in self.encoder["layer"]:
            x = layer(x, mask)
        x = self.pooler["dense"](x[:, 0]).astype(jnp.float32)
        return jnp.tanh(x)


class BertClassifier(nnx.Module):
    def __init__(self, rngs):
        self.bert = Bert(rngs)
        self.classifier = dense(HIDDEN_SIZE, LABELS, rngs)
        self.dropout = Dropout(rngs)

    def __call__(self, input_ids, attention_mask, token_type_ids):
        """Return logits [batch, LABELS]; attention_mask is 0 for padding, else 1."""
        x = self.bert(input_ids, attention_mask, token_type_ids)
        x = self.dropout(x)
        return self.classifier(x)

    @staticmethod
    def canonical_name(path):
        """Name of a weight in files, which is that of Hugging Face checkpoints."""
        kinds = {"kernel": "weight", "scale": "weight", "embedding": "weight"}
        return ".".join(map(str, (*path[:-1], kinds.get(path[-1], path[-1]))))

    @staticmethod
    def canonical_layout(name, array):
        """Convert between the layout used here and that of weight files, both ways.

        Dense kernels are (in, out) here and (out, in) there; all else is the same.
        """
        if array.ndim == 2 and not name.endswith("_embeddings.weight"):
            return array.T
        return array


def build_model(rngs):
    """Return a model with fresh weights."""
    return BertClassifier(rngs)
