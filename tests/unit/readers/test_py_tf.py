"""TensorFlow programs: the graph rewrite, optimizers, schedules, sums of gradients, strategies."""

from __future__ import annotations

from typing import Any

import pytest

from program_facts import facts, values_of

REWRITES = {
    "by call": (
        "opt = tf.train.experimental.enable_mixed_precision_graph_rewrite(opt)",
        "tf_graph_rewrite",
    ),
    "by call of v1": (
        "opt = tf.compat.v1.mixed_precision.enable_mixed_precision_graph_rewrite(opt)",
        "tf_graph_rewrite",
    ),
    "by configuration": (
        "config = tf.ConfigProto()\nconfig.graph_options.rewrite_options.auto_mixed_precision = 1",
        "tf_rewriter_config",
    ),
    "by rewriter": (
        "from tensorflow.core.protobuf import rewriter_config_pb2\n"
        "o = rewriter_config_pb2.RewriterConfig(auto_mixed_precision=True)",
        "tf_rewriter_config",
    ),
    "by options": (
        'tf.config.optimizer.set_experimental_options({"auto_mixed_precision": True})',
        "tf_config_automp",
    ),
    "by environment": (
        'import os\nos.environ["TF_ENABLE_AUTO_MIXED_PRECISION"] = "1"',
        "tf_env_amp",
    ),
    "by putenv": (
        'import os\nos.putenv("TF_ENABLE_AUTO_MIXED_PRECISION", "1")',
        "tf_env_amp",
    ),
}
HEAD = "import tensorflow as tf\nopt = tf.train.AdamOptimizer(1e-3)\n"


@pytest.mark.parametrize("name", REWRITES)
def test_every_way_to_ask_for_the_rewrite(name: str) -> None:
    text, api = REWRITES[name]
    found = values_of(HEAD + text)
    assert found["api"] == (api,)
    assert found["precision.dtypes"] == ("float16",)
    assert found["precision.enabled"] == "always"
    assert found["precision.compute_dtype"] == "float16"


def test_what_scales_the_loss_then() -> None:
    by_call = values_of(HEAD + REWRITES["by call"][0])
    assert by_call["loss_scaling.mode"] == "framework_default"
    by_environment = values_of(HEAD + REWRITES["by environment"][0])
    assert by_environment["loss_scaling.mode"] == "env_default"
    assert "loss_scaling.mode" not in values_of(HEAD + REWRITES["by rewriter"][0])


OFF = [
    'tf.config.optimizer.set_experimental_options({"auto_mixed_precision": False})',
    'import os\nos.environ["TF_ENABLE_AUTO_MIXED_PRECISION"] = "0"',
    'import os\non = os.environ["TF_ENABLE_AUTO_MIXED_PRECISION"] == "1"',
    '# os.environ["TF_ENABLE_AUTO_MIXED_PRECISION"] = "1"',
    'tf.config.optimizer.set_experimental_options({"layout_optimizer": True})',
    'if False:\n    import os\n    os.environ["TF_ENABLE_AUTO_MIXED_PRECISION"] = "1"',
]


@pytest.mark.parametrize("text", OFF)
def test_off_reading_and_comments_are_no_request(text: str) -> None:
    found = values_of(HEAD + text)
    assert not [key for key in found if key.startswith(("precision", "loss_scaling", "api"))]


def test_bfloat16_on_processors() -> None:
    option = '{"auto_mixed_precision_onednn_bfloat16": True}'
    found = values_of(f"{HEAD}tf.config.optimizer.set_experimental_options({option})")
    assert found["precision.dtypes"] == ("bfloat16",)


def test_a_flag_behind_the_rewrite() -> None:
    text = """
        import argparse, os
        import tensorflow as tf
        parser = argparse.ArgumentParser()
        parser.add_argument("--amp", action="store_true")

        def main(args):
            if args.amp:
                os.environ["TF_ENABLE_AUTO_MIXED_PRECISION"] = "1"
            tf.train.AdamOptimizer(1e-3).minimize(loss)

        main(parser.parse_args())
    """
    found = values_of(text)
    assert found["precision.enabled"] == "flag"
    assert found["precision.compute_dtype"] == "float32"


