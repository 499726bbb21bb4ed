"""CM218: functions of TensorFlow that are called with inputs of a functional model."""

from __future__ import annotations

import pytest

from unit.migrate.keras_migrations import after, refused, untouched

TF = "import tensorflow as tf\nfrom tensorflow.keras import backend as K\nkeras = tf.keras\n"
X = "x = tf.keras.Input((4, 4, 3))\n"


def changed(body: str) -> str:
    """Return the last lines after the migration, without the definitions."""
    return after(f"{TF}{body}", "CM218").splitlines()[-1]


@pytest.mark.parametrize(
    ("line", "new"),
    [
        ("y = tf.nn.relu(x)", 'y = with_keras_inputs("nn.relu", x)'),
        ("y = tf.add(1.0, y=x)", 'y = with_keras_inputs("add", 1.0, y=x)'),
        ("y = tf.add(x=x, y=1.0)", 'y = with_keras_inputs("add", x=x, y=1.0)'),
        (
            "y = tf.tanh(tf.exp(x))",
            'y = with_keras_inputs("tanh", with_keras_inputs("exp", x))',
        ),
        ("y = K.mean(x)", 'y = with_keras_inputs("keras.backend.mean", x)'),
        ("y = x.get_shape()[1]", "y = x.shape[1]"),
        ("y = x.shape.ndims", "y = len(x.shape)"),
        ("y = x.get_shape().as_list()", "y = list(x.shape)"),
        ("y = tf.stack([a for a in [x]])", 'y = with_keras_inputs("stack", [a for a in [x]])'),
        ("y = tf.abs(x[..., 0] - 1)", 'y = with_keras_inputs("abs", x[..., 0] - 1)'),
        ("y = tf.abs(keras.layers.add([x, x]))",
         'y = with_keras_inputs("abs", keras.layers.add([x, x]))'),
        ("y = tf.abs(x if deep else None)", 'y = with_keras_inputs("abs", x if deep else None)'),
    ],
)  # fmt: skip
def test_changed(line: str, new: str) -> None:
    assert changed(f"{X}{line}\n") == new


@pytest.mark.parametrize(
    "body",
    [
        "net = keras.applications.VGG16(weights=None)\ny = tf.exp(net.output)",
        "net = keras.Sequential([keras.layers.Dense(1)])\ny = tf.exp(net(keras.Input((3,))))",
        "def f(a):\n    return keras.layers.Dense(1)(a)\n\n\ny = tf.exp(f(keras.Input((3,))))",
        "dense = keras.layers.Dense(1)\ny = tf.exp(dense(keras.Input((3,))))",
        "class Body(keras.Model):\n    pass\n\n\ny = tf.exp(Body()(keras.Input((3,))))",
        "a, b = keras.Input((3,)), keras.Input((3,))\ny = tf.exp(b)",
        "for n, a in enumerate([keras.Input((3,))]):\n    y = tf.exp(a)",
        "def build(a):\n    a = keras.layers.Dense(1)(a)\n    return tf.exp(a)",
    ],
)
def test_what_is_symbolic(body: str) -> None:
    assert 'with_keras_inputs("exp", ' in changed(f"{body}\n")


@pytest.mark.parametrize(
    "body",
    [
        "y = tf.exp(rows)",
        "y = tf.exp(keras.layers.Dense(1)(tf.ones((1, 3))))",
        "class Twice(keras.layers.Layer):\n    def call(self, x):\n        return tf.exp(x)\n\n\n"
        "y = Twice()(keras.Input((3,)))",
        "class Net(keras.Model):\n    def call(self, x):\n        return tf.exp(self.d(x))",
        f"{X}y = tf.TensorShape(x.shape)",
        f"{X}y = K.int_shape(x)",
        f"{X}y = keras.layers.Lambda(lambda a: tf.exp(a))(x)",
        f"{X}y = tf.ones(3)",
        "y = rows.shape.as_list()",
        "model = keras.Sequential([keras.layers.Dense(1)])\n\n\ndef step(rows):\n"
        "    return tf.reduce_sum(model(rows))\n\n\nfor rows in dataset:\n    step(rows)",
    ],
)
def test_what_must_stay(body: str) -> None:
    assert untouched(f"{TF}{body}\n", "CM218")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("y = tf.map_fn(f, x)", "does not pass to functions"),
        ("y = tf.nest.map_structure(lambda a: a, x)", "does not pass to functions"),
        ("x.set_shape((None, 4, 4, 3))", "have no set_shape"),
        ("y = tf.exp (x)", "is called with an input of a model"),
    ],
)
def test_refused(line: str, why: str) -> None:
    assert why in refused(f"{TF}{X}{line}\n", "CM218")


def test_a_circle_of_functions_ends() -> None:
    text = (
        f"{TF}\n\ndef even(x, n):\n    return odd(x, n - 1) if n else tf.exp(x)\n\n\n"
        "def odd(x, n):\n    return even(x, n - 1) if n else tf.exp(x)\n\n\neven(rows, 4)\n"
    )
    assert untouched(text, "CM218")
