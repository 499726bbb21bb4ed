"""CM210 and CM211: names, arguments and files of Keras 2."""

from __future__ import annotations

import pytest

from unit.migrate.keras_migrations import after, migrated, refused, untouched

TF = "import tensorflow as tf\nkeras = tf.keras\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("tf.keras.optimizers.legacy.Adam(1e-3)", "tf.keras.optimizers.Adam(1e-3)"),
        ("tf.optimizers.experimental.AdamW(1e-3)", "tf.optimizers.AdamW(1e-3)"),
        ("tf.keras.losses.Reduction.AUTO", "tf.keras.losses.Reduction.SUM_OVER_BATCH_SIZE"),
        (
            "tf.keras.layers.experimental.preprocessing.Resizing(2, 2)",
            "tf.keras.layers.Resizing(2, 2)",
        ),
    ],
)
def test_names(old: str, new: str) -> None:
    assert after(f"{TF}x = {old}\n", "CM210") == f"{TF}x = {new}\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "from tensorflow.keras.optimizers.legacy import Adam, SGD as Plain",
            "from tensorflow.keras.optimizers import Adam, SGD as Plain",
        ),
        (
            "from tensorflow.keras.optimizers import legacy",
            "from tensorflow.keras import optimizers as legacy",
        ),
        (
            "import tensorflow.keras.layers.experimental.preprocessing as p",
            "import tensorflow.keras.layers as p",
        ),
        (
            "from keras.layers.convolutional import Conv2D, UpSampling2D",
            "from keras.layers import Conv2D, UpSampling2D",
        ),
        ("from keras.utils.vis_utils import plot_model", "from keras.utils import plot_model"),
        ("from keras.utils import np_utils", "from keras import utils as np_utils"),
        (
            "from keras.callbacks.experimental import BackupAndRestore",
            "from keras.callbacks import BackupAndRestore",
        ),
    ],
)
def test_imports(old: str, new: str) -> None:
    assert after(f"{old}\n", "CM210") == f"{new}\n"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "from tensorflow.keras import backend as K\nK.set_session(s)\n",
            "set_session was removed",
        ),
        ("from tensorflow.keras.backend import learning_phase\n", "learning_phase was removed"),
        (
            "from tensorflow.keras.experimental import CosineDecay, Ours\n",
            "moved names and others",
        ),
    ],
)
def test_refused_names(text: str, why: str) -> None:
    assert why in refused(text, "CM210")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("tf.keras.optimizers.SGD(lr=0.1)", "tf.keras.optimizers.SGD(learning_rate=0.1)"),
        ("keras.optimizers.Adam(0.1, epsilon=None)", "keras.optimizers.Adam(0.1)"),
        (
            "keras.optimizers.Adam(lr=0.1, epsilon=None, decay=0.0)",
            "keras.optimizers.Adam(learning_rate=0.1)",
        ),
        ("tf.keras.optimizers.SGD(0.1, decay=0.0)", "tf.keras.optimizers.SGD(0.1)"),
        (
            "tf.keras.optimizers.SGD(0.1, 0.9, decay=d)",
            "tf.keras.optimizers.SGD("
            "tf.keras.optimizers.schedules.InverseTimeDecay(0.1, 1, d), 0.9)",
        ),
        (
            "tf.keras.optimizers.SGD(momentum=0.9, decay=1e-6)",
            "tf.keras.optimizers.SGD(learning_rate="
            "tf.keras.optimizers.schedules.InverseTimeDecay(0.01, 1, 1e-6), momentum=0.9)",
        ),
        ("model.fit(x, y, workers=2, max_queue_size=3)", "model.fit(x, y)"),
        ("model.evaluate(x, use_multiprocessing=True)", "model.evaluate(x)"),
        (
            "model.fit_generator(rows, 10, 2, 1, [c], workers=3)",
            "model.fit(rows, steps_per_epoch=10, epochs=2, verbose=1, callbacks=[c])",
        ),
        ("model.fit_generator(generator=rows)", "model.fit(x=rows)"),
        ("model.predict_generator(rows, 5)", "model.predict(rows, steps=5)"),
        ("tf.keras.layers.LSTM(2, time_major=False)", "tf.keras.layers.LSTM(2)"),
        (
            "tf.keras.callbacks.ReduceLROnPlateau(epsilon=1)",
            "tf.keras.callbacks.ReduceLROnPlateau(min_delta=1)",
        ),
        ("model.optimizer.lr = 0.1", "model.optimizer.learning_rate = 0.1"),
        ("tf.keras.backend.get_value(m.optimizer.lr)",
         "tf.keras.backend.get_value(m.optimizer.learning_rate)"),
        ("[m.reset_states() for m in self.metrics]", "[m.reset_state() for m in self.metrics]"),
        ("train_loss.reset_states()", "train_loss.reset_state()"),
        ("model.save_weights('a.h5')", "model.save_weights('a.weights.h5')"),
        (
            "model.save_weights(os.path.join(d, 'a_{}.hdf5'.format(n)))",
            "model.save_weights(os.path.join(d, 'a_{}.weights.h5'.format(n)))",
        ),
        (
            "tf.keras.callbacks.ModelCheckpoint('a/{epoch}.h5', save_weights_only=True)",
            "tf.keras.callbacks.ModelCheckpoint('a/{epoch}.weights.h5', save_weights_only=True)",
        ),
    ],
)  # fmt: skip
def test_arguments(old: str, new: str) -> None:
    assert after(f"{TF}{old}\n", "CM211") == f"{TF}{new}\n"


