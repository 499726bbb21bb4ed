"""Programs with names of both TensorFlow 1 and 2 are not rewritten."""

from __future__ import annotations

import pytest

from unit.migrate.migrating import changed, migrate, refused, stays

FIT = """\
model = tf.keras.Sequential([tf.keras.layers.GRU(2)])
model.compile("adam", loss, metrics=["accuracy"])
model.fit(rows, callbacks=[tf.keras.callbacks.EarlyStopping("val_acc")])
"""
READ = "def read(image):\n    return tf.image.resize(image, (224, 224))\n\n\n"
LOSS = "def loss(labels, rows):\n    return -tf.reduce_mean(labels * tf.log(rows))\n\n\n"


@pytest.mark.parametrize("code", ["CM401", "CM404"])
@pytest.mark.parametrize(
    "sign",
    [
        "tf.random.set_seed(1)\n",
        "rows = rows.map(read, num_parallel_calls=tf.data.AUTOTUNE)\n",
        "from tensorflow.keras.utils import set_random_seed\nset_random_seed(1)\n",
        "writer = tf.summary.create_file_writer('out')\n",
        "with tf.GradientTape() as tape:\n    pass\n",
        "@tf.function\ndef step(rows):\n    return rows\n\n\n",
        "tf.keras.mixed_precision.set_global_policy('mixed_float16')\n",
    ],
)
def test_signs_of_both_releases_change_nothing(code: str, sign: str) -> None:
    """`tf.image.resize` computes other values in TensorFlow 1, GRU has other defaults."""
    said = refused(code, f"import tensorflow as tf\n{sign}{READ}{LOSS}{FIT}")
    assert "tf.log is of TensorFlow 1" in said
    assert "not certain" in said


def test_the_hint_says_the_new_name() -> None:
    text = f"import tensorflow as tf\ntf.random.set_seed(1)\n{LOSS}{FIT}"
    (refusal,) = migrate("CM404", text).refusals
    assert refusal.span is not None
    assert refusal.span.line == 4
    assert "tf.random.set_seed in line 2 of train.py" in refusal.message
    assert "tf.log is tf.math.log" in refusal.hint


@pytest.mark.parametrize(
    "sign",
    [
        # Written for either release: what the test chooses is of another one than the rest.
        "if tf.__version__.startswith('2'):\n    tf.random.set_seed(1)\n",
        "try:\n    tf.random.set_seed(1)\nexcept AttributeError:\n    tf.set_random_seed(1)\n",
        # TensorFlow 1.15 has these, too.
        "rows = rows.prefetch(tf.data.experimental.AUTOTUNE)\n",
        "x = tf.compat.v2.random.set_seed\n",
        "tf.config.experimental.list_physical_devices('GPU')\n",
        # After eager execution was switched on, or beside a graph.
        "tf.enable_eager_execution()\nwith tf.GradientTape() as tape:\n    pass\n",
        "@tf.function\ndef step():\n    return tf.contrib.eager.num_gpus()\n\n\n",
        # A name of the program.
        "class random:\n    set_seed = print\n\n\nrandom.set_seed(1)\n",
    ],
)
def test_a_program_of_tensorflow_1_changes(sign: str) -> None:
    after = changed("CM404", f"import tensorflow as tf\n{sign}{READ}{LOSS}{FIT}")
    assert "tf.math.log(rows)" in after
    assert "tf.compat.v1.image.resize(image" in after
    assert 'metrics=["acc"]' in after


def test_a_function_that_nothing_calls_says_nothing_of_the_release() -> None:
    helpers = f"import tensorflow as tf\n\n\n{LOSS}def size(image):\n    return tf.shape(image)\n"
    text = f"import tensorflow as tf\nfrom helpers import size\n\n{READ}size(rows)\n{FIT}"
    stays("CM404", text.replace(", loss,", ", 'mse',"), helpers=helpers)
    text = text.replace("import size", "import loss, size")
    assert "tf.compat.v1.image.resize" in changed("CM404", text, helpers=helpers)


def test_a_script_of_each_release_beside_a_shared_module() -> None:
    shared = "import tensorflow as tf\n\n\ndef size(image):\n    return tf.shape(image)\n"
    old = f"import tensorflow as tf\nfrom shared import size\n\nsize(1)\n{LOSS}{FIT}"
    new = f"import tensorflow as tf\nfrom shared import size\n\ntf.random.set_seed(1)\n{READ}{FIT}"
    found = migrate("CM404", old, shared=shared, other=new)
    assert set(found.texts) == {"train.py"}
    assert not found.refusals
