"""Train with the experimental Keras policy of TensorFlow 2.1 to 2.8 and fit."""

import numpy as np
import tensorflow as tf

ROWS, FEATURES, HIDDEN, CLASSES = 256, 16, 32, 4
BATCH, EPOCHS = 32, 50


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
    # Float16 with a loss scale of its own.
    policy = tf.keras.mixed_precision.experimental.Policy("mixed_float16", loss_scale=1024.0)
    tf.keras.mixed_precision.experimental.set_policy(policy)
    rng = np.random.RandomState(0)
    model = make_model(rng)
    x, y = make_data(rng)
    optimizer = tf.keras.optimizers.SGD(learning_rate=0.05, momentum=0.9, clipnorm=0.5)
    model.compile(optimizer, tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    history = model.fit(x, y, batch_size=BATCH, epochs=EPOCHS, shuffle=False, verbose=0)
    for loss in history.history["loss"]:
        print("loss %.9f" % loss)


if __name__ == "__main__":
    main()