@pytest.mark.parametrize(
    "line",
    [
        "opt = tf.keras.optimizers.SGD({}0.1{})\nopt.learning_rate = 2",
        "opt = tf.keras.optimizers.SGD({}0.1{})\nopt.learning_rate.assign(2)",
        "rate = ours(0.1)\nopt = tf.keras.optimizers.SGD({}schedule(){})",
        "keras.callbacks.LearningRateScheduler(f)\nopt = tf.keras.optimizers.SGD({}r{})",
    ],
)
def test_decay_beside_a_rate_that_is_set(line: str) -> None:
    new = after(f"{TF}{line.format('', ', decay=d')}\n", "CM211")
    assert new.endswith(f"{line.replace('tf.k', 'with_decay(tf.k').format('', '), d')}\n")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("model.save_weights(f'{n}.h5')", "model.save_weights(f'{n}.weights.h5')"),
        (
            "model.save_weights(n + '.h5')\nmodel.load_weights(n + '.h5')",
            "model.save_weights(n + '.weights.h5')\nmodel.load_weights(n + '.weights.h5')",
        ),
        (
            "model.save_weights('a{}.h5'.format(n))\nk = int(p.replace('.h5', ''))",
            "model.save_weights('a{}.weights.h5'.format(n))\nk = int(p.replace('.weights.h5', ''))",
        ),
        (
            "model.save_weights('a.h5')\nnames = glob('o/*.h5')",
            "model.save_weights('a.weights.h5')\nnames = glob('o/*.weights.h5')",
        ),
        (
            "keras.callbacks.ModelCheckpoint('a.hdf5')\nmodel.load_weights('a.hdf5')",
            "keras.callbacks.ModelCheckpoint('a.keras')\nmodel.load_weights('a.keras')",
        ),
        (
            "def train(c):\n    p = os.path.join(d, f'{n}.hdf5')\n"
            "    keras.callbacks.ModelCheckpoint(p, save_weights_only=c.w)",
            "def train(c):\n    p = os.path.join(d, f'{n}' + (\n"
            '        ".weights.h5" if c.w else ".keras"\n    ))\n'
            "    keras.callbacks.ModelCheckpoint(p, save_weights_only=c.w)",
        ),
        (
            "model.save('m', overwrite=True)\nupload('m/saved_model.pb')",
            "model.export('m')\nupload('m/saved_model.pb')",
        ),
    ],
)
def test_names_of_files_that_are_taken_apart(old: str, new: str) -> None:
    assert after(f"{TF}{old}\n", "CM211") == f"{TF}{new}\n"


