"""CM202: loops that scale by hand, and the arguments of LossScaleOptimizer."""

from __future__ import annotations

import pytest

from unit.migrate.keras_loops import APPLY, HEAD, MADE, NEW, STEP, UNSCALE, carried, changed, loop
from unit.migrate.keras_migrations import after, migrated, refused, untouched


def test_a_loop() -> None:
    assert after(loop(), "CM202") == loop(NEW)


def test_the_note_tells_what_is_different() -> None:
    assert "no minimum" in migrated(loop(), "CM202").changes[0].hint


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # Unscaled where it is applied.
        (
            changed(UNSCALE + APPLY, APPLY.replace("(grads", f"({UNSCALE[12:-1]}")),
            loop(NEW),
        ),
        # A comment behind the line that goes stays.
        (
            changed(UNSCALE, UNSCALE[:-1] + "  # true gradients\n"),
            loop(NEW).replace("    opt.apply", "    # true gradients\n    opt.apply"),
        ),
        # `list(zip(...))`.
        (
            changed(
                APPLY, APPLY.replace("zip(grads, model.trainable_variables)", "list(zip(grads, v))")
            ),
            loop(
                NEW.replace(
                    "zip(scaled_grads, model.trainable_variables)", "list(zip(scaled_grads, v))"
                )
            ),
        ),
    ],
)
def test_forms_of_a_loop(old: str, new: str) -> None:
    assert after(old, "CM202") == new


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


def test_a_step_made_by_a_function() -> None:
    text = HEAD + "def make(model, opt):\n"
    text += "    opt = tf.keras.mixed_precision.LossScaleOptimizer(opt)\n\n"
    text += "".join(f"    {line}\n" for line in STEP.splitlines()) + "    return step\n"
    new = after(text, "CM202")
    assert "opt.scale_loss(loss)" in new
    assert "get_unscaled" not in new


def test_both_ways_under_one_condition() -> None:
    text = HEAD + (
        "opt = tf.keras.optimizers.SGD(0.1)\n"
        "if amp:\n"
        "    opt = tf.keras.mixed_precision.LossScaleOptimizer(opt)\n"
        "for x, y in data:\n"
        "    with tf.GradientTape() as tape:\n"
        "        loss = f(model(x), y)\n"
        "        if amp:\n"
        "            loss = opt.get_scaled_loss(loss)\n"
        "    grads = tape.gradient(loss, model.trainable_variables)\n"
        "    if amp:\n"
        "        grads = opt.get_unscaled_gradients(grads)\n"
        "    opt.apply_gradients(zip(grads, model.trainable_variables))\n"
    )
    new = text.replace("get_scaled_loss", "scale_loss").replace(
        "    if amp:\n        grads = opt.get_unscaled_gradients(grads)\n", ""
    )
    assert after(text, "CM202") == new


def test_branches_of_their_own() -> None:
    text = HEAD + (
        "opt = tf.keras.optimizers.SGD(0.1)\n"
        "if amp:\n"
        "    opt = tf.keras.mixed_precision.LossScaleOptimizer(opt)\n"
        "for x, y in data:\n"
        "    with tf.GradientTape() as tape:\n"
        "        loss = f(model(x), y)\n"
        "        if amp:\n"
        "            scaled = opt.get_scaled_loss(loss)\n"
        "    if amp:\n"
        "        scaled = tape.gradient(scaled, model.trainable_variables)\n"
        "        grads = opt.get_unscaled_gradients(scaled)\n"
        "    else:\n"
        "        grads = tape.gradient(loss, model.trainable_variables)\n"
        "    opt.apply_gradients(zip(grads, model.trainable_variables))\n"
    )
    new = text.replace("get_scaled_loss", "scale_loss").replace(
        "opt.get_unscaled_gradients(scaled)", "scaled"
    )
    assert after(text, "CM202") == new


def test_isinstance_tells_what_the_optimizer_is() -> None:
    text = (
        "import tensorflow as tf\n"
        "def step(model, opt, x, y):\n"
        "    with tf.GradientTape() as tape:\n"
        "        loss = f(model(x), y)\n"
        "        if isinstance(opt, tf.keras.mixed_precision.LossScaleOptimizer):\n"
        "            loss = opt.get_scaled_loss(loss)\n"
        "    grads = tape.gradient(loss, model.trainable_variables)\n"
        "    if isinstance(opt, tf.keras.mixed_precision.LossScaleOptimizer):\n"
        "        grads = opt.get_unscaled_gradients(grads)\n"
        "    opt.apply_gradients(zip(grads, model.trainable_variables))\n"
    )
    new = after(text, "CM202")
    assert new.count("isinstance") == 1
    assert "opt.scale_loss(loss)" in new


@pytest.mark.parametrize(
    ("clip", "argument"),
    [
        ("grads, _ = tf.clip_by_global_norm(grads, 1.0)", "global_clipnorm=1.0"),
        ("grads, _ = tf.clip_by_global_norm(grads, clip_norm=5)", "global_clipnorm=5"),
        ("grads, norm = tf.clip_by_global_norm(grads, 1.0)", "global_clipnorm=1.0"),
        ("grads = [tf.clip_by_norm(g, 2.0) for g in grads]", "clipnorm=2.0"),
        ("grads = [tf.clip_by_value(g, -0.5, 0.5) for g in grads]", "clipvalue=0.5"),
    ],
)
def test_clipping_moves_into_the_optimizer(clip: str, argument: str) -> None:
    new = after(changed(UNSCALE, f"{UNSCALE}    {clip}\n"), "CM202")
    assert new == loop(NEW, MADE.replace("SGD(0.1)", f"SGD(0.1, {argument})")) or (
        f"SGD(0.1, {argument})" in new and "clip_by" not in new and "get_unscaled" not in new
    )


