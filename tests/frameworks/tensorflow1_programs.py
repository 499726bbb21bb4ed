"""Programs of TensorFlow 1 that print what they computed; they also run in TensorFlow 1.15."""

from __future__ import annotations

_START = """\
import json
import sys

import numpy as np
import tensorflow as tf

ROWS = np.linspace(-1.0, 1.0, 8 * 4).reshape(8, 4).astype("float32")
LABELS = np.arange(8) % 3
KERNEL = tf.constant_initializer(np.linspace(-0.5, 0.5, 4 * 3).reshape(4, 3))
"""

LAYERS = f"""{_START}
inputs = tf.placeholder(tf.float32, [None, 4])
labels = tf.placeholder(tf.int64, [None])
training = tf.placeholder_with_default(True, [])
normal = tf.layers.batch_normalization(inputs, training=training)
hidden = tf.layers.dense(normal, 3, tf.nn.relu, kernel_initializer=KERNEL)
scale = tf.get_variable("scale", [3], initializer=tf.contrib.layers.xavier_initializer(seed=5))
logits = tf.nn.dropout(hidden * scale, keep_prob=1.0)
loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
step = tf.train.get_or_create_global_step()
rate = tf.train.exponential_decay(0.5, step, 10, 0.5, staircase=True)
with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
    update = tf.train.MomentumOptimizer(rate, 0.9).minimize(loss, step)

losses = []
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(20):
        losses.append(float(session.run([loss, update], {{inputs: ROWS, labels: LABELS}})[0]))
    losses.append(float(session.run(loss, {{inputs: ROWS, labels: LABELS, training: False}})))
print(json.dumps(losses))
"""

CELLS = f"""{_START}
cells = [tf.contrib.rnn.BasicLSTMCell(3), tf.nn.rnn_cell.GRUCell(3)]
cell = tf.contrib.rnn.MultiRNNCell(cells)
sequence = tf.reshape(tf.constant(ROWS), [4, 2, 4])
with tf.variable_scope("rnn", initializer=tf.constant_initializer(0.1)):
    outputs, state = tf.nn.dynamic_rnn(cell, sequence, dtype=tf.float32)
loss = tf.reduce_mean(tf.square(outputs - 0.5))
update = tf.train.AdamOptimizer(0.05).minimize(loss)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    losses = [float(session.run([loss, update])[0]) for _ in range(20)]
print(json.dumps(losses))
"""

ESTIMATOR = f"""{_START}
seen = []


class Seen(tf.train.SessionRunHook):
    def before_run(self, context):
        return tf.train.SessionRunArgs(tf.get_collection("seen"))

    def after_run(self, context, values):
        seen.extend(float(value) for value in values.results)


def input_fn(params):
    rows = tf.data.Dataset.from_tensor_slices(({{"rows": ROWS}}, LABELS))
    return rows.repeat(params["repeat"]).batch(4)


def model_fn(features, labels, mode, params):
    logits = tf.layers.dense(features["rows"], 3, kernel_initializer=KERNEL)
    classes = tf.argmax(logits, 1)
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={{"class": classes, "logits": logits}})
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    if mode == tf.estimator.ModeKeys.EVAL:
        metrics = {{"accuracy": tf.metrics.accuracy(labels, classes)}}
        return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops=metrics)
    tf.add_to_collection("seen", loss)
    optimizer = tf.train.AdamOptimizer(params["rate"])
    update = optimizer.minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=update)


config = tf.estimator.RunConfig(sys.argv[1], tf_random_seed=1, save_checkpoints_steps=8)
estimator = tf.estimator.Estimator(model_fn, config=config, params={{"rate": 0.1, "repeat": 20}})
estimator.train(input_fn, steps=12, hooks=[Seen()])
estimator.train(input_fn, max_steps=20, hooks=[Seen()])
estimator.train(input_fn, max_steps=20, hooks=[Seen()])
first = estimator.evaluate(input_fn, steps=2)
saver = tf.train.CheckpointSaverHook(sys.argv[1], save_steps=8)
train = tf.estimator.TrainSpec(input_fn, max_steps=22, hooks=[saver])
last, _ = tf.estimator.train_and_evaluate(estimator, train, tf.estimator.EvalSpec(input_fn))
estimator.params["repeat"] = 1
once = lambda: input_fn({{"repeat": 1}})
rows = [[int(row["class"]), *map(float, row["logits"])] for row in estimator.predict(once)]
results = [{{key: float(value) for key, value in found.items()}} for found in (first, last)]
names = sorted(estimator.get_variable_names())
print(json.dumps([seen, results, rows, names]))
"""