def test_the_steps_of_an_optimizer_are_assigned() -> None:
    line = "opt = keras.optimizers.Adam(0.1)\nopt.iterations{}"
    assert after(f"{TF}{line.format(' = n')}\n", "CM211") == f"{TF}{line.format('.assign(n)')}\n"


def test_a_file_is_read_under_its_new_name() -> None:
    text = f"{TF}path = 'a.h5'\nmodel.save_weights(path)\nother.load_weights('a.h5')\n"
    assert after(text, "CM211") == text.replace("a.h5", "a.weights.h5")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (
            "tf.keras.optimizers.SGD(schedule(), decay=1e-3)\nkeras.models.load_model(p)",
            "load_model would forget the decay",
        ),
        ("model.save_weights('a.h5')\nif splitext(p)[1] == '.h5': pass", "depends on its old end"),
        (
            "model.save_weights('a.h5')\nglob('*.h5')\nimport h5py\nh5py.File('b')",
            "depends on its old end",
        ),
        ("keras.callbacks.ModelCheckpoint('a.hdf5')\nexists('o/a.hdf5')", "writes files that end"),
        ("keras.callbacks.ModelCheckpoint('a.hdf5')\nglob('*.hdf5')", "writes files that end"),
        ("model.compile(x, target_tensors=t)", "target_tensors was removed"),
        ("tf.keras.layers.GRU(2, time_major=m)", "time_major was removed"),
        ("model.fit_generator(*rows)", "not visible"),
        ("model.save_weights(path())", "must end in .weights.h5"),
        ("model.save_weights('a')\ntf.train.latest_checkpoint('.')", "depends on its old end"),
        ("keras.callbacks.ModelCheckpoint('a', save_weights_only=w)", "writes files that end in"),
        (
            "p = join(d, f'{n}.hdf5')\nkeras.callbacks.ModelCheckpoint(p, save_weights_only=w)",
            "writes files that end in .keras",
        ),
        ("model.save('trained', overwrite=True)", "not the folder of a SavedModel"),
        ("rnn.reset_states()", "reset_states of rnn was removed"),
        ("rnn = keras.layers.GRU(2, stateful=True)\nrnn.reset_states()", "reset_states of rnn was"),
        ("trainer.optimizer.lr = 0.1", "perhaps an optimizer of Keras 3"),
        ("engine.fit(x, workers=3)", "not certainly a model of Keras"),
        ("model.save_weights('a.h5')\nmodel.save('a.h5')", "depends on its old end"),
        ("model.save_weights('a.h5')\nk = keras.models.load_model('a.h5')", "depends on its old"),
        ("p = os.path.join('o', 'a.h5')\nmodel.save_weights(p)\nexists('o/a.h5')", "depends on"),
    ],
)
def test_refused_arguments(line: str, why: str) -> None:
    assert why in refused(f"{TF}{line}\n", "CM211")


@pytest.mark.parametrize(
    "text",
    [
        "scheduler = Scheduler(lr=0.1)\nargs.lr = 2\nengine.fit(x, workers=3)\n",
        f"{TF}args.lr = 0.1\nargs.optimizer = 'sgd'\n",
        f"{TF}keras.optimizers.Adam(0.1, epsilon=1e-8)\n",
        f"{TF}cfg.optimizer.lr = 0.1\nprint(cfg.model.optimizer.lr)\n",
        f"{TF}from ours import Index\nindex = Index()\nindex.fit(rows, workers=4)\n",
        f"{TF}x = ours.SGD(lr=0.1, decay=0.1)\n",
        "import os\nimport tensorflow as tf\nkeep = os.environ.get('TF_USE_LEGACY_KERAS', '0')\n"
        "tf.keras.optimizers.SGD(lr=0.1)\n",
        "import tf_keras\nimport tensorflow as tf\ntf_keras.optimizers.SGD(lr=0.1)\n",
        f"{TF}model.save_weights('a.weights.h5')\nmodel.save('a.h5')\n",
        f"{TF}keras.callbacks.ModelCheckpoint('a/{{epoch}}.h5')\n",
        f"{TF}class A:\n    def fit(self, workers): ...\nA().fit(workers=2)\n",
    ],
)
def test_what_must_stay(text: str) -> None:
    assert untouched(text, "CM210", "CM211")


