"""CM211: arguments and methods of Keras 2."""

from __future__ import annotations

import pytest

from unit.migrate.keras_migrations import after, migrated, refused, untouched

TF = "import tensorflow as tf\nkeras = tf.keras\n"
NET = f"{TF}model = keras.Sequential([keras.layers.Dense(1)])\n"


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
        ("keras.Model(input=a, output=b)", "keras.Model(inputs=a, outputs=b)"),
        (
            "tf.keras.callbacks.ReduceLROnPlateau(epsilon=1)",
            "tf.keras.callbacks.ReduceLROnPlateau(min_delta=1)",
        ),
        ("model.optimizer.lr = 0.1", "model.optimizer.learning_rate = 0.1"),
        (
            "tf.keras.backend.get_value(m.optimizer.lr)",
            "tf.keras.backend.get_value(m.optimizer.learning_rate)",
        ),
        (
            "tf.keras.backend.set_value(model.optimizer.lr, 0.1)",
            "model.optimizer.learning_rate = 0.1",
        ),
        ("[m.reset_states() for m in self.metrics]", "[m.reset_state() for m in self.metrics]"),
        ("train_loss.reset_states()", "train_loss.reset_state()"),
        ("model.load_weights('a.h5', by_name=False)", "model.load_weights('a.h5')"),
        ("model.save('a.h5', options=None)", "model.save('a.h5')"),
        ("opt.apply_gradients(pairs, name='a')", "opt.apply_gradients(pairs)"),
        ('keras.Input((3,), 4, "a")', 'keras.Input((3,), 4, name="a")'),
        ('keras.Model(a, b, "m")', 'keras.Model(a, b, name="m")'),
        ("keras.models.Sequential(parts, 'm')", "keras.models.Sequential(parts, name='m')"),
        ('model.compile("sgd", "mse", ["mae"])', 'model.compile("sgd", "mse", metrics=["mae"])'),
        ('model.load_weights("a.h5", True)', 'model.load_weights("a.h5", by_name=True)'),
        (
            "keras.losses.BinaryCrossentropy(True, 0.1, keras.losses.Reduction.NONE)",
            "keras.losses.BinaryCrossentropy(True, 0.1, reduction=keras.losses.Reduction.NONE)",
        ),
    ],
)
def test_arguments(old: str, new: str) -> None:
    assert after(f"{TF}{old}\n", "CM211") == f"{TF}{new}\n"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (
            "opt = tf.keras.optimizers.SGD(0.1, decay=d)\nopt.learning_rate = 2",
            "the program sets the rate",
        ),
        (
            "opt = tf.keras.optimizers.SGD(schedule(), decay=d)",
            "the rate is perhaps a schedule already",
        ),
        (
            "keras.callbacks.LearningRateScheduler(f)\ntf.keras.optimizers.SGD(r, decay=d)",
            "LearningRateScheduler sets the rate",
        ),
        ("keras.optimizers.SGD(decay=d, **options)", "the other arguments are not visible"),
        ("model.compile(x, target_tensors=t)", "target_tensors was removed"),
        ("tf.keras.layers.GRU(2, time_major=m)", "time_major was removed"),
        ("model.fit_generator(*rows)", "not visible"),
        ("rnn.reset_states()", "reset_states of rnn was removed"),
        ("rnn = keras.layers.GRU(2, stateful=True)\nrnn.reset_states()", "reset_states of rnn was"),
        ("trainer.optimizer.lr = 0.1", "perhaps an optimizer of Keras 3"),
        ("engine.fit(x, workers=3)", "not certainly a model of Keras"),
        ("keras.layers.Dense(2, batch_input_shape=(4, 3))", "takes no argument batch_input_shape"),
        ("keras.layers.Dense(output_dim=2)", "Dense takes no argument output_dim"),
        (
            "keras.callbacks.TensorBoard(embeddings_layer_names=['a'])",
            "TensorBoard takes no argument embeddings_layer_names",
        ),
        ("model.fit(x, samples_per_epoch=3)", "fit takes no argument samples_per_epoch"),
        ("tf.keras.backend.set_value(weight, 0.1)", "set_value of keras.backend fails"),
        ('model.compile("sgd", *others)\nkeras.Model(a, b, *c)', "another order"),
        ("opt.apply_gradients(p, experimental_aggregate_gradients=False)", "aggregate_gradients"),
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
        f"{TF}class A:\n    def fit(self, workers): ...\nA().fit(workers=2)\n",
        f"{TF}compiler.compile('sgd', 'mse', ['mae'])\n",
        f"{TF}keras.losses.SparseCategoricalCrossentropy(True, 255)\n",
        f"{TF}keras.layers.LeakyReLU(alpha=0.1)\nkeras.layers.LSTM(2, implementation=1)\n",
        f"{TF}keras.layers.Dense(2, input_shape=(3,), input_dim=3)\n",
        f"{TF}import keras\nx = keras.ops.abs(y)\nkeras.Model(a, b, 'm')\n",
    ],
)
def test_what_must_stay(text: str) -> None:
    assert untouched(text, "CM211")


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


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(inner, dynamic=True)", "(inner)"),
        ("(inner, True)", "(inner)"),
        ("(inner, True, 1024.0)", "(inner, initial_scale=1024.0)"),
        ("(inner, True, 8.0, 100)", "(inner, initial_scale=8.0, dynamic_growth_steps=100)"),
        ("(inner, dynamic=True, initial_scale=1024.0)", "(inner, initial_scale=1024.0)"),
        ("(dynamic=True, inner_optimizer=inner)", "(inner_optimizer=inner)"),
        ("(inner, initial_scale=None, dynamic_growth_steps=None)", "(inner)"),
        ("(optimizer=inner, loss_scale='dynamic')", "(inner_optimizer=inner)"),
        ("(inner, 1024)", "(inner, 1024)"),
        ("(inner, 1024.0)", "(inner, 1024.0)"),
        (
            "(\n    inner,  # of ours\n    dynamic=True,\n    initial_scale=8.0,\n)",
            "(\n    inner,  # of ours\n    initial_scale=8.0,\n)",
        ),
        ("(\n    inner,  # of ours\n    dynamic=True)", "(\n    inner,  # of ours\n    )"),
        (
            "(\n    inner,\n    # as before\n    dynamic=True, initial_scale=8.0)",
            "(\n    inner,\n    # as before\n    initial_scale=8.0)",
        ),
    ],
)
def test_loss_scales(old: str, new: str) -> None:
    text = "import tensorflow as tf\nopt = tf.keras.mixed_precision.LossScaleOptimizer{}\n"
    assert after(text.format(old), "CM211") == text.format(new)