WRAPPERS = [
    ("opt, loss_scale='dynamic'", {"loss_scaling.mode": "dynamic"}),
    ("opt, loss_scale=128", {"loss_scaling.mode": "static", "loss_scaling.scale": 128}),
    (
        "opt, tf.train.experimental.DynamicLossScale(initial_loss_scale=64, increment_period=9)",
        {
            "loss_scaling.mode": "dynamic",
            "loss_scaling.init_scale": 64,
            "loss_scaling.growth_interval": 9,
        },
    ),
    (
        "opt, tf.train.experimental.FixedLossScale(32)",
        {"loss_scaling.mode": "static", "loss_scaling.scale": 32},
    ),
]


@pytest.mark.parametrize(("arguments", "expected"), WRAPPERS)
def test_loss_scales_of_wrappers(arguments: str, expected: dict[str, Any]) -> None:
    name = "tf.compat.v1.train.experimental.MixedPrecisionLossScaleOptimizer"
    assert expected.items() <= values_of(f"{HEAD}opt = {name}({arguments})").items()


def test_managers_of_contrib() -> None:
    text = HEAD + (
        "m = tf.contrib.mixed_precision.ExponentialUpdateLossScaleManager(\n"
        "    init_loss_scale=2**15, incr_every_n_steps=500, decr_every_n_nan_or_inf=3)\n"
        "opt = tf.contrib.mixed_precision.LossScaleOptimizer(opt, m)\n"
    )
    found = values_of(text)
    assert found["api"] == ("tf_contrib_mp",)
    assert found["loss_scaling.init_scale"] == 2**15
    assert found["loss_scaling.hysteresis"] == 3


OPTIMIZERS = [
    ("tf.train.MomentumOptimizer(0.1, 0.9)", "sgd", {"optimizer.momentum": 0.9}),
    ("tf.train.RMSPropOptimizer(learning_rate=0.1)", "rmsprop", {"optimizer.learning_rate": 0.1}),
    ("tf.keras.optimizers.legacy.Adam(0.1, beta_2=0.98)", "adam", {"optimizer.betas.1": 0.98}),
    (
        "tf.keras.optimizers.AdamW(0.1, weight_decay=0.02)",
        "adamw",
        {"optimizer.weight_decay": 0.02},
    ),
    (
        "tf.keras.optimizers.experimental.SGD(0.1, nesterov=True)",
        "sgd",
        {"optimizer.nesterov": "yes"},
    ),
    ("tfa.optimizers.LAMB(0.1, epsilon=1e-6)", "lamb", {"optimizer.eps": 1e-6}),
    ("tfa.optimizers.LazyAdam(0.1)", "adam", {"optimizer.learning_rate": 0.1}),
    ("tf.train.FtrlOptimizer(learning_rate=0.1)", "ftrl", {"optimizer.learning_rate": 0.1}),
    ("AdamWeightDecayOptimizer(learning_rate=0.1)", "adamw", {"optimizer.learning_rate": 0.1}),
]


@pytest.mark.parametrize(("call", "family", "rest"), OPTIMIZERS)
def test_optimizers_of_all_generations(call: str, family: str, rest: dict[str, Any]) -> None:
    text = (
        "import tensorflow as tf\nimport tensorflow_addons as tfa\n"
        f"from ours import AdamWeightDecayOptimizer\nopt = {call}\nopt.minimize(loss)"
    )
    found = values_of(text)
    assert found["optimizer.name"] == family
    assert rest.items() <= found.items()


def test_every_family_is_an_optimizer_with_its_condition() -> None:
    text = """
        import tensorflow as tf
        if name == "adam":
            opt = tf.train.AdamOptimizer(0.1)
        elif name == "sgd":
            opt = tf.train.GradientDescentOptimizer(0.1)
    """
    found = values_of(text)
    assert found["optimizer.name/opt (AdamOptimizer)"] == "adam"
    assert found["optimizer.name/opt (GradientDescentOptimizer)"] == "sgd"
    more = text.rstrip() + "\n        else:\n            opt = tf.train.AdagradOptimizer(0.1)\n"
    every = values_of(more)
    assert every["optimizer.name/opt (AdamOptimizer)"] == "adam"
    assert every["optimizer.name/opt (AdagradOptimizer)"] == "adagrad"


def test_one_optimizer_in_two_branches() -> None:
    text = """
        import tensorflow as tf
        if warm:
            opt = tf.train.AdamOptimizer(0.1)
        else:
            opt = tf.train.AdamOptimizer(0.2)
    """
    families = [f for f in facts(text) if f.field == "optimizer.name"]
    assert {f.subject for f in families} == {""}


