"""CM211: what Keras 3 lets pass and gives no effect or no value."""

from __future__ import annotations

import pytest

from unit.migrate.keras_migrations import after, refused, untouched

TF = "import tensorflow as tf\nkeras = tf.keras\n"
LOG = """\
import tensorflow as tf


class Log(tf.keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        if hasattr(self.model.optimizer, "lr"):
            rate = self.model.optimizer.lr
        rate = rate.value() if hasattr(rate, "value") else rate
        self.rates.append(float(rate))
"""


def test_a_rate_that_is_asked_for() -> None:
    wanted = LOG.replace('"lr"', '"learning_rate"').replace(
        "optimizer.lr", "optimizer.learning_rate"
    )
    assert after(LOG, "CM211") == wanted.replace("rate.value()", "rate.value")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("if model.compiled_loss is None:\n    pass", "if not model.compiled:\n    pass"),
        ("if model.compiled_loss is not None:\n    pass", "if model.compiled:\n    pass"),
        ('model.compile("sgd", loss="huber_loss")', 'model.compile("sgd", loss="huber")'),
        (
            'c = {"loss": "huber_loss"}\n\n\ndef build(loss):\n'
            '    model.compile("sgd", loss)\n\n\nbuild(c["loss"])',
            'c = {"loss": "huber"}\n\n\ndef build(loss):\n'
            '    model.compile("sgd", loss)\n\n\nbuild(c["loss"])',
        ),
        (
            'name = "logcosh" if robust else "mse"\nmodel.compile("sgd", loss=name)',
            'name = "log_cosh" if robust else "mse"\nmodel.compile("sgd", loss=name)',
        ),
    ],
)
def test_changed(old: str, new: str) -> None:
    assert after(f"{TF}{old}\n", "CM211") == f"{TF}{new}\n"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('optimizer.exclude_from_weight_decay(var_names=["/bias"])', "without its layer"),
        ("optimizer.exclude_from_weight_decay(var_names=names)", "without its layer"),
        ("tf.keras.backend.set_value(model.optimizer.weight_decay, 0.1)", "is a number"),
        ("other.compile(loss=model.compiled_loss)", "is a method in Keras 3"),
        ('settings = {"loss": "huber_loss"}', "by this name"),
        (
            'n = "huber_loss"\nmodel.compile("sgd", loss=n)\nif n == "huber_loss":\n    pass',
            "by this name",
        ),
    ],
)
def test_refused(line: str, why: str) -> None:
    assert why in refused(f"{TF}{line}\n", "CM211")


@pytest.mark.parametrize(
    "line",
    [
        'hasattr(args, "lr")',
        "box.value()",
        "loss = model.compiled_loss(y, p)",
        'optimizer.exclude_from_weight_decay(var_names=["bias", "gamma"])',
        "optimizer.exclude_from_weight_decay(var_list=variables)",
        'print("huber_loss")',
        "tf.keras.backend.set_value(weight, 0.1)",
    ],
)
def test_what_must_stay(line: str) -> None:
    assert untouched(f"{TF}{line}\n", "CM211")
