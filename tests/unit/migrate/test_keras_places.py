"""CM223: what Keras 3 does otherwise is named with its line, and never changed."""

from __future__ import annotations

import pytest

from crosscast_reading.lint.result import Result
from crosscast_tensorflow.migration.experimental.keras_names.places import CALLS, TEXTS
from unit.migrate.keras_migrations import migrated, untouched

TF = "import tensorflow as tf\nkeras = tf.keras\n"
NET = f"{TF}model = keras.Sequential([keras.layers.Dense(1)])\nmodel.compile('sgd', 'mse')\n"
ACCURATE = NET.replace("'mse')", "'mse', metrics=['accuracy'])")
HALF = f"{TF}keras.mixed_precision.set_global_policy('mixed_float16')\n"
TAPE = "with tf.GradientTape() as tape:\n    pass\n"
PLACES = [
    # What was rewritten before: the graph rewrite, replicas, Horovod.
    ("opt = tf.train.experimental.enable_mixed_precision_graph_rewrite(opt)", "graph rewrite"),
    ("tf.config.optimizer.set_experimental_options({'auto_mixed_precision': True})", "the option"),
    ("import os\nos.environ['TF_ENABLE_AUTO_MIXED_PRECISION'] = '1'", "does nothing for models"),
    ("import horovod.tensorflow.keras as hvd\nhvd.DistributedOptimizer(opt)", "has no effect"),
    (f"{HALF}tf.distribute.MirroredStrategy()", "one of the replicas only"),
    (f"{HALF}keras.backend.clear_session()", "resets the dtype policy"),
    (f"{NET}tf.compat.v1.disable_eager_execution()", "fails without eager execution"),
    (
        "keras.mixed_precision.LossScaleOptimizer(tf.compat.v1.train.AdamOptimizer(0.1))",
        "wraps only optimizers of Keras",
    ),
    ("keras.mixed_precision.experimental.set_policy(None)", "set_global_policy rejects None"),
    ("keras.mixed_precision.Policy('infer_float32_vars')", "does not infer dtypes"),
    # Optimizers.
    ("keras.optimizers.RMSprop(0.1)", "adds epsilon before the root"),
    ("model.compile('rmsprop')", "adds epsilon before the root"),
    ("keras.optimizers.Nadam()", "another momentum schedule"),
    ("keras.layers.Embedding(9, 3)", "train an Embedding otherwise"),
    (f"{NET}opt = keras.optimizers.Adam()\nopt.minimize(f, [v])", "minimize of an optimizer"),
    ("opt = keras.optimizers.Adam()\nopt.beta_1 = 0.5", "is not for setting in Keras 3"),
    ("opt = keras.optimizers.Adam()\nopt.iterations = n", "is not for setting in Keras 3"),
    ("opt = keras.optimizers.Adam()\nx = opt.get_weights()", "get_weights of an optimizer"),
    ("opt.exclude_from_weight_decay(var_names=['/bias'])", "without its layer"),
    (
        f"{NET}opt = keras.optimizers.Adam()\nmodel.compile(opt, 'mse')\nmodel.fit(x)\n"
        "model.trainable = True\nmodel.compile(opt, 'mse')",
        "belongs to the variables of its first training",
    ),
    (
        "opt.apply_gradients(zip(a, g.trainable_variables))\n"
        "opt.apply_gradients(zip(b, d.trainable_variables))",
        "applied at several places",
    ),
    ("keras.backend.gradients(a, b)", "gradients of a graph"),
    ("layer.trainable = True\nopt.apply_gradients(pairs)", "become trainable afterwards"),
    # Formulas and defaults.
    ("keras.layers.Activation('hard_sigmoid')", "another slope"),
    ("keras.activations.hard_sigmoid(y)", "relu6(x + 3) / 6"),
    ("keras.layers.ConvLSTM2D(2, 3)", "default of recurrent_activation"),
    ("keras.regularizers.l1_l2(1e-3)", "Keras 3 has 0"),
    ("keras.layers.AvgPool1D()", "pool_size has no default"),
    ("import numpy as np\nkeras.layers.Dense(np.prod(shape))", "only whole numbers"),
    ("keras.layers.BatchNormalization(axis=[3])", "axis of BatchNormalization is one number"),
    (f"{TAPE}keras.utils.to_categorical(y)", "returns float64"),
    ("keras.metrics.MeanIoU(3)", "counts in int64"),
    ("keras.metrics.binary_accuracy(a, b)", "no longer averages"),
    ("keras.metrics.KLDivergence()", "kl_divergence in logs"),
    ('model.compile("sgd", loss="huber_loss")', "does not know the loss huber_loss"),
    ('settings = {"loss": "logcosh"}', "does not know the loss logcosh"),
    # Callbacks, logs, metrics.
    ("keras.callbacks.LearningRateScheduler(lambda e: tf.exp(-0.1))", "must return a number"),
    (
        "rate = keras.optimizers.schedules.PolynomialDecay(0.1, 10)\n"
        "keras.callbacks.LearningRateScheduler(rate)",
        "must return a number",
    ),
    ("keras.callbacks.EarlyStopping('val_iou')", "whether more or less"),
    ("keras.callbacks.ModelCheckpoint('a.keras', 'val_acc', save_best_only=b)", "more or less"),
    ("keras.callbacks.ReduceLROnPlateau()\nprint(history.history['lr'])", "learning rate as"),
    (f"{NET}model.compile('sgd', ['mse', 'mae'], metrics=['mae'])", "belong to one output each"),
    ("hasattr(model.optimizer, 'lr')", "have no lr"),
    # Files.
    ("model.save_weights('a.h5')", "save_weights of Keras 3 wants a name in .weights.h5"),
    ("model.save_weights(path())", "here it is not certain"),
    ("keras.callbacks.ModelCheckpoint('a.hdf5')", "ModelCheckpoint of Keras 3 writes"),
    ("keras.callbacks.ModelCheckpoint('a.h5', save_weights_only=True)", "ModelCheckpoint of"),
    (f"{NET}model.load_weights('a.ckpt')", "reads no checkpoint of TensorFlow"),
    (f"{NET}model.load_weights('a.h5').expect_partial()", "returns nothing in Keras 3"),
    (f"{NET}model.load_weights('a.weights.h5', by_name=True)", "only old .h5 files by name"),
    ("keras.models.load_model('folder')", "not the folder of a SavedModel"),
    ("keras.models.load_model('a.h5')", "compiled with the name of a loss"),
    (f"{NET}model.save('folder')", "not the folder of a SavedModel"),
    ("keras.models.model_from_json(text)", "few of the configurations"),
    ("tf.train.Checkpoint(model=model).restore('old')", "finds nothing of a model"),
    # Models, layers, weights.
    (f"{NET}x = model.metrics_names", "metrics_names of a model"),
    (f"{NET}x = model.predict_classes(rows)", "predict_classes of a model"),
    (f"{NET}if model.compiled_loss is None:\n    pass", "compiled_loss of a model"),
    (f"{NET}x = model.layers[0].get_output_at(0)", "get_output_at of a layer"),
    ("layer = net.get_layer('a')\nx = layer.input_shape", "input_shape of a layer"),
    (f"{NET}for layer in model.layers:\n    print(layer.output_shape)", "output_shape of a layer"),
    (f"{NET}model._name = 'a'", "_name is a private part"),
    (f"{NET}x = [v.name for v in model.trainable_weights]", "names without their layer"),
    (f"{NET}model.add_loss(x)", "add_loss only in the call"),
    (f"{NET}model.add_metric(x, name='a')", "have no add_metric"),
    ("state = cell.get_initial_state(None, 4, tf.float32)", "takes only batch_size"),
    ("strategy.experimental_run_v2(step)", "no experimental_run_v2"),
    (
        "\n\nclass A(keras.layers.Layer):\n    def build(self, s):\n"
        "        self.w = self.add_weight('w', (2,))",
        "takes the shape first",
    ),
    (
        "\n\nclass A(keras.Model):\n    def call(self, x, training):\n"
        "        return self.drop(x, training)",
        "only tensors by their place",
    ),
    # Rows.
    ("\n\ndef rows():\n    yield [a, b], c", "no lists"),
    (f"{NET}import data\nmodel.fit_generator(data.rows(3), 9)", "if these rows are lists"),
    (f"{NET}import data\nmodel.fit(x=data.rows(3), steps_per_epoch=9)", "if these rows are lists"),
    (f"{NET}model.fit(x, steps_per_epoch=len(x) / 32)", "steps_per_epoch is a quotient"),
    (f"{NET}n = len(x) / 32\nmodel.evaluate(x, steps=n)", "steps is a quotient"),
    (f"{ACCURATE}name = 'best-{{val_acc:.2f}}.keras'", "logs have the metric accuracy"),
    (f"{ACCURATE}h = model.fit(x)\nplot(h.history['acc'])", "logs have the metric accuracy"),
    (f"{NET}if isinstance(model.input, tf.Tensor):\n    pass", "is no tf.Tensor"),
    (f"{NET}x = model.outputs\nisinstance(x, (list, tf.Tensor))", "the outputs of a model"),
    ("\n\ndef rows():\n    yield [a, b]", "no lists"),
    (f"{NET}\n\ndef rows():\n    yield a\n\n\nall = rows()\nmodel.predict(all)", "no lists"),
]