SCHEDULES = [
    ("tf.keras.optimizers.schedules.CosineDecay(1e-3, 100)", "cosine", "no"),
    ("tf.keras.optimizers.schedules.PolynomialDecay(1e-3, 100, 0.0)", "linear", "no"),
    (
        "tf.keras.optimizers.schedules.PolynomialDecay(1e-3, 100, 0.0, power=2.0)",
        "polynomial",
        "no",
    ),
    ("tf.keras.optimizers.schedules.PiecewiseConstantDecay([1], [1e-3, 1e-4])", "multistep", "no"),
    (
        "tf.keras.optimizers.schedules.CosineDecay(0.0, 90, warmup_target=1e-3, warmup_steps=10)",
        "cosine",
        "yes",
    ),
    ("tf.train.exponential_decay(1e-3, step, 100, 0.5)", "exponential", "no"),
    ("ours.CyclicalLearningRate(1e-4, 1e-3, step_size=100)", "custom", "no"),
    ("ours.schedules.NoamDecay(scale=2.0, model_dim=512, warmup_steps=8000)", "noam", "yes"),
    ("ours.PiecewiseConstantDecayWithWarmup(boundaries=[1], values=[1])", "step_custom", "yes"),
]


@pytest.mark.parametrize(("rate", "decay", "warm"), SCHEDULES)
def test_schedules(rate: str, decay: str, warm: str) -> None:
    text = (
        f"import tensorflow as tf\nimport ours\nrate = {rate}\nopt = tf.keras.optimizers.Adam(rate)"
    )
    found = values_of(text)
    assert found["schedule.name"] == decay
    assert found["schedule.has_warmup"] == warm
    assert found["schedule.stepped_per"] == "step"


def test_the_highest_rate_is_that_of_the_schedule() -> None:
    text = """
        import tensorflow as tf
        rate = tf.keras.optimizers.schedules.CosineDecay(3e-4, 100)
        opt = tf.keras.optimizers.Adam(rate)
    """
    assert values_of(text)["optimizer.learning_rate"] == 3e-4


def test_a_warm_up_written_out_in_a_graph() -> None:
    text = """
        import tensorflow as tf

        def optimizer(init_lr, total, num_warmup_steps):
            step = tf.train.get_or_create_global_step()
            rate = tf.constant(value=init_lr, dtype=tf.float32)
            rate = tf.train.polynomial_decay(rate, step, total, end_learning_rate=0.0, power=1.0)
            warm = tf.cast(step, tf.float32) / num_warmup_steps
            early = tf.cast(step < num_warmup_steps, tf.float32)
            rate = (1.0 - early) * rate + early * init_lr * warm
            return tf.train.AdamOptimizer(learning_rate=rate)

        optimizer(2e-5, 1000, 100)
    """
    found = values_of(text)
    assert found["schedule.name"] == "linear"
    assert found["schedule.has_warmup"] == "yes"
    assert found["schedule.warmup"] == "num_warmup_steps"
    assert found["optimizer.learning_rate"] == 2e-5
    text = text.replace("power=1.0", "power=power").replace("total, num", "total, power, num")
    assert values_of(text.replace("1000, 100", "1000, 1.0, 100"))["schedule.name"] == "linear"
    chosen = text.replace("power, num_warmup_steps", "num_warmup_steps, power=1.0")
    assert values_of(chosen)["schedule.name"] == "polynomial"


def test_no_schedule() -> None:
    text = "import tensorflow as tf\nopt = tf.keras.optimizers.Adam(1e-3)\nema_decay = 0.9"
    assert not [key for key in values_of(text) if key.startswith("schedule")]


def test_rates_set_by_a_callback() -> None:
    text = """
        import tensorflow as tf

        class Rate(tf.keras.callbacks.Callback):
            def on_train_batch_begin(self, batch, logs=None):
                tf.keras.backend.set_value(self.model.optimizer.lr, 0.1)

        model.compile(optimizer=tf.keras.optimizers.SGD(momentum=0.9), loss="mse")
        model.fit(x, callbacks=[Rate()])
    """
    found = values_of(text)
    assert found["schedule.name"] == "custom"
    assert found["schedule.stepped_per"] == "step"


