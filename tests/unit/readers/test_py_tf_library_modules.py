"""TensorFlow: what modules define for other files, and what libraries around it do."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

from program_facts import values_of

COSINE = """
    import math
    import tensorflow as tf

    class Course(tf.keras.optimizers.schedules.LearningRateSchedule):
        def __init__(self, peak, total_steps, warmup_steps):
            self.peak, self.total, self.warmup_steps = peak, total_steps, warmup_steps

        def __call__(self, step):
            warm = self.peak * step / self.warmup_steps
            down = 0.5 * self.peak * (1 + tf.cos(math.pi * step / self.total))
            return tf.where(step < self.warmup_steps, warm, down)
"""


def test_a_schedule_for_other_files() -> None:
    found = values_of(COSINE)
    assert found["schedule.name"] == "cosine"
    assert found["schedule.has_warmup"] == "yes"
    assert found["schedule.warmup"] == "self.warmup_steps"
    assert found["schedule.stepped_per"] == "step"


@pytest.mark.parametrize(
    ("old", "new", "name", "warm"),
    [
        ("self.warmup_steps", "self.early", "cosine", "no"),
        ("tf.cos(", "shape(", "custom", "yes"),
        ("tf.cos(", "self.decay_schedule(", "caller", "yes"),
        ("class Course", "class NoamCourse", "noam", "yes"),
    ],
)
def test_forms_of_such_schedules(old: str, new: str, name: str, warm: str) -> None:
    found = values_of(COSINE.replace(old, new))
    assert (found["schedule.name"], found["schedule.has_warmup"]) == (name, warm)


def test_classes_that_are_no_schedules() -> None:
    other = COSINE.replace("tf.keras.optimizers.schedules.LearningRateSchedule", "tf.keras.Layer")
    assert "schedule.name" not in values_of(other)
    used = textwrap.dedent(COSINE) + "\nopt = tf.keras.optimizers.Adam(1e-3)\nopt.minimize(loss)\n"
    assert "schedule.name" not in values_of(used)


@pytest.mark.parametrize(
    ("head", "name"),
    [
        ("class AdamWeightDecay(tf.keras.optimizers.Adam):", "adamw"),
        ("class LAMB(tf.keras.optimizers.Optimizer):", "lamb"),
        ("class Mine(tf.keras.optimizers.SGD):", "sgd"),
        ("class Mine(tf.keras.optimizers.Optimizer):", None),
        ("class Adam(tf.keras.layers.Layer):", None),
    ],
)
def test_optimizers_for_other_files(head: str, name: str | None) -> None:
    text = (
        f"import tensorflow as tf\n{head}\n    def __init__(self, rate):\n        self.r = rate\n"
    )
    assert values_of(text).get("optimizer.name") == name
    wrapper = text.replace("rate):", "optimizer):").replace("= rate", "= optimizer")
    assert "optimizer.name" not in values_of(wrapper)


CALLBACK = """
    import numpy as np
    from keras import backend as K
    from keras.callbacks import Callback

    class Restarts(Callback):
        def rate(self):
            return self.low + 0.5 * self.span * (1 + np.cos(self.seen / self.cycle * np.pi))

        def on_batch_end(self, batch, logs=None):
            K.set_value(self.model.optimizer.lr, self.rate())
"""


def test_a_callback_for_other_files() -> None:
    found = values_of(CALLBACK)
    assert found["schedule.name"] == "cosine"
    assert found["schedule.stepped_per"] == "step"
    elsewhere = textwrap.dedent(CALLBACK) + "\nmodel.fit(x, callbacks=[other])\n"
    assert "schedule.name" not in values_of(elsewhere)
    used = textwrap.dedent(CALLBACK) + "\nmodel.fit(x, callbacks=[Restarts()])\n"
    assert values_of(used)["schedule.name"] == "cosine"
    unknown = CALLBACK.replace("np.cos(", "shape(")
    assert values_of(unknown)["schedule.name"] == "custom"


LOOP = """
    import tensorflow as tf
    optimizer = tf.keras.optimizers.SGD(0.1)

    for epoch in range(90):
        {rate}
        for x, y in dataset:
            train_step(x, y)