@pytest.mark.parametrize(("line", "why"), PLACES)
def test_a_place_is_named_with_its_line(line: str, why: str) -> None:
    text = line if line.startswith("import tensorflow") else f"{TF}{line}"
    found = migrated(f"{text}\n", "CM223")
    assert not found.texts
    named = [refusal for refusal in found.refusals if why in refusal.message]
    assert named, [refusal.message for refusal in found.refusals]
    assert all(refusal.span is not None and refusal.hint for refusal in named)


def test_every_row_has_a_case() -> None:
    messages = {r.message for line, _ in PLACES for r in named_in(line)}
    assert [row.message for row in CALLS if row.message not in messages] == []
    assert {"hard_sigmoid", "huber_loss", "logcosh", "rmsprop"} < set(TEXTS)


def named_in(line: str) -> list[Result]:
    text = line if line.startswith("import tensorflow") else f"{TF}{line}"
    return list(migrated(f"{text}\n", "CM223").refusals)


@pytest.mark.parametrize(
    "line",
    [
        "keras.optimizers.Adam(1e-3)",
        "keras.regularizers.l1_l2(1e-3, 1e-4)",
        "keras.layers.AvgPool1D(2)",
        "keras.layers.Activation('sigmoid')\nprint('hard_sigmoid')",
        "keras.callbacks.EarlyStopping('val_loss')",
        "keras.callbacks.EarlyStopping('val_dice', mode='max')",
        "keras.callbacks.LearningRateScheduler(lambda e: float(tf.exp(-0.1)))",
        "keras.callbacks.ModelCheckpoint('a/{epoch}.h5')",
        "keras.utils.to_categorical(y)",
        "keras.backend.clear_session()",
        "tf.distribute.MirroredStrategy()",
        "tf.compat.v1.disable_eager_execution()",
        "settings['lr']",
        "settings = {'rmsprop': 1}",
        "hasattr(args, 'lr')",
        f"{NET}model.compile('sgd', 'mse', metrics=['mae'])",
        f"{NET}model.compile('sgd', 'mse', metrics=['mae'])\n"
        "keras.callbacks.EarlyStopping('val_mae')",
        f"{NET}model.load_weights('old.h5', by_name=True)",
        f"{NET}model.save('a.h5')\nmodel.save_weights('a.weights.h5')",
        f"{NET}p = 'a' + '.weights.h5'\nmodel.save_weights(p)",
        "tf.saved_model.save(model, 'folder', signatures=f)",
        "box.load_weights('a.ckpt')",
        "image.save('a.png')",
        "x = dataset.output_shape",
        f"{NET}x = model.output_shape",
        "for v in rows: print(v.name)",
        "args.momentum = 0.9",
        "layer.trainable = False\nopt.apply_gradients(pairs)",
        "layer.trainable = True",
        "tf.cond(x, training)",
        "\n\ndef net(x, training):\n    return x\n\n\nnet(x, training)",
        "import scipy\nscipy.optimize.minimize(f, x)",
        "\n\nclass A(keras.layers.Layer):\n    def build(self, s):\n        self.updates = []\n"
        "        print(self.updates)",
        "\n\ndef rows():\n    yield (a, b), c\n\n\ndef names():\n    yield a",
        "import os\nos.environ['TF_USE_LEGACY_KERAS'] = '1'\nkeras.optimizers.Nadam()",
        "import keras as k\nk.ops.abs(x)\nkeras.optimizers.Nadam()",
        "import torch\ntorch.optim.RMSprop(weights)",
        f"{NET}model.fit(x, steps_per_epoch=len(x) // 32)",
        f"{NET}import data\nmodel.fit(data.rows(3), epochs=9)",
        f"{NET}model.fit(x, steps_per_epoch=int(len(x) / 32))",
        f"{NET}print('val_acc')",
        f"{ACCURATE.replace('accuracy', 'acc')}print('val_acc')",
        f"{NET}isinstance(x, tf.Tensor)",
        f"{NET}isinstance(model.input, list)",
    ],
)
def test_what_is_the_same_is_not_named(line: str) -> None:
    text = line if line.startswith("import tensorflow") else f"{TF}{line}"
    assert untouched(f"{text}\n", "CM223")


@pytest.mark.parametrize("rows", ["data.Rows(3)", "keras.preprocessing.x.flow(y)", "x"])
def test_rows_of_a_generator_that_are_seen_or_of_a_class(rows: str) -> None:
    found = migrated(f"{NET}import data\nmodel.fit_generator({rows}, 9)\n", "CM223")
    assert not [place for place in found.refusals if "lists" in place.message]


def test_a_launch_script_that_asks_for_the_rewrite() -> None:
    found = migrated(
        NET, "CM223", run_sh="export TF_ENABLE_AUTO_MIXED_PRECISION=1\npython train.py\n"
    )
    (place,) = found.refusals
    assert (place.file, place.span and place.span.line) == ("run.sh", 1)