ACCUMULATION = """
    import tensorflow as tf
    N = 4
    opt = tf.train.AdamOptimizer(1e-3)
    pairs = opt.compute_gradients(loss / accumulation_steps)
    grads, variables = zip(*pairs)
    sums = [tf.Variable(tf.zeros_like(v)) for v in variables]
    accum_vars = sums
    add = [accum_vars[i].assign_add(g) for i, g in enumerate(grads)]
    reset = [one.assign(tf.zeros_like(one)) for one in accum_vars]
    accumulation_steps = N
"""


def test_sums_of_gradients_in_a_graph() -> None:
    found = values_of(ACCUMULATION)
    assert found["accumulation.present"] == "yes"
    assert found["accumulation.loss_divided"] == "yes"
    assert found["zero_grad.where"] == "after_step"


def test_sums_of_metrics_are_none() -> None:
    text = """
        import tensorflow as tf
        total_loss.assign_add(loss)
        accumulated_accuracy.assign_add(accuracy)
        opt = tf.train.AdamOptimizer(1e-3)
    """
    assert "accumulation.present" not in values_of(text)


@pytest.mark.parametrize(
    ("wrapped", "word"),
    [("opt = hvd.DistributedOptimizer(opt)", "no"), ("hvd.allreduce(g)", "yes")],
)
def test_when_horovod_reduces(wrapped: str, word: str) -> None:
    text = ACCUMULATION + f"    import horovod.tensorflow as hvd\n    {wrapped}\n"
    assert values_of(text)["accumulation.no_sync"] == word


KINDS = [
    ("strategy = tf.distribute.MirroredStrategy()", ("mirrored",)),
    ("strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy()", ("multiworker",)),
    ("opt = tf.tpu.CrossShardOptimizer(opt)", ("tpu",)),
    ("import horovod.tensorflow as hvd\nhvd.init()", ("horovod",)),
    ("grads = average_gradients(tower_grads)", ("towers",)),
    (
        "s = tf.distribute.MirroredStrategy() if gpu else tf.distribute.TPUStrategy(r)",
        ("strategy_by_flag",),
    ),
]


@pytest.mark.parametrize(("text", "kind"), KINDS)
def test_how_work_is_spread(text: str, kind: tuple[str, ...]) -> None:
    assert values_of(f"{HEAD}{text}\nopt.minimize(loss)")["parallel.kind"] == kind


def test_strategies_that_nothing_trains_with() -> None:
    text = "import tensorflow as tf\n\ndef get():\n    return tf.distribute.MirroredStrategy()\n"
    assert "parallel.kind" not in values_of(text)


def test_clips_of_gradients_and_of_pictures() -> None:
    assert (
        values_of(HEAD + "grads, _ = tf.clip_by_global_norm(grads, 0.5)\nopt.apply(grads)")[
            "clipping.value"
        ]
        == 0.5
    )
    both = "g = [tf.clip_by_value(g, -1.0, 1.0) for g, _ in grads]\nopt.apply(g)"
    assert values_of(HEAD + both)["clipping.kind"] == "value"
    assert "clipping.kind" not in values_of(
        HEAD + "image = tf.clip_by_value(image, 0.0, 1.0)\nshow(image)"
    )


def test_clipped_and_thrown_away() -> None:
    text = "def f():\n    g, _ = tf.clip_by_global_norm(grads, 0.5)\n    return opt.minimize(loss)"
    assert values_of(HEAD + text)["clipping.kind"] == "none"


def test_helpers_of_other_files() -> None:
    text = """
        import tensorflow as tf
        from official.modeling import performance
        from official.utils.flags import core as flags_core

        def make(flags_obj, optimizer):
            return performance.configure_optimizer(
                optimizer,
                use_float16=flags_obj.dtype == "fp16",
                use_graph_rewrite=False,
                loss_scale=flags_core.get_loss_scale(flags_obj, default_for_fp16=128))
    """
    found = values_of(text)
    assert found["precision.enabled"] == "flag"
    assert found["loss_scaling.mode"] == "static"
    assert found["loss_scaling.scale"] == 128


def test_recomputed_activations() -> None:
    text = "block = tf.recompute_grad(block)"
    assert values_of(HEAD + text)["activation_checkpointing"] == "yes"
    guarded = "if flags.use_recompute:\n    block = tf.recompute_grad(block)"
    assert values_of(HEAD + guarded)["activation_checkpointing"] == "flag"
