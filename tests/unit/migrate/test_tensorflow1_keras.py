"""CM404: forms of TensorFlow 1 in programs of tf.keras that change, that stay, and are refused."""

from __future__ import annotations

import pytest

from crosscast_tensorflow.migration.experimental.tensorflow1.keras_meanings import RECURRENT
from unit.migrate.migrating import changed, migrate, refused, stays

START = "import tensorflow as tf\nfrom tensorflow.keras import backend as K\n"
END = """\
model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
model.compile("sgd", "mse")
model.fit(rows)
"""


def program(text: str, *, end: str = END) -> str:
    """A program of TensorFlow 1 that trains with Keras."""
    return f"{START}tf.logging.info('start')\n{text}{end}"


def new(text: str, *, end: str = END) -> str:
    """What becomes of such a program."""
    return changed("CM404", program(text, end=end))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("tf.gfile.MakeDirs('out')\n", "tf.compat.v1.gfile.MakeDirs('out')\n"),
        ("x = tf.log(y)\n", "x = tf.math.log(y)\n"),
        ("tf.set_random_seed(1)\n", "tf.keras.utils.set_random_seed(1)\n"),
        ("tf.random.set_random_seed(1)\n", "tf.keras.utils.set_random_seed(1)\n"),
        ("x = tf.reduce_sum(y, 1, keep_dims=True)\n", "tf.compat.v1.reduce_sum(y, 1, keep_dims"),
        ("x = tf.reduce_sum(y, axis=1)\n", "x = tf.reduce_sum(y, axis=1)\n"),
        ("x = tf.nn.dropout(y, 0.5)\n", "x = tf.compat.v1.nn.dropout(y, 0.5)\n"),
        ("x = tf.nn.dropout(y, rate=0.5)\n", "x = tf.nn.dropout(y, rate=0.5)\n"),
        ("x = tf.image.resize_images(y, s)\n", "x = tf.compat.v1.image.resize_images(y, s)\n"),
        ("x = tf.image.resize(y, s)\n", "x = tf.compat.v1.image.resize(y, s)\n"),
        ("x = tf.where(a, b, c)\n", "x = tf.compat.v1.where(a, b, c)\n"),
        ("x = tf.contrib.data.AUTOTUNE\n", "x = tf.data.experimental.AUTOTUNE\n"),
        (
            "from tensorflow import set_random_seed\nset_random_seed(3)\n",
            "from tensorflow.keras.utils import set_random_seed\nset_random_seed(3)\n",
        ),
        (
            "from tensorflow.python.keras.layers import Dense, Flatten\n",
            "from tensorflow.keras.layers import Dense, Flatten\n",
        ),
        (
            "k = tf.random_normal_initializer(0.0)\n",
            "k = tf.keras.initializers.RandomNormal(0.0, stddev=1.0)\n",
        ),
        ("k = tf.zeros_initializer()\n", "k = tf.keras.initializers.Zeros()\n"),
        ("tf.app.run(main)\n", "tf.compat.v1.app.run(main)\n"),
        ("tf.enable_eager_execution()\n", "tf.compat.v1.logging.info('start')\nmodel = "),
    ],
)
def test_a_name_becomes(before: str, after: str) -> None:
    assert after in new(before)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "K.set_session(tf.Session(config=tf.ConfigProto(gpu_options=tf.GPUOptions("
            "allow_growth=True), allow_soft_placement=True)))\n",
            'for physical_gpu in tf.config.list_physical_devices("GPU"):\n'
            "    tf.config.experimental.set_memory_growth(physical_gpu, True)\n",
        ),
        (
            "config = tf.ConfigProto(intra_op_parallelism_threads=2)\n"
            "config.gpu_options.visible_device_list = str(rank())\n"
            "sess = tf.Session(config=config)\nK.set_session(sess)\n",
            'tf.config.set_visible_devices(tf.config.list_physical_devices("GPU")'
            '[rank() : rank() + 1], "GPU")\n'
            "tf.config.threading.set_intra_op_parallelism_threads(2)\nmodel",
        ),
        ("sess = tf.Session()\nK.set_session(sess)\n", "info('start')\nmodel = "),
        ("sess = tf.Session(config=tf.ConfigProto())\n", "info('start')\nmodel = "),
    ],
)
def test_settings_of_a_session_become(before: str, after: str) -> None:
    assert after in new(before)