"""


@pytest.mark.parametrize(
    ("rate", "per"),
    [
        ("optimizer.learning_rate.assign(rate_of(epoch))", "epoch"),
        ("optimizer.lr = rate_of(epoch)", "epoch"),
        ("tf.keras.backend.set_value(optimizer.lr, rate_of(epoch))", "epoch"),
        ("for step in range(9):\n            optimizer.lr.assign(rate_of(step))", "step"),
        ("optimizer.lr = 0.1", None),
        ("optimizer.lr = optimizer.lr", None),
        ("optimizer.momentum.assign(rate_of(epoch))", None),
        ("metrics.lr = rate_of(epoch)", None),
    ],
)
def test_rates_set_in_loops(rate: str, per: str | None) -> None:
    found = values_of(LOOP.format(rate=rate))
    assert found.get("schedule.stepped_per") == per
    assert found.get("schedule.name") == ("custom" if per else None)


def test_rates_set_elsewhere() -> None:
    once = "import tensorflow as tf\noptimizer = tf.keras.optimizers.SGD(0.1)\n"
    assert "schedule.name" not in values_of(f"{once}optimizer.lr = rate_of(3)\n")
    function = "def adjust_learning_rate(optimizer, epoch):\n    optimizer.lr = rate_of(epoch)\n"
    assert values_of(once + function)["schedule.stepped_per"] == "epoch"
    assert "schedule.name" not in values_of(once + function.replace("adjust_learning_rate", "load"))
    known = once.replace("SGD(0.1)", "SGD(tf.keras.optimizers.schedules.CosineDecay(0.1, 9))")
    assert values_of(known + function)["schedule.name"] == "cosine"


HOROVOD = """
    import tensorflow as tf
    import horovod.tensorflow.keras as hvd
    hvd.init()
    opt = hvd.DistributedOptimizer(tf.keras.optimizers.Adam(1e-3), backward_passes_per_step={n})
    model.compile(optimizer=opt, loss="mse")
    model.fit(x, callbacks=[{callbacks}])
