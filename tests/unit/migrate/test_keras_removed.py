"""CM221, CM222 and what CM210 names: attributes, callbacks, packages and unknown names."""

from __future__ import annotations

import pytest

from unit.migrate.keras_migrations import after, migrated, refused, untouched

TF = "import tensorflow as tf\nkeras = tf.keras\n"
NET = f"{TF}model = keras.Sequential([keras.layers.Dense(1)])\n"
ADAM = f"{TF}opt = keras.optimizers.Adam()\n"


@pytest.mark.parametrize(
    ("text", "new"),
    [
        (f"{NET}x = model.layers[0].output_shape\n", "x = model.layers[0].output.shape"),
        (f"{NET}x = model.get_layer('a').input_shape\n", "x = model.get_layer('a').input.shape"),
        (f"{NET}model._name = 'a'\n", "model.name = 'a'"),
        (f"{NET}x = model.predict_proba(rows)\n", "x = model.predict(rows)"),
        (f"{ADAM}x = opt.variables()\n", "x = opt.variables"),
        (f"{ADAM}x = opt._decayed_lr(tf.float32)\n", "x = opt.learning_rate"),
        (
            f"{NET}for g, v in zip(grads, model.trainable_weights): print(v.name, v.value())\n",
            "for g, v in zip(grads, model.trainable_weights): print(name_in_keras_2(v), v.value)",
        ),
        (
            f"{NET}x = [w.get_shape() for w in reversed(list(model.weights))]\n",
            "x = [w.shape for w in reversed(list(model.weights))]",
        ),
    ],
)
def test_attributes(text: str, new: str) -> None:
    assert after(text, "CM221").splitlines()[-1] == new


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"{NET}x = model.metrics_names\n", "metrics_names of a model"),
        (f"{NET}x = model.predict_classes(rows)\n", "predict_classes of a model"),
        (f"{NET}x = model.layers[0].get_output_at(0)\n", "get_output_at of a layer"),
        (f"{ADAM}opt.minimize(f, [v])\n", "minimize of an optimizer"),
        (f"{ADAM}opt.beta_1 = 0.5\n", "keeps the one of its first call"),
        (f"{NET}x = {{v.ref(): 1 for v in model.weights}}\n", "ref of a weight"),
    ],
)
def test_attributes_that_are_gone(text: str, why: str) -> None:
    assert why in refused(text, "CM221")


@pytest.mark.parametrize(
    "text",
    [
        f"{TF}x = dataset.output_shape\n",
        f"{NET}x = model.output_shape\n",
        f"{TF}for v in rows: print(v.name)\n",
        f"{TF}args.momentum = 0.9\n",
        f"{TF}scipy.optimize.minimize(f, x)\n",
        f"{TF}\n\nclass A(keras.layers.Layer):\n    def build(self, s):\n"
        "        self.updates = []\n        print(self.updates)\n",
        "import torch\nfor v in model.weights: print(v.name)\n",
    ],
)
def test_attributes_that_stay(text: str) -> None:
    assert untouched(text, "CM221")


@pytest.mark.parametrize(
    ("line", "new"),
    [
        (
            "keras.callbacks.LearningRateScheduler(lambda e: 0.1 * tf.exp(-0.1))",
            "keras.callbacks.LearningRateScheduler(lambda e: float(0.1 * tf.exp(-0.1)))",
        ),
        (
            'keras.callbacks.ReduceLROnPlateau("val_dice", mode="auto")',
            'keras.callbacks.ReduceLROnPlateau("val_dice", mode="min")',
        ),
        (
            'keras.callbacks.ModelCheckpoint("a.keras", "val_my_acc", save_best_only=True)',
            'keras.callbacks.ModelCheckpoint("a.keras", "val_my_acc", save_best_only=True, '
            'mode="max")',
        ),
    ],
)
def test_callbacks(line: str, new: str) -> None:
    assert after(f"{TF}x = {line}\n", "CM222") == f"{TF}x = {new}\n"


def test_a_schedule_that_returns_a_tensor() -> None:
    text = (
        f"{TF}\n\ndef rate(epoch, lr):\n    if epoch < 5:\n        return lr\n"
        "    return lr * tf.math.exp(-0.1)\n\n\nkeras.callbacks.LearningRateScheduler(rate)\n"
    )
    new = text.replace("return lr * tf.math.exp(-0.1)", "return float(lr * tf.math.exp(-0.1))")
    assert after(text, "CM222") == new


@pytest.mark.parametrize(
    "line",
    [
        'keras.callbacks.EarlyStopping("val_loss")',
        'keras.callbacks.EarlyStopping("val_dice", mode="max")',
        "keras.callbacks.EarlyStopping(monitor)",
        "keras.callbacks.LearningRateScheduler(lambda e: float(tf.exp(-0.1)))",
        "keras.callbacks.LearningRateScheduler(unknown)",
        'settings["lr"]',
        'model.compile("sgd", "mse", metrics=["mae"])',
    ],
)
def test_callbacks_that_stay(line: str) -> None:
    assert untouched(f"{TF}x = {line}\n", "CM222")


