"""CM202: loops that scale by hand."""

from __future__ import annotations

import pytest

from unit.migrate.keras_migrations import after, migrated, refused, untouched

HEAD = """\
import tensorflow as tf

tf.keras.mixed_precision.set_global_policy("mixed_float16")
model = tf.keras.Sequential([tf.keras.layers.Dense(2, dtype="float32")])
"""
MADE = "opt = tf.keras.mixed_precision.LossScaleOptimizer(tf.keras.optimizers.SGD(0.1))\n"
STEP = """\
@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
        scaled = opt.get_scaled_loss(loss)  # times the scale
    scaled_grads = tape.gradient(scaled, model.trainable_variables)
    grads = opt.get_unscaled_gradients(scaled_grads)
    opt.apply_gradients(zip(grads, model.trainable_variables))
    return loss
"""
NEW = """\
@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
        scaled = opt.scale_loss(loss)  # times the scale
    scaled_grads = tape.gradient(scaled, model.trainable_variables)
    grads = scaled_grads
    opt.apply_gradients(zip(grads, model.trainable_variables))
    return loss
"""
UNSCALE = "    grads = opt.get_unscaled_gradients(scaled_grads)\n"
APPLY = "    opt.apply_gradients(zip(grads, model.trainable_variables))\n"
SAME = STEP.replace("scaled_grads", "grads")
"""The gradients keep their name."""
GONE = "    grads = opt.get_unscaled_gradients(grads)\n"


def loop(step: str = STEP, made: str = MADE) -> str:
    return HEAD + made + step


def changed(old: str, new: str) -> str:
    assert old in STEP
    return loop(STEP.replace(old, new))


def test_a_loop() -> None:
    assert after(loop(), "CM202") == loop(NEW)


def test_a_loop_whose_gradients_keep_their_name() -> None:
    new = SAME.replace(GONE, "").replace("get_scaled_loss", "scale_loss")
    assert after(loop(SAME), "CM202") == loop(new)


def test_a_comment_behind_the_line_that_goes_stays() -> None:
    new = after(loop(SAME.replace(GONE, f"{GONE[:-1]}  # true gradients\n")), "CM202")
    assert "    # true gradients\n    opt.apply_gradients(zip(grads, " in new


def test_the_note_tells_what_is_different() -> None:
    assert "no minimum" in migrated(loop(), "CM202").changes[0].hint


def test_gradients_that_are_unscaled_where_they_are_applied() -> None:
    text = changed(UNSCALE + APPLY, APPLY.replace("(grads", f"({UNSCALE[12:-1]}"))
    new = NEW.replace("    grads = scaled_grads\n", "").replace("zip(grads", "zip(scaled_grads")
    assert after(text, "CM202") == loop(new)


def test_pairs_in_a_list() -> None:
    pairs = "list(zip(grads, v))"
    text = changed(APPLY, APPLY.replace("zip(grads, model.trainable_variables)", pairs))
    assert f"opt.apply_gradients({pairs})" in after(text, "CM202")


def test_a_model_of_ones_own_that_is_compiled() -> None:
    text = """\
import tensorflow as tf


class Net(tf.keras.Model):
    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compiled_loss(y, self(x, training=True))
            loss = self.optimizer.get_scaled_loss(loss)
        grads = tape.gradient(loss, self.trainable_variables)
        grads = self.optimizer.get_unscaled_gradients(grads)
        self.optimizer.apply_gradients(zip(grads, self.trainable_variables))
        return {"loss": loss}
"""
    new = after(text, "CM202")
    assert "self.optimizer.scale_loss(loss)" in new
    assert "get_unscaled_gradients" not in new


@pytest.mark.parametrize(
    "between",
    [
        "grads, norm = tf.clip_by_global_norm(grads, 1.0)",
        "clipped, _ = tf.clip_by_global_norm(grads, 1.0)",
        "grads = [tf.clip_by_value(g, -1.0, 0.5) for g in grads]",
        "grads = [g * 2.0 for g in grads]",
        "tf.print(tf.linalg.global_norm(grads))",
        "hvd.allreduce(grads[0])",
        "sums = [a + b for a, b in zip(sums, grads)]",
        "log = lambda: tf.print(grads)",
    ],
)
def test_unscaled_gradients_that_something_reads_are_named(between: str) -> None:
    text = changed(UNSCALE, f"{UNSCALE}    {between}\n")
    assert "used for more than apply_gradients" in refused(text, "CM202")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            changed(UNSCALE, "").replace("grads, model", "scaled_grads, model"),
            "get_unscaled_gradients of opt is not in the function",
        ),
        (changed("opt.get_scaled_loss(loss)", "loss * 2"), "get_scaled_loss of opt is not in"),
        (changed(APPLY, APPLY.replace("))\n", "), *more)\n")), "has other arguments"),
        (changed(APPLY, APPLY.replace("grads", "others")), "are perhaps not those"),
        (changed(APPLY, f"{APPLY}{APPLY.replace('grads', 'other')}"), "are perhaps not those"),
        (
            changed(UNSCALE, f"    if half:\n    {UNSCALE}"),
            "scales under other conditions than it applies",
        ),
        (
            f"{loop()}strategy = tf.distribute.MirroredStrategy()\n",
            "looks for overflow in one of the replicas only",
        ),
    ],
)
def test_refusals(text: str, why: str) -> None:
    assert why in refused(text, "CM202")


@pytest.mark.parametrize(
    "text",
    [
        loop(NEW),
        loop(NEW, MADE.replace("SGD(0.1))", "SGD(0.1), 1024.0)")),
        loop()
        .replace("import tensorflow as tf\n", "import tensorflow as tf\nimport tf_keras\n")
        .replace("tf.keras", "tf_keras"),
        f"import os\nos.environ['TF_USE_LEGACY_KERAS'] = '1'\n{loop()}",
        "import torch\nloss = engine.scale_loss(loss)\n",
        "# opt.get_scaled_loss(loss)\nimport tensorflow as tf\nmodel.fit(x, y)\n",
        "NOTE = 'opt.get_unscaled_gradients(grads)'\nimport tensorflow as tf\n",
        "import tensorflow as tf\nclass Mine:\n    def get_scaled_loss(self, loss):\n"
        "        return loss\n",
    ],
)
def test_what_must_stay(text: str) -> None:
    assert untouched(text, "CM202")


def test_the_experimental_interface() -> None:
    text = loop(
        made=MADE.replace("mixed_precision.", "mixed_precision.experimental.").replace(
            "SGD(0.1))", "SGD(0.1), 'dynamic')"
        )
    ).replace("set_global_policy", "experimental.set_policy")
    assert after(text) == loop(NEW)


def test_line_ends_and_tabs_stay() -> None:
    text = loop().replace("    ", "\t").replace("\n", "\r\n")
    assert after(text, "CM202") == loop(NEW).replace("    ", "\t").replace("\n", "\r\n")