"""
WARM = "hvd.callbacks.LearningRateWarmupCallback(initial_lr=0.1, warmup_epochs=3)"
DROP = "hvd.callbacks.LearningRateScheduleCallback(initial_lr=0.1, multiplier={}, start_epoch=9)"


@pytest.mark.parametrize(
    ("n", "callbacks", "expected"),
    [
        ("4", "", {"accumulation.present": "yes", "accumulation.steps": 4}),
        ("1", "", {}),
        ("1", WARM, {"schedule.name": "constant", "schedule.has_warmup": "yes"}),
        (
            "1",
            f"{WARM}, {DROP.format('0.1')}",
            {"schedule.name": "multistep", "schedule.has_warmup": "yes"},
        ),
        ("1", DROP.format("by_epoch"), {"schedule.name": "custom", "schedule.has_warmup": "no"}),
    ],
)
def test_horovod_of_keras(n: str, callbacks: str, expected: dict[str, Any]) -> None:
    found = values_of(HOROVOD.format(n=n, callbacks=callbacks))
    assert found["parallel.kind"] == ("horovod",)
    told = {k: v for k, v in found.items() if k in ("accumulation.present", "accumulation.steps")}
    told |= {k: v for k, v in found.items() if k in ("schedule.name", "schedule.has_warmup")}
    assert told == expected


CONTRIB = """
    import tensorflow as tf
    from tensorflow.contrib import slim

    def model_fn(features, labels, mode):
        {update}
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)
"""
OPTIMIZE = 'train_op = tf.contrib.layers.optimize_loss(loss, step, 0.01, "{}", clip_gradients={})'


@pytest.mark.parametrize(
    ("update", "expected"),
    [
        (
            OPTIMIZE.format("Adam", "5.0"),
            {"optimizer.name": "adam", "optimizer.learning_rate": 0.01, "clipping.value": 5.0},
        ),
        (OPTIMIZE.format("SGD", "None"), {"optimizer.name": "sgd", "clipping.kind": None}),
        (
            "train_op = slim.learning.create_train_op(loss, opt, clip_gradient_norm=2.0)",
            {"clipping.kind": "per_param_norm", "clipping.value": 2.0},
        ),
        (
            "train_op = slim.learning.create_train_op(loss, opt, clip_gradient_norm=0)",
            {"clipping.kind": None},
        ),
        (
            "train_op = ours.create_train_op(loss, opt, clip_gradient_norm=2.0)",
            {"clipping.kind": None},
        ),
    ],
)
def test_updates_of_contrib(update: str, expected: dict[str, Any]) -> None:
    found = values_of(CONTRIB.format(update=update))
    assert {key: found.get(key) for key in expected} == expected


def test_a_rate_that_contrib_decays() -> None:
    decay = "lambda rate, step: tf.train.exponential_decay(rate, step, 100, 0.9)"
    update = OPTIMIZE.format("Adam", "1.0").replace(
        "clip_gradients", f"learning_rate_decay_fn={decay}, clip_gradients"
    )
    assert values_of(CONTRIB.format(update=update))["schedule.name"] == "exponential"
    none = update.replace(decay, "None")
    assert "schedule.name" not in values_of(CONTRIB.format(update=none))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("from keras.utils import multi_gpu_model\nm = multi_gpu_model(model, gpus=2)", ("dp",)),
        ("with strategy.scope():\n    pass", ("caller",)),
        ("strategy.run(step, args=(x,))", ("caller",)),
        ("session.run(step)", None),
        ("with tf.name_scope('a'):\n    pass", None),
        (
            "strategy = tf.distribute.OneDeviceStrategy('/cpu')\nwith strategy.scope():\n    pass",
            None,
        ),
        (
            "strategy = tf.distribute.MirroredStrategy()\nwith strategy.scope():\n    pass",
            ("mirrored",),
        ),
    ],
)
def test_strategies_that_are_handed_in(text: str, kind: tuple[str, ...] | None) -> None:
    found = values_of(f"import tensorflow as tf\nopt = tf.optimizers.Adam(1e-3)\n{text}\n")
    assert found.get("parallel.kind") == kind


def test_optimizers_under_other_names() -> None:
    text = "import tensorflow as tf\nopt = tf.optimizers.Adam(1e-3, clipnorm=1.0)\n"
    found = values_of(text)
    assert found["optimizer.name"] == "adam"
    assert found["clipping.kind"] == "per_param_norm"
    chosen = "import tensorflow as tf\nopt = getattr(tf.keras.optimizers, name)(learning_rate=0.1)"
    assert values_of(chosen)["optimizer.name"] == "selectable"
    layer = chosen.replace("keras.optimizers", "keras.layers")
    assert "optimizer.name" not in values_of(layer)


GARDEN = """
    from official.core import config_definitions as cfg
    from official.modeling import optimization

    def experiment():
        rates = optimization.OptimizationConfig({
            "optimizer": {"type": "adamw", "adamw": {"weight_decay_rate": 0.01}},
            "learning_rate": {"type": "cosine", "cosine": {"initial_learning_rate": 1e-3}},
            "warmup": {"type": "linear", "linear": {"warmup_steps": 100}},
        })
        return cfg.ExperimentConfig(
            runtime=cfg.RuntimeConfig(mixed_precision_dtype="bfloat16"),
            trainer=cfg.TrainerConfig(train_steps=500, optimizer_config=rates),
        )