TPU = f"""{_START}
from tensorflow.contrib import tpu as contrib_tpu


def input_fn(params):
    dataset = tf.data.Dataset.from_tensor_slices((ROWS, LABELS)).repeat()
    return dataset.apply(tf.contrib.data.map_and_batch(lambda *row: row, params["batch_size"]))


def model_fn(features, labels, mode, params):
    logits = tf.layers.dense(features, 3, kernel_initializer=KERNEL)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    loss = tf.reduce_mean(losses)
    if mode == tf.estimator.ModeKeys.EVAL:
        metrics = (lambda losses, size: {{"mean": tf.metrics.mean(losses)}}, [losses, losses])
        return tf.contrib.tpu.TPUEstimatorSpec(mode=mode, loss=loss, eval_metrics=metrics)
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    update = optimizer.minimize(loss, tf.train.get_or_create_global_step())
    return contrib_tpu.TPUEstimatorSpec(mode=mode, loss=loss, train_op=update)


run_config = tf.contrib.tpu.RunConfig(
    cluster=None, master=None, model_dir=sys.argv[1], save_checkpoints_steps=100,
    tpu_config=tf.contrib.tpu.TPUConfig(iterations_per_loop=5),
)
estimator = tf.contrib.tpu.TPUEstimator(
    use_tpu=False, model_fn=model_fn, config=run_config, train_batch_size=4, eval_batch_size=2
)
estimator.train(input_fn=input_fn, max_steps=20)
found = estimator.evaluate(input_fn=input_fn, steps=4)
print(json.dumps({{key: float(value) for key, value in found.items()}}))
"""

_SCALED = """
def float32_storage(getter, name, shape=None, dtype=None, trainable=True, **kwargs):
    variable = getter(name, shape, dtype=tf.float32, trainable=trainable, **kwargs)
    return tf.cast(variable, dtype) if dtype != tf.float32 else variable


inputs = tf.placeholder(tf.float16, [None, 4])
with tf.variable_scope("model", custom_getter=float32_storage):
    kernel = tf.get_variable("kernel", [4, 3], tf.float16, initializer=KERNEL)
loss = tf.reduce_mean(tf.square(tf.cast(tf.matmul(inputs, kernel), tf.float32) - 0.5))
optimizer = tf.train.AdamOptimizer(0.05)
{optimizer}
step = tf.train.get_or_create_global_step()
update = optimizer.apply_gradients(optimizer.compute_gradients(loss), step)
watched = [loss, step, {scale}, *tf.trainable_variables()]
found = []
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for number in range(24):
        rows = ROWS * (200.0 if number in (5, 6, 13) else 1.0)
        session.run(update, {{inputs: rows}})
        values = session.run(watched, {{inputs: ROWS}})
        found.append([np.asarray(value).tolist() for value in values])
print(json.dumps(found))
"""

DYNAMIC_SCALE = _START + _SCALED.format(
    optimizer="scale = tf.train.experimental.DynamicLossScale(2.0**13, 4, 2.0)\n"
    "optimizer = tf.train.experimental.MixedPrecisionLossScaleOptimizer(optimizer, scale)",
    scale="scale()",
)
REWRITE = _START + _SCALED.format(
    optimizer="optimizer = tf.train.experimental.enable_mixed_precision_graph_rewrite(optimizer)",
    scale="optimizer._loss_scale()",
)
EXPONENTIAL_SCALE = _START + _SCALED.format(
    optimizer="manager = tf.contrib.mixed_precision.ExponentialUpdateLossScaleManager(\n"
    "    2.0**13, 4, decr_every_n_nan_or_inf=2, decr_ratio=0.5)\n"
    "optimizer = tf.contrib.mixed_precision.LossScaleOptimizer(optimizer, manager)",
    scale="manager.get_loss_scale()",
)
FIXED_SCALE = _START + _SCALED.format(
    optimizer="manager = tf.contrib.mixed_precision.FixedLossScaleManager(2.0**10)\n"
    "optimizer = tf.contrib.mixed_precision.LossScaleOptimizer(optimizer, manager)",
    scale="manager.get_loss_scale()",
)