def test_metrics_of_outputs_by_name() -> None:
    line = 'model.compile("sgd", {"a": "mse", "b": "mae"}, metrics=["mae"])\n'
    assert "belong to one output each" in refused(f"{NET}{line}", "CM222")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("import tensorflow_addons as tfa", "tensorflow_addons is made for Keras 2"),
        ("from transformers import TFBertModel", "models of transformers"),
        ("from keras.engine import InputSpec", "keras.engine is not in Keras 3"),
        ("from keras.layers import normalization", "keras.layers.normalization is not"),
        ("from keras.wrappers.scikit_learn import KerasClassifier", "scikit_learn is not"),
        ("from keras.preprocessing.text import Tokenizer", "keras.preprocessing.text is not"),
        ("x = tf.keras.applications.regnet.RegNetX002()", "regnet was removed"),
    ],
)
def test_names_that_are_gone(line: str, why: str) -> None:
    assert why in refused(f"{TF}{line}\n", "CM210")


@pytest.mark.parametrize(
    "line",
    [
        "from tensorflow.keras.preprocessing.text import Tokenizer",
        "import tensorflow_hub as hub\nmodel = hub.load('a')",
        "from transformers import BertTokenizer",
        "x = tf.keras.Model.summary",
        "x = tf.keras.__version__",
        "try:\n    from keras.engine import Layer\nexcept ImportError:\n"
        "    from keras.layers import Layer",
    ],
)
def test_names_that_stay(line: str) -> None:
    assert untouched(f"{TF}{line}\n", "CM210")


def test_a_package_of_the_program_itself() -> None:
    found = migrated(f"{TF}from efficientnet import Net\n", efficientnet_py="class Net: pass\n")
    assert not found.refusals


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "from tensorflow.keras.losses import mean_squared_error",
            "from tensorflow.keras.losses import mse as mean_squared_error",
        ),
        (
            "from keras.losses import mse, Huber",
            "from keras.losses import mean_squared_error as mse, Huber",
        ),
        ("x = tf.keras.metrics.kl_divergence", "x = tf.keras.metrics.kld"),
        (
            "f = tf.keras.saving.load_model",
            "f = tf.keras.models.load_model",
        ),
    ],
)
def test_names_by_library(old: str, new: str) -> None:
    assert after(f"{TF}{old}\n", "CM210") == f"{TF}{new}\n"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("model.load_weights('a.ckpt')", "names a checkpoint of TensorFlow"),
        ("p = tf.train.latest_checkpoint('d')\nmodel.load_weights(p)", "names a checkpoint"),
        ("keras.models.load_model('folder')", "not the folder of a SavedModel"),
        ("keras.models.save_model(model, 'folder')", "not the folder of a SavedModel"),
        ("model.save('a.h5', save_format='tf')", "not the folder of a SavedModel"),
        (
            "model.save_weights('a.weights.h5')\nmodel.load_weights('a.weights.h5', by_name=True)",
            "only old .h5 files by name",
        ),
    ],
)
def test_files_that_keras_3_cannot_read(line: str, why: str) -> None:
    assert why in refused(f"{NET}{line}\n", "CM211")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("model.load_weights('a.h5').expect_partial()", "model.load_weights('a.h5')"),
        ("model.load_weights('a.h5', by_name=False)", "model.load_weights('a.h5')"),
        ("model.save('a.h5', options=None)", "model.save('a.h5')"),
        ("opt.apply_gradients(pairs, name='a')", "opt.apply_gradients(pairs)"),
    ],
)
def test_arguments_of_files(old: str, new: str) -> None:
    assert after(f"{NET}{old}\n", "CM211") == f"{NET}{new}\n"


@pytest.mark.parametrize(
    "line",
    [
        "model.load_weights('a.h5')",
        "model.load_weights('old.h5', by_name=True)",
        "keras.models.load_model('a.keras')",
        "tf.saved_model.save(model, 'folder', signatures=f)",
        "box.load_weights('a.ckpt')",
        "image.save('a.png', options=1)",
    ],
)
def test_files_that_stay(line: str) -> None:
    assert untouched(f"{NET}{line}\n", "CM211")


def test_a_program_of_tensorflow_1_changes_as_a_whole_or_not_at_all() -> None:
    text = f"{NET}model.compile(keras.optimizers.SGD(lr=0.1), 'mse')\ns = tf.placeholder(tf.int8)\n"
    assert "belongs to graphs" in refused(text)


def test_a_branch_that_never_runs_makes_no_program_of_tensorflow_1() -> None:
    text = (
        f"{NET}model.compile('sgd', 'mse')\n\n\ndef loss(x):\n    raise NotImplementedError\n"
        "    return tf.losses.sigmoid_cross_entropy(x, x)\n\n\nsmall = tf.image.resize(x, [2, 2])\n"
    )
    assert untouched(text)