"""


def test_experiments_of_the_model_garden() -> None:
    found = values_of(GARDEN)
    assert found["optimizer.name"] == "adamw"
    assert found["optimizer.learning_rate"] == 1e-3
    assert found["schedule.name"] == "cosine"
    assert found["schedule.warmup"] == "100 steps"
    assert found["schedule.total_steps"] == 500
    assert found["precision.dtypes"] == ("bfloat16",)
    alone = GARDEN.partition("        return")[0] + "        return rates\n"
    assert values_of(alone)["optimizer.name"] == "adamw"
    other = GARDEN.replace("from official.modeling import", "from ours import").replace(
        "from official.core import", "from ours import"
    )
    assert "optimizer.name" not in values_of(other)


@pytest.mark.parametrize(
    ("call", "steps"),
    [
        ("AccumOptimizer(tf.keras.optimizers.Adam(1e-3), 10)", 10),
        ("AccumOptimizer(tf.keras.optimizers.Adam(1e-3), steps_per_update=10)", 10),
        ("AdamAccumulate(learning_rate=1e-3, accum_iters=10)", 10),
        ("AdamWeightDecay(learning_rate=1e-3, grad_accum_steps=10)", 10),
        ("AccumOptimizer(tf.keras.optimizers.Adam(1e-3), 1)", None),
        ("AccumulatedMetric(metric, 10)", None),
        ("Schedule(rate, grad_accum_steps=10)", None),
    ],
)
def test_accumulating_optimizers_of_other_files(call: str, steps: int | None) -> None:
    name = call.partition("(")[0]
    found = values_of(f"import tensorflow as tf\nfrom ours import {name}\nopt = {call}\n")
    assert found.get("accumulation.steps") == steps
    assert found.get("accumulation.present") == ("yes" if steps else None)


@pytest.mark.parametrize(
    ("optimizer", "name"),
    [
        ("tf.keras.optimizers.SGD(0.1, decay=1e-6)", "exponential"),
        ("tf.keras.optimizers.SGD(0.1, decay=0.0)", None),
        ("tf.keras.optimizers.SGD(0.1)", None),
        ("tf.train.RMSPropOptimizer(0.1, decay=0.9)", None),
        ("tf.train.AdamOptimizer(tf.placeholder(tf.float32))", "caller"),
        ("tf.train.AdamOptimizer(tf.constant(0.1))", None),
    ],
)
def test_schedules_by_arguments(optimizer: str, name: str | None) -> None:
    found = values_of(f"import tensorflow as tf\nopt = {optimizer}\nopt.minimize(loss)\n")
    assert found.get("schedule.name") == name


def test_the_strategy_of_a_keras_model() -> None:
    text = "import tensorflow as tf\nopt = tf.optimizers.Adam(1e-3)\n{}.run(step, args=(x,))\n"
    assert "parallel.kind" not in values_of(text.format("self.distribute_strategy"))
    assert values_of(text.format("self.strategy"))["parallel.kind"] == ("caller",)


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ("grad_clip", "caller"),
        ("None", None),
        ("paddle.nn.ClipGradByGlobalNorm(1.0)", "global_norm"),
    ],
)
def test_clips_that_paddle_hands_on(given: str, kind: str | None) -> None:
    text = f"""
        import paddle

        class Momentum:
            def __init__(self, rate, grad_clip=None):
                self.rate = rate

            def build(self, parameters, grad_clip=None):
                return paddle.optimizer.Momentum(
                    self.rate, grad_clip={given}, parameters=parameters)
    """
    assert values_of(text).get("clipping.kind") == kind


STEPS = """
import numpy as np
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
optimizer = tf.keras.optimizers.Adam()
global_steps = tf.Variable(0, trainable=False, dtype=tf.int64)

def fit_one(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x) - y))
    gradients = tape.gradient(loss, model.trainable_variables)
    {apply}
    if global_steps < 100:
        lr = global_steps / 100 * 1e-3
    else:
        lr = 0.5 * 1e-3 * (1 + tf.cos((global_steps - 100) / 900 * np.pi))
    optimizer.lr.assign(lr.numpy())
    global_steps.assign_add(1)
"""


def test_a_rate_that_a_step_function_computes() -> None:
    apply = "optimizer.apply_gradients(zip(gradients, model.trainable_variables))"
    found = values_of(STEPS.format(apply=apply))
    assert found["schedule.has_warmup"] == "yes"
    assert found["schedule.name"] == "cosine"
    assert found["schedule.stepped_per"] == "step"
    assert "schedule.name" not in values_of(STEPS.format(apply="pass"))


def test_a_formula_that_is_not_read_says_nothing_of_a_warmup() -> None:
    found = values_of(LOOP.format(rate="optimizer.lr = rate_of(epoch)"))
    assert "schedule.has_warmup" not in found
