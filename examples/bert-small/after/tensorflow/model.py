"""BERT encoder with a classification head.

bert-small: training for TensorFlow 2.16 or newer (Keras 3).
Written by crosscast 0.1.0 from recipe 48439cb69d5ee3aa.
Edit freely: nothing here imports crosscast.
"""

import keras
import numpy as np
import tensorflow as tf
from keras import layers

VOCAB_SIZE = 2048
HIDDEN_SIZE = 512
LAYERS = 4
ATTENTION_HEADS = 8
HEAD_SIZE = HIDDEN_SIZE // ATTENTION_HEADS
INTERMEDIATE_SIZE = 2048
MAX_POSITIONS = 64
TYPE_VOCAB_SIZE = 2
LABELS = 3
LAYER_NORM_EPS = 1e-12
INIT_STD = 0.02
# The numbers below which the values of each input lie.
LIMITS = {
    "input_ids": VOCAB_SIZE,
    "attention_mask": 2,
    "token_type_ids": TYPE_VOCAB_SIZE,
    "labels": LABELS,
}

# Types: the dense layers follow the global Keras policy, and the two attention products
# follow them. Everything else says float32: under a mixed policy Keras would otherwise
# run softmax, GELU, tanh, the embeddings and the residual stream in half.


def random_normal():
    # Called once per layer: one initializer object would repeat the same numbers.
    return keras.initializers.RandomNormal(stddev=INIT_STD)


def dense(units):
    return layers.Dense(units, kernel_initializer=random_normal())


def embedding(rows):
    return layers.Embedding(rows, HIDDEN_SIZE, random_normal(), dtype="float32")


def layer_norm():
    return layers.LayerNormalization(epsilon=LAYER_NORM_EPS, dtype="float32")


def float32(x):
    return tf.cast(x, tf.float32)


class EncoderLayer(layers.Layer):
    def __init__(self):
        super().__init__(dtype="float32")
        self.query = dense(HIDDEN_SIZE)
        self.key = dense(HIDDEN_SIZE)
        self.value = dense(HIDDEN_SIZE)
        self.attention_dense = dense(HIDDEN_SIZE)
        self.attention_norm = layer_norm()
        self.intermediate_dense = dense(INTERMEDIATE_SIZE)
        self.output_dense = dense(HIDDEN_SIZE)
        self.output_norm = layer_norm()

    def call(self, x, mask):
        length = tf.shape(x)[1]
        heads = (-1, length, ATTENTION_HEADS, HEAD_SIZE)
        q, k, v = (
            tf.transpose(tf.reshape(project(x), heads), (0, 2, 1, 3))
            for project in (self.query, self.key, self.value)
        )
        # TensorFlow has no fused attention: these weights are kept for backward (CC368).
        scores = float32(tf.matmul(q, k, transpose_b=True)) / HEAD_SIZE**0.5
        weights = tf.nn.softmax(scores + mask)
        context = tf.matmul(tf.cast(weights, v.dtype), v)
        context = tf.transpose(context, (0, 2, 1, 3))
        y = self.attention_dense(tf.reshape(context, (-1, length, HIDDEN_SIZE)))
        y = float32(y)
        x = self.attention_norm(x + y)

        y = float32(self.intermediate_dense(x))
        y = float32(self.output_dense(tf.nn.gelu(y)))
        return self.output_norm(x + y)


class BertClassifier(keras.Model):
    def __init__(self):
        super().__init__(dtype="float32")
        self.word_embeddings = embedding(VOCAB_SIZE)
        self.position_embeddings = embedding(MAX_POSITIONS)
        self.token_type_embeddings = embedding(TYPE_VOCAB_SIZE)
        self.embeddings_norm = layer_norm()
        self.encoder = [EncoderLayer() for _ in range(LAYERS)]
        self.pooler = dense(HIDDEN_SIZE)
        self.classifier = dense(LABELS)

    def call(self, input_ids, attention_mask, token_type_ids):
        """Return logits [batch, LABELS]; attention_mask is 0 for padding, else 1."""
        # Added to the scores: 0 for tokens, -1e9 (still finite in a sum) for padding.
        mask = (1.0 - float32(attention_mask)[:, None, None, :]) * -1e9
        positions = tf.range(tf.shape(input_ids)[1])
        x = self.word_embeddings(input_ids) + self.token_type_embeddings(token_type_ids)
        x = self.embeddings_norm(x + self.position_embeddings(positions))
        for layer in self.encoder:
            x = layer(x, mask)
        x = tf.tanh(float32(self.pooler(x[:, 0])))
        return self.classifier(x)

    def canonical_parameters(self):
        """Return the trainable variables by their Hugging Face names."""
        named_layers = {
            "bert.embeddings.word_embeddings": self.word_embeddings,
            "bert.embeddings.position_embeddings": self.position_embeddings,
            "bert.embeddings.token_type_embeddings": self.token_type_embeddings,
            "bert.embeddings.LayerNorm": self.embeddings_norm,
            "bert.pooler.dense": self.pooler,
            "classifier": self.classifier,
        }
        for i, layer in enumerate(self.encoder):
            prefix = f"bert.encoder.layer.{i}"
            named_layers |= {
                f"{prefix}.attention.self.query": layer.query,
                f"{prefix}.attention.self.key": layer.key,
                f"{prefix}.attention.self.value": layer.value,
                f"{prefix}.attention.output.dense": layer.attention_dense,
                f"{prefix}.attention.output.LayerNorm": layer.attention_norm,
                f"{prefix}.intermediate.dense": layer.intermediate_dense,
                f"{prefix}.output.dense": layer.output_dense,
                f"{prefix}.output.LayerNorm": layer.output_norm,
            }
        return {
            f"{name}.{role}": variable
            for name, layer in named_layers.items()
            # kernel and bias, gamma and beta, or the one table of an embedding
            for role, variable in zip(("weight", "bias"), layer.trainable_variables)
        }

    @staticmethod
    def canonical_layout(name, array):
        """Convert between the layout used here and that of weight files, both ways.

        Dense kernels are (in, out) here and (out, in) there; all else is the same.
        """
        if array.ndim == 2 and not name.endswith("_embeddings.weight"):
            return np.ascontiguousarray(array.T)
        return array


def build_model():
    """Return a model with fresh weights."""
    model = BertClassifier()
    ids = np.zeros((1, 2), "int32")
    model(ids, ids, ids)  # Keras creates the weights at the first call.
    return model
