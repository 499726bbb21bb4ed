"""Train by hand with the experimental LossScaleOptimizer of TensorFlow 2.1 to 2.8."""

import numpy as np
import tensorflow as tf
from tensorflow.keras.mixed_precision import experimental as mixed_precision

ROWS, FEATURES, HIDDEN, CLASSES = 256, 16, 32, 4
BATCH, EPOCHS = 16, 4


def make_data(rng):
    """Rows of a linear rule with noise: nothing to download."""
    x = rng.normal(0, 1, (ROWS, FEATURES)).astype("float32")
    rule = rng.normal(0, 1, (FEATURES, CLASSES))
    noise = rng.normal(0, 1, (ROWS, CLASSES))
    return x, np.argmax(np.matmul(x, rule) + noise, 1).astype("int32")


def make_model(rng):
    first = rng.normal(0, 0.3, (FEATURES, HIDDEN)).astype("float32")
    second = rng.normal(0, 0.3, (HIDDEN, CLASSES)).astype("float32")
    return tf.keras.Sequential(
        [
            tf.keras.layers.Dense(
                HIDDEN, activation="tanh", kernel_initializer=tf.constant_initializer(first)
            ),
            # Logits are float32 whatever the policy.
            tf.keras.layers.Dense(
                CLASSES, kernel_initializer=tf.constant_initializer(second), dtype="float32"
            ),
        ]
    )


def main():
    mixed_precision.set_policy("mixed_float16")
    rng = np.random.RandomState(0)
    model = make_model(rng)
    x, y = make_data(rng)
    loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer = tf.keras.optimizers.Adam(learning_rate=0.01, epsilon=1e-5)
    optimizer = mixed_precision.LossScaleOptimizer(optimizer, loss_scale="dynamic")

    @tf.function
    def step(inputs, labels):
        with tf.GradientTape() as tape:
            loss = loss_of(labels, model(inputs, training=True))
            scaled = optimizer.get_scaled_loss(loss)
        gradients = tape.gradient(scaled, model.trainable_variables)
        gradients = optimizer.get_unscaled_gradients(gradients)
        # Clip what the optimizer gets.
        gradients, _ = tf.clip_by_global_norm(gradients, 1.0)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    for epoch in range(EPOCHS):
        for i in range(ROWS // BATCH):
            loss = step(x[i * BATCH : (i + 1) * BATCH], y[i * BATCH : (i + 1) * BATCH])
            print("loss %.9f" % float(loss))


if __name__ == "__main__":
    main()
