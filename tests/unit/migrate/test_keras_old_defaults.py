"""CM220: positional arguments, defaults and formulas of Keras 2."""

from __future__ import annotations

import pytest

from unit.migrate.keras_migrations import after, refused, untouched

TF = "import tensorflow as tf\nkeras = tf.keras\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('keras.Input((3,), 4, "a")', 'keras.Input((3,), 4, name="a")'),
        ('keras.Model(a, b, "m")', 'keras.Model(a, b, name="m")'),
        ("keras.models.Sequential(parts, 'm')", "keras.models.Sequential(parts, name='m')"),
        ('model.compile("sgd", "mse", ["mae"])', 'model.compile("sgd", "mse", metrics=["mae"])'),
        (
            'model.compile("sgd", "mse", ["mae"], [1, 2])',
            'model.compile("sgd", "mse", metrics=["mae"], loss_weights=[1, 2])',
        ),
        ('model.load_weights("a.h5", True)', 'model.load_weights("a.h5", by_name=True)'),
        (
            "keras.losses.BinaryCrossentropy(True, 0.1, keras.losses.Reduction.NONE)",
            "keras.losses.BinaryCrossentropy(True, 0.1, reduction=keras.losses.Reduction.NONE)",
        ),
        ("keras.regularizers.l1_l2()", "keras.regularizers.l1_l2(l1=0.01, l2=0.01)"),
        ("keras.regularizers.l1_l2(1e-3)", "keras.regularizers.l1_l2(1e-3, l2=0.01)"),
        ("keras.layers.AvgPool1D()", "keras.layers.AvgPool1D(pool_size=2)"),
        (
            'keras.optimizers.SGD(0.1, 0.9, False, "o")',
            'keras.optimizers.SGD(0.1, 0.9, False, name="o")',
        ),
    ],
)
def test_arguments(old: str, new: str) -> None:
    assert after(f"{TF}x = {old}\n", "CM220") == f"{TF}x = {new}\n"


@pytest.mark.parametrize(
    ("line", "new"),
    [
        ('keras.layers.Activation("hard_sigmoid")', "keras.layers.Activation(old_hard_sigmoid)"),
        (
            'keras.layers.GRU(3, recurrent_activation="hard_sigmoid")',
            "keras.layers.GRU(3, recurrent_activation=old_hard_sigmoid)",
        ),
        ("keras.activations.hard_sigmoid(y)", "old_hard_sigmoid(y)"),
        (
            "keras.layers.ConvLSTM2D(2, 3)",
            "keras.layers.ConvLSTM2D(2, 3, recurrent_activation=old_hard_sigmoid)",
        ),
        ("keras.optimizers.RMSprop(0.1)", "RMSpropOfKeras2(0.1)"),
        ('model.compile("rmsprop")', "model.compile(RMSpropOfKeras2())"),
    ],
)
def test_formulas(line: str, new: str) -> None:
    found = after(f"{TF}x = {line}\n", "CM220")
    assert found.splitlines()[-1] == f"x = {new}"


def test_a_default_of_a_parameter() -> None:
    text = (
        f'{TF}\n\ndef build(gate_activation="hard_sigmoid"):\n'
        "    return keras.activations.get(gate_activation)\n"
    )
    found = after(text, "CM220")
    assert "def build(gate_activation=old_hard_sigmoid)" in found
    assert "get(gate_activation)" in found


EMBEDDING = f"{TF}e = keras.layers.Embedding(9, 3)\n"


@pytest.mark.parametrize(
    ("line", "new"),
    [
        ("keras.optimizers.Adam(1e-3)", "with_summed_rows(keras.optimizers.Adam(1e-3))"),
        ('model.compile("adam")', 'model.compile(with_summed_rows("adam"))'),
    ],
)
def test_repeated_rows(line: str, new: str) -> None:
    assert after(f"{EMBEDDING}x = {line}\n", "CM220").splitlines()[-1] == f"x = {new}"