@pytest.mark.parametrize("given", ["'dynamic'", "loss_scale='dynamic'"])
def test_the_experimental_policy_and_scaler(given: str) -> None:
    mixed = "tf.keras.mixed_precision."
    text = (
        f"{TF}{mixed}experimental.set_policy({mixed}experimental.Policy('mixed_float16', {given}))"
        f"\nopt = {mixed}experimental.LossScaleOptimizer(inner, {given})\n"
    )
    assert after(text, "CM210", "CM211") == (
        f"{TF}{mixed}set_global_policy({mixed}Policy('mixed_float16'))\n"
        f"opt = {mixed}LossScaleOptimizer(inner)\n"
    )


@pytest.mark.parametrize(
    "line",
    [
        "LossScaleOptimizer(inner, dynamic=False)",
        "LossScaleOptimizer(inner, dynamic=flag)",
        "LossScaleOptimizer(inner, loss_scale=8)",
        "Policy('mixed_float16', loss_scale=1024)",
        "Policy('mixed_float16', loss_scale=args.scale)",
        "Policy('mixed_float16', None)",
    ],
)
def test_fixed_scales_are_named(line: str) -> None:
    found = migrated(f"{TF}x = tf.keras.mixed_precision.{line}\n", "CM211")
    assert "its value is not harmless" in found.refusals[0].message
    assert "loss_scale_factor" in found.refusals[0].hint


def test_a_decayed_rate_that_is_read_is_told() -> None:
    text = f"{TF}model.compile(tf.keras.optimizers.SGD(0.1, decay=0.1), 'mse')\n"
    assert "now the decayed" in str(migrated(f"{text}print(model.optimizer.lr)\n", "CM211"))
    assert "now the decayed" not in str(migrated(text, "CM211"))


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
    assert after(text.format(old), "CM211") == text.format(new)
    text = text.replace("super()", "super(Own, self)")
    assert after(text.format(old), "CM211") == text.format(new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "keras.layers.GRU(\n    2,  # units\n    time_major=False,\n    units=3,\n)",
            "keras.layers.GRU(\n    2,  # units\n    units=3,\n)",
        ),
        (
            "model.fit_generator(  # rows\n    rows,\n    10,  # steps\n)",
            "model.fit(  # rows\n    rows,\n    steps_per_epoch=10,  # steps\n)",
        ),
    ],
)
def test_comments_and_layout_stay(old: str, new: str) -> None:
    assert after(f"{NET}{old}\n", "CM211") == f"{NET}{new}\n"
