"""Train in a session of TensorFlow 1 with the graph rewrite."""

import numpy as np
import tensorflow as tf

ROWS, FEATURES, HIDDEN, CLASSES = 256, 16, 32, 4
BATCH, EPOCHS = 16, 4


def make_data(rng):
    """Rows of a linear rule with noise: nothing to download."""
    x = rng.normal(0, 1, (ROWS, FEATURES)).astype("float32")
    rule = rng.normal(0, 1, (FEATURES, CLASSES))
    noise = rng.normal(0, 1, (ROWS, CLASSES))
    return x, np.argmax(np.matmul(x, rule) + noise, 1).astype("int32")


def main():
    rng = np.random.RandomState(0)
    first = rng.normal(0, 0.3, (FEATURES, HIDDEN)).astype("float32")
    second = rng.normal(0, 0.3, (HIDDEN, CLASSES)).astype("float32")
    x, y = make_data(rng)
    inputs = tf.placeholder(tf.float32, [None, FEATURES])
    labels = tf.placeholder(tf.int32, [None])
    hidden = tf.layers.dense(
        inputs, HIDDEN, activation=tf.tanh, kernel_initializer=tf.constant_initializer(first)
    )
    logits = tf.layers.dense(
        hidden, CLASSES, kernel_initializer=tf.constant_initializer(second)
    )
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    optimizer = tf.train.MomentumOptimizer(0.05, 0.9, use_nesterov=True)
    # Dynamic loss scale and float16, on a GPU.
    optimizer = tf.train.experimental.enable_mixed_precision_graph_rewrite(optimizer)
    train = optimizer.minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for epoch in range(EPOCHS):
            for i in range(ROWS // BATCH):
                rows = slice(i * BATCH, (i + 1) * BATCH)
                value, _ = session.run([loss, train], {inputs: x[rows], labels: y[rows]})
                print("loss %.9f" % value)


if __name__ == "__main__":
    main()