def test_an_optimizer_that_is_a_default() -> None:
    text = f'{EMBEDDING}\n\ndef build(opt="adam"):\n    model.compile(opt, "mse")\n\n\nbuild()\n'
    assert "model.compile(with_summed_rows(opt)" in after(text, "CM220")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("keras.optimizers.SGD(0.1, momentum=0.9)", "SGD updates the rows"),
        ('model.compile("adamax")', "Adamax updates the rows"),
        ('keras.optimizers.Adam()\nkeras.models.load_model("a.keras")', "Adam updates the rows"),
    ],
)
def test_rows_that_differ(line: str, why: str) -> None:
    assert why in refused(f"{EMBEDDING}{line}\n", "CM220")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("keras.optimizers.Nadam()", "another momentum schedule"),
        ('model.compile("nadam")', "another momentum schedule"),
        ('name = "rmsprop" if a else "sgd"\nmodel.compile(name)', "another formula"),
        ("keras.regularizers.l1_l2(**options)", "are not visible"),
        ('settings = {"activation": "hard_sigmoid"}', "another slope"),
        ('model.compile("sgd", *others)\nkeras.Model(a, b, *c)', "another order"),
    ],
)
def test_refused(line: str, why: str) -> None:
    assert why in refused(f"{TF}{line}\n", "CM220")


@pytest.mark.parametrize(
    "line",
    [
        'compiler.compile("sgd", "mse", ["mae"])',
        "keras.losses.SparseCategoricalCrossentropy(True, 255)",
        "keras.losses.SparseCategoricalCrossentropy(True, None)",
        "keras.losses.BinaryCrossentropy(True, 0.1, -1)",
        "keras.regularizers.L1L2(1e-3)",
        "keras.regularizers.l1_l2(1e-3, 1e-4)",
        'keras.layers.Activation("sigmoid")',
        'print("hard_sigmoid")',
        "keras.optimizers.Adam(1e-3)",
        "other.Input((3,), 4, 'a')",
        "class Own(keras.losses.Loss):\n    def __init__(self):\n        super().__init__()",
        "import torch\ntorch.optim.RMSprop(weights)",
    ],
)
def test_what_must_stay(line: str) -> None:
    assert untouched(f"{TF}{line}\n", "CM220")


def test_embeddings_of_plain_sgd_stay() -> None:
    assert untouched(f"{EMBEDDING}model.compile(keras.optimizers.SGD(0.1))\n", "CM220")


@pytest.mark.parametrize(
    ("base", "old", "new"),
    [
        ("keras.losses.Loss", 'tf.losses.Reduction.NONE, "a"', ""),
        ("keras.metrics.Metric", '"a"', 'name="a"'),
        ("keras.Model", 'a, b, "a"', 'a, b, name="a"'),
    ],
)
def test_constructors_of_bases(base: str, old: str, new: str) -> None:
    new = new or 'reduction=tf.losses.Reduction.NONE, name="a"'
    text = f"{TF}\n\nclass Own({base}):\n    def __init__(self):\n        super().__init__({{}})\n"
    assert after(text.format(old), "CM220") == text.format(new)
    text = text.replace("super()", "super(Own, self)")
    assert after(text.format(old), "CM220") == text.format(new)


@pytest.mark.parametrize(
    "sign",
    [
        "x = keras.ops.relu(x)\n",
        "from keras import ops\nx = ops.relu(x)\n",
        "seed = keras.random.SeedGenerator(1)\n",
        'import os\nos.environ["KERAS_BACKEND"] = "torch"\n',
        'import os\nos.environ.setdefault("KERAS_BACKEND", "jax")\n',
    ],
)
def test_a_program_of_keras_3_keeps_its_meanings(sign: str) -> None:
    untouched(
        f"import keras\n{sign}"
        "gate = keras.layers.Dense(8, activation='hard_sigmoid')\n"
        "model.compile(keras.optimizers.RMSprop(1e-3), 'mse')\n"
    )


@pytest.mark.parametrize(
    "line",
    [
        'import os\nos.environ["KERAS_BACKEND"] = "tensorflow"\n',  # also in Keras 2
        "x = keras.initializers.RandomNormal()\n",
        "ops = 3\n",
    ],
)
def test_signs_that_are_none(line: str) -> None:
    text = f"import keras\n{line}gate = keras.layers.Dense(8, activation='hard_sigmoid')\n"
    assert "activation=old_hard_sigmoid" in after(text)