def test_a_share_of_memory_goes_with_a_word() -> None:
    config = "tf.ConfigProto(gpu_options=tf.GPUOptions(per_process_gpu_memory_fraction=0.3))"
    found = migrate("CM404", program(f"K.set_session(tf.Session(config={config}))\n"))
    assert "memory" in found.changes[0].hint


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("with tf.Session() as s:\n    s.run(x)\n", "tf.Session belongs to graphs"),
        ("s = tf.Session()\nprint(s)\n", "tf.Session belongs to graphs"),
        ("x = tf.placeholder(tf.float32)\n", "tf.placeholder"),
        ("tf.train.Saver()\n", "tf.train.Saver"),
        ("x = tf.layers.dense(y, 2)\n", "tf.layers.dense"),
        ("x = tf.gradients(y, z)\n", "tf.gradients"),
        ("x = tf.contrib.crf.crf_decode(y, z, n)\n", "tf.contrib.crf.crf_decode is gone"),
        ("o = tf.train.AdamOptimizer(tf.constant(0.1))\n", "with a rate, that is not certain"),
        ("o = tf.train.AdamOptimizer\n", "used in a way"),
        ("o = tf.train.AdamOptimizer(0.1)\no.minimize(loss)\n", "have no minimize"),
        (
            "c = tf.ConfigProto(device_count={'GPU': 1})\nK.set_session(tf.Session(config=c))\n",
            "de",
        ),
        ("o.get_updates = mine\n", "never calls get_updates"),
        ("layer.add_loss(tf.reduce_sum(layer.kernel))\n", "forgets a loss"),
        ("x, y = rows.make_one_shot_iterator().get_next()\n", "first batch only"),
        ("k = tf.random_normal_initializer(0.0, dtype=d)\n", "has other arguments"),
        ("n = tf.keras.layers.LSTM(2, 'tanh', a)\n", "defaults of LSTM differ"),
    ],
)
def test_a_program_is_refused(text: str, word: str) -> None:
    assert word in refused("CM404", program(text))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "tf.train.AdamOptimizer(0.1, beta1=0.5)",
            "tf.keras.optimizers.Adam(0.1, beta_1=0.5, epsilon=1e-08)",
        ),
        (
            "tf.train.MomentumOptimizer(learning_rate=r, momentum=0.9, use_locking=True)",
            "tf.keras.optimizers.SGD(learning_rate=r, momentum=0.9)",
        ),
        ("tf.train.RMSPropOptimizer(0.1)", "RMSpropFromOnes(0.1, epsilon=1e-10)"),
        ("tf.train.AdagradOptimizer(0.1)", "tf.keras.optimizers.Adagrad(0.1, epsilon=0.0)"),
    ],
)
def test_an_optimizer_becomes(before: str, after: str) -> None:
    text = new("", end=END.replace('"sgd"', before))
    assert f'model.compile({after}, "mse")' in text
    assert ("class RMSpropFromOnes(" in text) == ("FromOnes" in after)


def test_metrics_keep_the_keys_that_are_read() -> None:
    end = END.replace('"mse")', '"mse", metrics=["accuracy", "mae"])')
    assert 'metrics=["acc", "mae"]' in new("", end=f'{end}history.history["val_acc"]\n')
    assert 'metrics=["accuracy", "mae"]' in new("", end=end)
    newer = new("tf.enable_v2_behavior()\n", end=f'{end}history.history["val_acc"]\n')
    assert 'metrics=["accuracy", "mae"]' in newer


def test_recurrent_layers_keep_their_defaults() -> None:
    assert set(RECURRENT) > {"LSTM", "GRU"}
    text = new("n = tf.keras.layers.GRU(2, recurrent_activation='sigmoid')\n")
    assert "GRU(2, recurrent_activation='sigmoid', reset_after=False)" in text
    assert "LSTM(2, recurrent_activation=old_hard_sigmoid)" in new("n = tf.keras.layers.LSTM(2)\n")
    assert "Activation(old_hard_sigmoid)" in new("tf.keras.layers.Activation('hard_sigmoid')\n")


def test_an_added_loss_becomes_a_regularizer() -> None:
    loss = "tf.keras.regularizers.l2(1e-4)(layer.kernel)"
    text = new(f"layer.add_loss({loss})\n")
    assert "layer.kernel.regularizer = tf.keras.regularizers.l2(1e-4)\n" in text


def test_frozen_layers_are_noted() -> None:
    found = migrate(
        "CM404", program("x = tf.keras.layers.BatchNormalization()\nx.trainable = False\n")
    )
    assert "moving statistics" in found.changes[0].hint


def test_a_dataset_is_passed_instead_of_its_iterator() -> None:
    text = new("", end=END.replace("rows)", "rows.make_one_shot_iterator())"))
    assert "model.fit(rows)" in text
    text = new("it = rows.make_one_shot_iterator()\n", end=END.replace("rows)", "it, verbose=0)"))
    assert "it = rows\n" in text


@pytest.mark.parametrize(
    "text",
    [
        END,  # TensorFlow 2
        "tf.logging.info('x')\ntf.Session()\n",  # no Keras: --to tf.compat.v1
        f"if tf.__version__ < '2':\n    tf.set_random_seed(1)\n{END}",
        f"import os\nos.environ['TF_USE_LEGACY_KERAS'] = '1'\ntf.logging.info('x')\n{END}",
    ],
)
def test_a_program_stays(text: str) -> None:
    stays("CM404", f"import tensorflow as tf\n{text}")


def test_a_helper_module_with_a_graph_keeps_the_program() -> None:
    text = program("import helper\n")
    helper = "import tensorflow as tf\nx = tf.placeholder(tf.float32)\n"
    assert "tf.placeholder" in refused("CM404", text, helper=helper)
