"""CM210: functions of `keras.backend`, most of which only `tensorflow.keras.backend` has."""

from __future__ import annotations

import pytest

from unit.migrate.migrating import changed, migrate, refused, stays


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("from keras import backend as K\n", "from tensorflow.keras import backend as K\n"),
        ("import keras.backend as K\n", "import tensorflow.keras.backend as K\n"),
    ],
)
def test_what_only_tensorflow_has_comes_from_there(before: str, after: str) -> None:
    use = "loss = K.mean(K.square(x), axis=-1) + K.epsilon()\n"
    assert changed("CM210", before + use) == after + use


@pytest.mark.parametrize(
    "text",
    [
        "from keras import backend as K\nK.clear_session()\nprint(K.epsilon())\n",
        "from tensorflow.keras import backend as K\nloss = K.mean(x)\n",
        "import tensorflow as tf\nloss = tf.keras.backend.mean(x)\n",
        "from ours import backend as K\nloss = K.mean(x) + K.ours(x)\n",
        "import keras\nprint(keras.backend.floatx().upper())\n",
    ],
)
def test_what_is_there_stays(text: str) -> None:
    stays("CM210", text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import keras\nloss = keras.backend.mean(x)\n", "keras.backend.mean is not in Keras 3"),
        ("import tensorflow as tf\ntf.keras.backend.tf.abs(x)\n", "keras.backend.tf is not"),
        ("from keras import backend as K, losses\nK.mean(x)\n", "has other names"),
    ],
)
def test_what_is_not_certain_is_named(text: str, message: str) -> None:
    assert message in refused("CM210", text)


def test_the_rest_of_a_module_is_converted() -> None:
    text = "from keras import backend as K\nK.mean(x)\nK.control_flow_ops.while_loop(f, g, x)\n"
    found = migrate("CM210", text)
    assert "from tensorflow.keras import backend as K" in found.texts["train.py"]
    (left,) = found.refusals
    assert left.message == "keras.backend.control_flow_ops is not in Keras 3"
