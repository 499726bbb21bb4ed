"""CM224: code of the program that nothing looks at is named, so that no verdict is silent."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from crosscast.cli import app
from unit.migrate.keras_migrations import refused, untouched

TF = "import tensorflow as tf\nkeras = tf.keras\nK = keras.backend\n"
BUILD = f"{TF}x = keras.Input((3,))\nx = keras.layers.Dense(4)(x)\n"


@pytest.mark.parametrize(
    ("base", "what"),
    [
        ("keras.layers.Layer", "layers and models"),
        ("keras.Model", "layers and models"),
        ("keras.metrics.Metric", "metrics"),
        ("keras.losses.Loss", "losses"),
        ("keras.callbacks.Callback", "callbacks"),
        ("keras.utils.Sequence", "sequences of rows"),
        ("keras.optimizers.Adam", "optimizers"),
        ("keras.optimizers.schedules.LearningRateSchedule", "schedules"),
        ("keras.constraints.Constraint", "constraints"),
    ],
)
def test_classes_are_named_by_their_kind(base: str, what: str) -> None:
    text = f"{TF}\n\nclass Own({base}):\n    def go(self):\n        pass\n"
    message = refused(text, "CM224")
    assert message.startswith("not looked at: your own ")
    assert what in message
    assert "(Own)" in message


def test_an_optimizer_for_keras_2() -> None:
    text = (
        f"{TF}\n\nclass Own(keras.optimizers.SGD):\n    def _create_slots(self, v):\n        pass\n"
    )
    assert "Own is an optimizer for Keras 2: Keras 3 never calls its" in refused(text, "CM224")


def test_an_optimizer_for_keras_3() -> None:
    text = (
        f"{TF}\n\nclass Own(keras.optimizers.SGD):\n"
        "    def update_step(self, gradient, variable, learning_rate):\n        pass\n"
    )
    assert untouched(text, "CM224")
    assert "optimizers (Own)" in refused(text.replace(", learning_rate", ""), "CM224")


def test_a_module_that_holds_layers() -> None:
    text = f"{TF}\n\nclass Own(tf.Module):\n    def __init__(self):\n        self.d = {{}}\n"
    assert untouched(text.format("3"), "CM224")
    assert "modules of TensorFlow (Own)" in refused(text.format("keras.layers.Dense(2)"), "CM224")


def test_a_program_with_names_of_tensorflow_1() -> None:
    text = (
        f"{TF}model = keras.Sequential([keras.layers.Dense(1)])\nmodel.compile('sgd', 'mse')\n"
        "x = tf.placeholder(tf.int8)\n"
    )
    assert "Keras in this program, which has names of TensorFlow 1" in refused(text, "CM224")


def test_names_that_come_by_a_star() -> None:
    text = "from keras.layers import *\nfrom ours import *\nx = Input((3,))\n"
    assert refused(text, "CM224") == "not looked at: names that come from keras.layers by *"


def test_four_classes_are_one_place() -> None:
    one = "\n\nclass {}(keras.layers.Layer):\n    def call(self, x):\n        return x\n"
    text = TF + "".join(one.format(name) for name in "ABCD")
    assert (
        refused(text, "CM224") == "not looked at: your own layers and models (A, B, C and 1 more)"
    )


@pytest.mark.parametrize(
    ("text", "function"),
    [
        (f"{BUILD}y = tf.concat([x, x], -1)\n", "tensorflow.concat"),
        (f"{BUILD}y = K.sum(x)\n", "keras.backend.sum"),
        (f"{BUILD}n = x.shape.as_list()\n", "as_list"),
        (f"{BUILD}n = x.get_shape()\n", "get_shape"),
        (f"{BUILD}xs = []\nxs.append(x)\ny = tf.stack(xs)\n", "tensorflow.stack"),
        (f"{BUILD}for z in [x, 2 * x]:\n    tf.abs(z)\n", "tensorflow.abs"),
        (
            f"{TF}\n\ndef act(x):\n    return tf.nn.relu(x)\n\n\ndef block(x):\n"
            "    return act(keras.layers.Dense(2)(x))\n",
            "tensorflow.nn.relu",
        ),
        (
            f"{TF}\n\ndef block(x):\n    return keras.layers.Dense(2)(x)\n\n\n"
            "def decode(y):\n    return tf.split(y, 2)\n\n\n"
            "decode(block(keras.layers.Input((3,))))\n",
            "tensorflow.split",
        ),
        (
            f"{TF}\n\nclass Net:\n    def build(self):\n        self.x = keras.Input((3,))\n"
            "        return tf.abs(self.x)\n",
            "tensorflow.abs",
        ),
        (f"{TF}m = keras.Model()\ny = m.get_layer('a').output\nz = tf.abs(y)\n", "tensorflow.abs"),
    ],
)
def test_functions_of_inputs_are_named(text: str, function: str) -> None:
    assert f"{function} of an input of a model" in refused(text, "CM224")


@pytest.mark.parametrize(
    "text",
    [
        f"{BUILD}y = keras.layers.Lambda(lambda z: tf.concat([z, z], -1))(x)\n",
        f"{BUILD}m = keras.Model(x, x)\nloss = tf.reduce_sum(m(rows))\n",
        f"{BUILD}y = K.int_shape(x)\n",
        f"{BUILD}y = 2 * x + tf.constant(3.0)\n",
        f"{TF}\n\n@tf.function\ndef step(x):\n    return tf.abs(keras.layers.Dense(2)(x))\n",
        f"{TF}\n\ndef load(path):\n    return tf.io.read_file(path)\n\n\nrows = load('a')\n",
        f"{TF}\n\nclass Own:\n    def call(self, x):\n        return tf.abs(x)\n",
    ],
)
def test_other_functions_are_not_named(text: str) -> None:
    assert untouched(text, "CM224")


VERDICT = "not looked at: values, shapes and what your own functions return"


def said(folder: Path, text: str) -> list[str]:
    (folder / "train.py").write_text(text)
    words = ["migrate", str(folder / "train.py"), "--to", "keras3", "--experimental"]
    return CliRunner().invoke(app, words, prog_name="crosscast").output.splitlines()


@pytest.mark.parametrize(
    ("line", "decide"),
    [
        ("tf.keras.layers.Dense(2)", "Decide: not looked at: "),
        ("tf.keras.optimizers.SGD(lr=0.1)", "Decide: not looked at: "),
        ("tf.keras.optimizers.Nadam()", "Decide: 1 place left as it is: "),
    ],
)
def test_the_verdict_is_never_silent(tmp_path: Path, line: str, decide: str) -> None:
    verdict = said(tmp_path, f"import tensorflow as tf\n\nx = {line}\n")[1]
    assert verdict.startswith(decide)
    assert VERDICT in verdict
    assert "TF_USE_LEGACY_KERAS=1" in verdict


def test_another_migration_says_nothing_of_it(tmp_path: Path) -> None:
    text = "import tensorflow as tf\n\nwith tf.Session() as session:\n    session.run(x)\n"
    (tmp_path / "train.py").write_text(text)
    words = ["migrate", str(tmp_path / "train.py"), "--to", "tf.compat.v1", "--experimental"]
    assert VERDICT not in CliRunner().invoke(app, words, prog_name="crosscast").output
