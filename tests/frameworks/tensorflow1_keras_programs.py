"""Programs of TensorFlow 1 that train with tf.keras and print what they computed."""

from __future__ import annotations

_START = """\
import json

import numpy as np
import tensorflow as tf

ROWS = np.linspace(-1.0, 1.0, 8 * 4).reshape(8, 4).astype("float32")
LABELS = np.arange(8) % 3
KERNEL = tf.constant_initializer(np.linspace(-0.5, 0.5, 4 * 3).reshape(4, 3))
"""
_MODEL = """\
model = tf.keras.Sequential(
    [tf.keras.layers.Dense(3, kernel_initializer=KERNEL, input_shape=(4,))]
)
"""
OPTIMIZERS = {
    "adam": "tf.train.AdamOptimizer(0.1)",
    "adam_beta": "tf.train.AdamOptimizer(0.1, 0.5, beta2=0.9, epsilon=0.1)",
    "sgd": "tf.train.GradientDescentOptimizer(learning_rate=0.1, use_locking=True)",
    "momentum": "tf.train.MomentumOptimizer(0.1, 0.9)",
    "nesterov": "tf.train.MomentumOptimizer(0.1, momentum=0.9, use_nesterov=True)",
    "rmsprop": "tf.train.RMSPropOptimizer(0.05)",
    "rmsprop_momentum": "tf.train.RMSPropOptimizer(0.05, 0.8, 0.5, 1e-3, centered=True)",
    "adagrad": "tf.train.AdagradOptimizer(0.3)",
    "adadelta": "tf.train.AdadeltaOptimizer(0.5)",
}


_SESSION = """\
config = tf.ConfigProto(intra_op_parallelism_threads=1)
config.gpu_options.allow_growth = True
session = tf.Session(config=config)
tf.keras.backend.set_session(session)
"""


def _fit(optimizers: dict[str, str]) -> str:
    made = "".join(f'    "{name}": {optimizer},\n' for name, optimizer in optimizers.items())
    return f"""\
{_START}
{_SESSION}optimizers = {{
{made}}}
found = {{}}
for name, optimizer in optimizers.items():
    model = tf.keras.Sequential(
        [tf.keras.layers.Dense(3, kernel_initializer=KERNEL, input_shape=(4,))]
    )
    model.compile(
        optimizer=optimizer,
        loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    history = model.fit(ROWS, LABELS, batch_size=4, epochs=5, shuffle=False, verbose=0).history
    found[name] = [float(value) for value in history["loss"] + history["acc"]]
print(json.dumps(found))
"""


_EAGER = f"""\
{_START}
tf.enable_eager_execution()
{_MODEL}optimizer = tf.train.RMSPropOptimizer(0.05, momentum=0.9)
step = tf.train.get_or_create_global_step()
rows = tf.data.Dataset.from_tensor_slices((ROWS, LABELS)).repeat(5).batch(4)
losses = []
for inputs, labels in rows:
    with tf.GradientTape() as tape:
        loss = tf.losses.sparse_softmax_cross_entropy(labels, model(inputs))
    gradients = tape.gradient(loss, model.variables)
    optimizer.apply_gradients(zip(gradients, model.variables), global_step=step)
    losses.append(float(loss.numpy()))
print(json.dumps([losses, int(step.numpy())]))
"""
_CONTRIB = f"""\
{_START}
from tensorflow.contrib.eager.python import tfe

tfe.enable_eager_execution()


class Model(tf.keras.Model):
    def __init__(self):
        super(Model, self).__init__()
        self.dense = tf.keras.layers.Dense(3, kernel_initializer=KERNEL)

    def call(self, inputs):
        return self.dense(inputs)


with tf.device("/cpu:0" if tfe.num_gpus() == 0 else "/gpu:0"):
    model = Model()
    model._set_inputs(ROWS)
    rate = tfe.Variable(0.5)
    found = []
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    for _ in range(3):
        mean = tfe.metrics.Mean()
        accuracy = tfe.metrics.Accuracy("rows")
        with tfe.GradientTape() as tape:
            loss = tf.losses.mean_squared_error(ROWS[:, :3], model(ROWS))
        optimizer.apply_gradients(
            zip(tape.gradient(loss, model.variables), model.variables)
        )
        mean(loss)
        mean(loss * rate, 3.0)
        accuracy(LABELS, tf.argmax(model(ROWS), 1))
        found.append([float(mean.result()), float(accuracy.result())])
print(json.dumps([found, str(mean.result().dtype)]))
"""
_LAYERS = f"""\
{_START}
inputs = tf.keras.Input((4, 2))
hidden = tf.keras.layers.LSTM(3, return_sequences=True)(inputs)
hidden = tf.keras.layers.GRU(3, return_sequences=True)(hidden)
hidden = tf.keras.layers.RNN(tf.keras.layers.GRUCell(3))(hidden)
outputs = tf.keras.layers.Dense(1, "hard_sigmoid")(hidden)
model = tf.keras.Model(inputs, outputs)
for layer in model.layers:
    layer.set_weights([np.cos(np.arange(w.size)).reshape(w.shape) for w in layer.get_weights()])
model.compile(tf.train.GradientDescentOptimizer(0.5), "mse", metrics=["mae"])
targets = (LABELS % 2).astype("float32")[:, np.newaxis]
history = model.fit(
    ROWS.reshape(8, 2, 2).repeat(2, 1), targets, 8, epochs=5, shuffle=False, verbose=0
).history
found = {{"recurrent": [float(x) for x in history["loss"] + history["mean_absolute_error"]]}}

{_MODEL}for layer in model.layers:
    layer.add_loss(tf.keras.regularizers.l2(0.5)(layer.kernel))
model.compile(tf.train.GradientDescentOptimizer(0.1), "mse")
history = model.fit(ROWS, ROWS[:, :3], 8, epochs=5, verbose=0).history
found["regularized"] = [float(x) for x in history["loss"]]


def read(row, label):
    row = tf.where(tf.greater(row, 0.0), row, tf.zeros_like(row)) + tf.to_float(label)
    image = tf.image.resize_bilinear(tf.reshape(row, [1, 2, 2, 1]), [3, 3])
    image = tf.image.resize_images(image, [2, 2], align_corners=True)
    total = tf.reduce_sum(tf.squeeze(image), 1, keep_dims=True) + tf.log(2.0)
    return tf.concat([tf.reshape(image, [4])[:2], tf.reshape(total, [2])], 0), label


def softmax(x):
    return tf.nn.dropout(tf.nn.softmax(x, dim=1), keep_prob=1.0)


rows = tf.data.Dataset.from_tensor_slices((ROWS, LABELS)).map(read).repeat().batch(4)
{_MODEL}model.add(tf.keras.layers.Lambda(softmax))
model.compile(tf.train.AdagradOptimizer(0.2), "sparse_categorical_crossentropy", metrics=["acc"])
history = model.fit(rows, steps_per_epoch=3, epochs=4, verbose=0).history
found["dataset"] = [float(x) for x in history["loss"] + history["acc"]]
print(json.dumps(found))
"""
PROGRAMS = {"optimizers": _fit(OPTIMIZERS), "eager": _EAGER, "contrib": _CONTRIB, "layers": _LAYERS}
NAMED = {"contrib": ("not looked at: your own layers and models (Model)",)}
"""Program to what the migration names, and leaves as it is."""