HPARAMS = f"""{_START}
hparams = tf.contrib.training.HParams(rate=0.1, layers=[4, 4], name="x", deep=False, steps=3)
hparams.parse("rate=1,layers=[8,2,1],deep=true,name=y z")
hparams.add_hparam("more", 2)
hparams.steps = 7
hparams.set_hparam("steps", 9)
hparams.override_from_dict({{"more": 3}})
print(json.dumps([hparams.values(), hparams.rate + hparams.more, "deep" in hparams,
                  hparams.get("absent", 5), json.loads(hparams.to_json())]))
"""

MNIST = f"""{_START}
import gzip
import os
import struct

from tensorflow.examples.tutorials.mnist import input_data

os.makedirs(sys.argv[1])
for part, count in (("train", 50), ("t10k", 10)):
    with gzip.open(os.path.join(sys.argv[1], part + "-images-idx3-ubyte.gz"), "wb") as stream:
        stream.write(struct.pack(">IIII", 2051, count, 2, 3))
        stream.write((np.arange(count * 6) % 251).astype("uint8").tobytes())
    with gzip.open(os.path.join(sys.argv[1], part + "-labels-idx1-ubyte.gz"), "wb") as stream:
        stream.write(struct.pack(">II", 2049, count))
        stream.write((np.arange(count) % 10).astype("uint8").tobytes())

tf.set_random_seed(7)
data = input_data.read_data_sets(sys.argv[1], one_hot=True, validation_size=8)
batches = [[part.tolist() for part in data.train.next_batch(17)] for _ in range(5)]
plain = input_data.read_data_sets(sys.argv[1], reshape=False, validation_size=0, seed=3)
batches.append([part.tolist() for part in plain.train.next_batch(4, shuffle=False)])
print(json.dumps([batches, data.train.epochs_completed, data.train.num_examples,
                  data.validation.images.tolist(), data.test.labels.tolist()]))
"""

NAMES = f"""{_START}
from tensorflow.python.framework import ops
from tensorflow.python.ops import array_ops, control_flow_ops
from tensorflow.python.util import nest
from tensorflow.contrib.seq2seq import BasicDecoder

inputs = tf.placeholder(tf.float32, [None, 4])
pairs = array_ops.stack(array_ops.unstack(inputs[:4], 4)[:2])
total = control_flow_ops.cond(
    tf.reduce_sum(pairs) > 0, lambda: tf.reduce_sum(pairs), lambda: tf.reduce_min(pairs)
)
_, power = control_flow_ops.while_loop(
    lambda i, x: i < 3, lambda i, x: (i + 1, x * 2.0), (tf.constant(0), total)
)
kinds = [type(inputs) is tf.Tensor, type(inputs) is not tf.Tensor, type(1) == tf.Tensor,
         type(inputs) is ops.Tensor, nest.is_sequence([1]), nest.is_sequence(1)]
with tf.Session() as session:
    print(json.dumps([kinds, [float(x) for x in session.run([total, power], {{inputs: ROWS}})]]))
"""

PROGRAMS = {
    "names": NAMES,
    "layers": LAYERS,
    "cells": CELLS,
    "estimator": ESTIMATOR,
    "tpu": TPU,
    "dynamic_scale": DYNAMIC_SCALE,
    "exponential_scale": EXPONENTIAL_SCALE,
    "fixed_scale": FIXED_SCALE,
    "rewrite": REWRITE,
    "hparams": HPARAMS,
    "mnist": MNIST,
}
