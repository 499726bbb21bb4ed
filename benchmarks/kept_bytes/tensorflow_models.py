"""The contestants of TensorFlow: the emitted model, and one of Keras' own layers and policies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import tensorflow as tf
from keras import layers

from crosscast_parity.inside.script import loaded
from kept_bytes import Counts, Shape
from kept_bytes.tensorflow_count import count

INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def measure(
    name: str, precision: str, dropout: float, shapes: list[Shape], folder: Path
) -> list[Counts]:
    """Count one contestant with micro-batches of some shapes; as in `torch_models`."""
    keras.backend.clear_session()
    with loaded(folder / "train.py") as script:
        if name == "hand":
            policy = "float32" if precision == "float32" else f"mixed_{precision}"
            keras.config.set_dtype_policy(policy)
            model: Any = Bert(shapes[0], dropout)
            ids = tf.zeros((1, 2), tf.int32)
            model(ids, ids, ids)
        else:
            keras.config.set_dtype_policy(getattr(script, "DTYPE_POLICY", "float32"))
            model = script.build_model()
        weights = [variable.value for variable in model.trainable_variables]
        return [
            count(lambda batch: script.micro_batch_loss(model, batch), weights, rows_of(shape))
            for shape in shapes
        ]


def rows_of(shape: Shape) -> dict[str, tf.TensorSpec]:
    """Return the types of a micro-batch."""
    rows = dict.fromkeys(INPUTS, tf.TensorSpec((shape.rows, shape.tokens), tf.int32))
    return rows | {"labels": tf.TensorSpec((shape.rows,), tf.int32)}


class Layer(layers.Layer):
    """One layer of the encoder, as an expert writes it for a policy."""

    def __init__(self, shape: Shape, dropout: float) -> None:
        super().__init__()
        width = shape.hidden
        self.attention = layers.MultiHeadAttention(
            shape.heads, width // shape.heads, dropout=dropout
        )
        self.up = layers.Dense(4 * width, activation="gelu")
        self.down = layers.Dense(width)
        self.norms = [layers.LayerNormalization(epsilon=1e-12) for _ in range(2)]
        self.dropout = layers.Dropout(dropout)

    def call(self, x: Any, mask: Any, training: bool = False) -> Any:
        y = self.attention(x, x, attention_mask=mask, training=training)
        x = self.norms[0](x + self.dropout(y, training=training))
        y = self.down(self.up(x))
        return self.norms[1](x + self.dropout(y, training=training))


class Bert(keras.Model):
    """BERT with a head for three labels, whose logits are float32 as Keras recommends."""

    def __init__(self, shape: Shape, dropout: float) -> None:
        super().__init__()
        width = shape.hidden
        self.words, self.places, self.segments = (
            layers.Embedding(rows, width) for rows in (shape.words, 512, 2)
        )
        self.norm = layers.LayerNormalization(epsilon=1e-12)
        self.encoder = [Layer(shape, dropout) for _ in range(shape.layers)]
        self.pooler = layers.Dense(width, activation="tanh")
        self.classifier = layers.Dense(3, dtype="float32")
        self.dropout = layers.Dropout(dropout)

    def call(
        self, input_ids: Any, attention_mask: Any, token_type_ids: Any, training: bool = False
    ) -> Any:
        positions = tf.range(tf.shape(input_ids)[1])
        x = self.words(input_ids) + self.segments(token_type_ids) + self.places(positions)
        x = self.dropout(self.norm(x), training=training)
        mask = tf.cast(attention_mask, tf.bool)[:, None, :]
        for layer in self.encoder:
            x = layer(x, mask, training=training)
        return self.classifier(self.dropout(self.pooler(x[:, 0]), training=training))