@pytest.mark.parametrize(
    "line", ["os.environ['TF_USE_LEGACY_KERAS'] = '1'", "os.putenv('TF_USE_LEGACY_KERAS', '1')"]
)
def test_a_program_that_selects_keras_2_is_told(line: str) -> None:
    text = f"import os\n{line}\nimport tensorflow as tf\ntf.keras.optimizers.SGD(lr=0.1)\n"
    assert "selects Keras 2" in refused(text)


def test_a_file_that_another_module_reads_keeps_its_name() -> None:
    found = migrated(
        f"{TF}import play\nmodel.save_weights('a.h5')\n",
        "CM211",
        play_py=f"{TF}model.load_weights('a.h5')\n",
    )
    assert not found.texts
    assert "depends on its old end" in found.refusals[0].message


@pytest.mark.parametrize(
    "fit",
    [
        "unet.compile('sgd', loss='mse')\nunet.fit(rows, workers=2)",
        "class Net(keras.Model):\n    def go(self):\n        self.fit(rows, workers=2)",
        "unet = keras.Model(a, b)\nunet.fit(rows, workers=2)",
    ],
)
def test_models_by_what_they_are(fit: str) -> None:
    assert after(f"{TF}{fit}\n", "CM211") == f"{TF}{fit}\n".replace(", workers=2", "")


def test_a_decayed_rate_that_is_read_is_told() -> None:
    text = f"{TF}model.compile(tf.keras.optimizers.SGD(0.1, decay=0.1), 'mse')\n"
    assert "now the decayed" in str(migrated(f"{text}print(model.optimizer.lr)\n", "CM211"))
    assert "now the decayed" not in str(migrated(text, "CM211"))


@pytest.mark.parametrize("base", ["tf.keras.Model", "keras.layers.Layer"])
@pytest.mark.parametrize("made", ["super()", "super(Mine, self)"])
def test_a_constructor_that_passes_itself(base: str, made: str) -> None:
    text = f"{TF}class Mine({base}):\n    def __init__(self):\n        {made}.__init__(self)\n"
    assert after(text, "CM210") == text.replace("__init__(self)\n", "__init__()\n").replace(
        "def __init__():", "def __init__(self):"
    )


def test_a_constructor_of_something_else_stays() -> None:
    assert untouched(
        f"{TF}class A(ours.Model):\n    def __init__(self):\n        super().__init__(self)\n",
        "CM210",
    )


EAGER = """\
import tensorflow as tf

tf.compat.v1.disable_eager_execution()
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
{}model.compile("sgd", loss="mse")
model.fit(x, y)
"""


def test_graphs_that_nothing_needs() -> None:
    line = "tf.compat.v1.disable_eager_execution()\n"
    for made in ("", "x = tf.data.Dataset.range(3)\n", "x = np.zeros(3)\n"):
        text = EAGER.format(made)
        assert after(text, "CM210") == text.replace(line, "")
    assert untouched(f"{TF}{line}", "CM210")  # no model is compiled


@pytest.mark.parametrize(
    ("made", "why"),
    [
        ("x = tf.random.uniform([2, 3])\n", "computes x again in every step"),
        ("s = tf.compat.v1.Session()\n", "Session needs a graph"),
        ("f = tf.keras.backend.function([a], [b])\n", "needs a graph"),
    ],
)
def test_graphs_that_are_needed(made: str, why: str) -> None:
    assert why in refused(EAGER.format(made), "CM210")


BLOCKS = """\
import tensorflow as tf


class Block(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.drop = tf.keras.layers.Dropout(0.1)
        self.other = make()

    def call(self, x, training):
        return self.other(self.drop(x, training), True)


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.block = Block()

    def call(self, x, training=False):
        return self.block(x, training)
"""


def test_training_is_passed_by_name() -> None:
    wanted = BLOCKS.replace("self.drop(x, training)", "self.drop(x, training=training)")
    wanted = wanted.replace("self.block(x, training)", "self.block(x, training=training)")
    assert after(BLOCKS, "CM210") == wanted