@pytest.mark.parametrize(
    "between",
    [
        "grads, norm = tf.clip_by_global_norm(grads, 1.0)\n    tf.print(norm)",
        "grads, _ = tf.clip_by_global_norm(grads, limit)",
        "clipped, _ = tf.clip_by_global_norm(grads, 1.0)\n    grads = clipped",
        "grads = [tf.clip_by_value(g, -1.0, 0.5) for g in grads]",
        "grads = [tf.clip_by_norm(g, 1.0) for g in grads if g is not None]",
        "grads = [g * 2.0 for g in grads]",
        "grads = ours.clip_by_global_norm(grads, 1.0)",
        "tf.print(tf.linalg.global_norm(grads))",
        "hvd.allreduce(grads[0])",
        "sums = [a + b for a, b in zip(sums, grads)]",
        "grads, _ = tf.clip_by_global_norm(grads, 1.0)\n"
        "    grads, _ = tf.clip_by_global_norm(grads, 2.0)",
    ],
)
def test_unscaled_gradients_that_something_reads_are_kept(between: str) -> None:
    text = changed(UNSCALE, f"{UNSCALE}    {between}\n")
    assert after(text, "CM202") == carried(text)


@pytest.mark.parametrize(
    "inner",
    ["tf.keras.optimizers.SGD(0.1, clipnorm=1.0)", "tf.keras.optimizers.SGD(*given)", "made()"],
)
def test_clipping_that_has_no_certain_place(inner: str) -> None:
    text = changed(UNSCALE, f"{UNSCALE}    grads, _ = tf.clip_by_global_norm(grads, 1.0)\n")
    text = text.replace("tf.keras.optimizers.SGD(0.1)", inner)
    assert after(text, "CM202") == carried(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (changed(UNSCALE, "").replace("grads, model", "scaled_grads, model"), "is nowhere called"),
        (changed("opt.get_scaled_loss(loss)", "loss * 2"), "is nowhere called"),
        (loop(made="opt = build()\n"), "do not define opt"),
        (loop(made="opt = tf.compat.v1.train.AdamOptimizer(0.1)\n"), "do not define opt"),
        (
            changed(APPLY, APPLY.replace("))\n", '), name="step")\n')),
            "takes only gradients and variables",
        ),
        (
            changed(APPLY, "")
            .replace("    return loss", "    pairs = make(grads)\n" + APPLY)
            .replace("zip(grads, model.trainable_variables)", "pairs"),
            "takes only gradients and variables",
        ),
        ("import os\nos.environ['TF_USE_LEGACY_KERAS'] = '1'\n" + loop(), "TF_USE_LEGACY_KERAS"),
        (
            loop(
                made="import horovod.tensorflow as hvd\n" + MADE + "opt = "
                "hvd.DistributedOptimizer(opt, backward_passes_per_step=2)\n"
            ),
            "it has backward_passes_per_step=2",
        ),
        (loop(made=MADE.replace(".LossScale", ".experimental.LossScale")), "experimental name"),
        (loop(made=MADE.replace("tf.keras.optimizers.", "tf.keras.optimizers.legacy.")), "legacy"),
        (
            loop(made=MADE.replace("SGD(0.1))", "SGD(0.1), dynamic=flag)")),
            "flag determines whether the scale is dynamic",
        ),
        (loop(made=MADE.replace("SGD(0.1))", "SGD(0.1), 1024.0)")), "are not certain"),
        (loop(made=MADE.replace("SGD(0.1))", "SGD(0.1), **given)")), "are not certain"),
        (loop(made=MADE.replace("SGD(0.1))", "SGD(0.1), loss_scale='dynamic')")), "not certain"),
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
        "import keras\nopt = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD())\n",
        "import torch\nloss = engine.scale_loss(loss)\n",
        "# opt.get_scaled_loss(loss)\nimport tensorflow as tf\nmodel.fit(x, y)\n",
        "NOTE = 'opt.get_unscaled_gradients(grads)'\nimport tensorflow as tf\n",
        "from ours import LossScaleOptimizer\nopt = LossScaleOptimizer(inner, dynamic=True)\n",
        "import tensorflow as tf\ntf.contrib.mixed_precision.LossScaleOptimizer(opt, manager)\n",
        "import tensorflow as tf\nif False:\n    tf.keras.mixed_precision.LossScaleOptimizer(opt, "
        "dynamic=True)\n",
        "import tensorflow as tf\nclass Mine:\n    def get_scaled_loss(self, loss):\n"
        "        return loss\n",
    ],
)
def test_what_must_stay(text: str) -> None:
    assert untouched(text, "CM202")


def test_a_half_migrated_loop_stays() -> None:
    text = loop(STEP.replace("get_scaled_loss", "scale_loss"))
    assert "get_scaled_loss is nowhere called" in refused(text, "CM202")


def test_the_experimental_interface_in_two_rounds() -> None:
    text = loop(
        made=MADE.replace("mixed_precision.", "mixed_precision.experimental.").replace(
            "SGD(0.1))", "SGD(0.1), 'dynamic')"
        )
    ).replace("set_global_policy", "experimental.set_policy")
    assert after(text) == loop(NEW)


def test_variables_are_no_method() -> None:
    text = loop(STEP + "save(opt.variables())\n")
    assert after(text, "CM202") == loop(NEW + "save(opt.variables)\n")


def test_line_ends_and_tabs_stay() -> None:
    text = loop().replace("    ", "\t").replace("\n", "\r\n")
    assert after(text, "CM202") == loop(NEW).replace("    ", "\t").replace("\n", "\r\n")
