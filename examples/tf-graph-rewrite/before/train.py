"""The old way: TensorFlow's graph rewrite. The function is gone from current TensorFlow."""

import tensorflow as tf

from my_data import batches

ACCUMULATION = 4

optimizer = tf.compat.v1.train.AdamOptimizer(learning_rate=1e-4)
optimizer = tf.train.experimental.enable_mixed_precision_graph_rewrite(optimizer)

inputs, labels = batches()
logits = tf.compat.v1.layers.dense(inputs, 3)
loss = tf.compat.v1.losses.sparse_softmax_cross_entropy(labels, logits)

variables = tf.compat.v1.trainable_variables()
sums = [tf.Variable(tf.zeros_like(v), trainable=False) for v in variables]
gradients = [g for g, _ in optimizer.compute_gradients(loss / ACCUMULATION, variables)]
accumulate = [s.assign_add(g) for s, g in zip(sums, gradients)]
apply = optimizer.apply_gradients(zip(sums, variables))
