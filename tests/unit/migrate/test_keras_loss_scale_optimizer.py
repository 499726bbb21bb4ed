"""CM202: loops that scale by hand, and the arguments of LossScaleOptimizer."""

from __future__ import annotations

import pytest

from crosscast.migrate.keras import added_code
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
    opt.apply_gradients(zip(scaled_grads, model.trainable_variables))
    return loss
"""
UNSCALE = "    grads = opt.get_unscaled_gradients(scaled_grads)\n"
APPLY = "    opt.apply_gradients(zip(grads, model.trainable_variables))\n"


def loop(step: str = STEP, made: str = MADE) -> str:
    return HEAD + made + step


def changed(old: str, new: str) -> str:
    assert old in STEP
    return loop(STEP.replace(old, new))


def carried(text: str) -> str:
    """The loop with its unscaled gradients, which are scaled again where they are applied."""
    made = "\n\n".join(added_code.TEXTS[n] for n in (added_code.UNSCALED, added_code.SCALED))
    return (
        text.replace("import tensorflow as tf\n\n", f"import tensorflow as tf\n\n\n{made}\n")
        .replace("opt.get_scaled_loss", "opt.scale_loss")
        .replace("opt.get_unscaled_gradients(", "divide_by_loss_scale(opt, ")
        .replace("(zip(grads, ", "(zip(multiply_by_loss_scale(opt, grads), ")
    )


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
    ("old", "new", "then"),
    [
        ("    return loss", "    return loss, grads", ("", "")),
        ("    return loss", "    return opt.loss_scale", ("opt.loss_scale", "opt.scale_loss(1.0)")),
        ("    return loss", "    return opt.loss_scale()", ("loss_scale()", "scale_loss(1.0)")),
        ("grads = opt.get_un", "kept.grads = opt.get_un", ("", "")),
        ("        scaled = opt", "        if big:\n            scaled = opt", ("", "")),
        (
            APPLY,
            APPLY.replace("))\n", "), experimental_aggregate_gradients=False)\n"),
            (", experimental_aggregate_gradients=False", ""),
        ),
    ],
)
def test_whatever_happens_to_unscaled_gradients(old: str, new: str, then: tuple[str, str]) -> None:
    text = (
        changed(old, new)
        if "loss_scale" not in new
        else changed(UNSCALE, f"{UNSCALE}    log(grads)\n").replace(old, new)
    )
    wanted = carried(text)
    assert after(text, "CM202") == (wanted.replace(*then) if then[0] else wanted)


def test_an_optimizer_that_is_tested_for_its_methods() -> None:
    text = changed(
        "        scaled = opt.get_scaled_loss(loss)",
        "        scaled = opt.get_scaled_loss(loss) if hasattr(opt, 'get_scaled_loss') else loss",
    ).replace(
        UNSCALE,
        "    if hasattr(opt, 'get_unscaled_gradients'):\n    " + UNSCALE,
    )
    found = after(text, "CM202")
    assert found.count('hasattr(opt, "scale_loss")') == 2
    assert "multiply_by_loss_scale(opt, grads)" in found


WRAPPER = """\
import tensorflow as tf

class Optimizer:
    def __init__(self, half):
        self.opt = tf.keras.optimizers.Adam(1e-3)
        if half:
            self.opt = tf.keras.mixed_precision.LossScaleOptimizer(self.opt)

    def get_scaled_loss(self, loss):
        return self.opt.get_scaled_loss(loss)

    def update(self, tape, scaled, model):
        grads = tape.gradient(scaled, model.trainable_variables)
        grads = self.opt.get_unscaled_gradients(grads)
        self.opt.apply_gradients(zip(grads, model.trainable_variables))

class Training:
    def __init__(self, model, made):
        self.model, self.made = model, made

    {decorated}
    def train(self, x):
        with tf.GradientTape() as tape:
            loss = self.loss(x)
            scaled = self.made.get_scaled_loss(loss)
        self.made.update(tape, scaled, self.model)

    def loss(self, x):
        return tf.reduce_mean(self.model(x) ** 2)
"""


def test_a_class_around_the_optimizer_keeps_its_methods() -> None:
    found = after(WRAPPER.replace("{decorated}", "@tf.function"), "CM202")
    assert "return self.opt.scale_loss(loss)" in found
    assert "grads = divide_by_loss_scale(self.opt, grads)" in found
    assert "(zip(multiply_by_loss_scale(self.opt, grads), model." in found
    assert "scaled = self.made.get_scaled_loss(loss)" in found


def test_a_graph_that_would_keep_the_first_scale() -> None:
    text = WRAPPER.replace("{decorated}", "").replace(
        "    def get_scaled_loss", "    @tf.function\n    def get_scaled_loss"
    )
    assert "would keep the first one" in refused(text, "CM202")


def test_a_fixed_scale_in_a_loop() -> None:
    text = loop(
        made="opt = tf.keras.optimizers.SGD(0.1)\n"
        "opt = tf.keras.mixed_precision.LossScaleOptimizer(opt, dynamic=False, "
        "initial_scale=128.0)\n"
    )
    new = after(text, "CM202")
    assert new == loop(NEW, "opt = tf.keras.optimizers.SGD(0.1, loss_scale_factor=128.0)\n")


@pytest.mark.parametrize(
    "made",
    [
        "opt = tf.keras.mixed_precision.LossScaleOptimizer(make(), dynamic=False, "
        "initial_scale=8)\n",
        "opt = tf.keras.mixed_precision.LossScaleOptimizer(tf.keras.optimizers.SGD(), "
        "dynamic=False, initial_scale=scale)\n",
        "opt = tf.keras.optimizers.SGD()\nif amp:\n    opt = tf.keras.mixed_precision."
        "LossScaleOptimizer(opt, dynamic=False, initial_scale=8)\n",
    ],
)
def test_a_fixed_scale_without_a_certain_place(made: str) -> None:
    assert refused(loop(made=made), "CM202")
    alone = "opt = tf.keras.mixed_precision.LossScaleOptimizer(tf.keras.optimizers.SGD(), "
    assert refused(f"import tensorflow as tf\n{alone}dynamic=False, initial_scale=8)\n", "CM202")


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
