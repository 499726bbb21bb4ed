"""Programs that use Keras: policies, loss scaling, what optimizers do besides stepping."""

from __future__ import annotations

import pytest

from program_facts import facts, lines, values_of

POLICIES = {
    "experimental": """
        policy = tf.keras.mixed_precision.experimental.Policy("mixed_float16")
        tf.keras.mixed_precision.experimental.set_policy(policy)
    """,
    "stable": 'tf.keras.mixed_precision.set_global_policy("mixed_float16")',
    "object": """
        from tensorflow.keras import mixed_precision
        policy = mixed_precision.Policy("mixed_float16")
        mixed_precision.set_global_policy(policy)
    """,
    "keras 3": """
        import keras
        keras.config.set_dtype_policy("mixed_float16")
    """,
}
FIT = """
model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
model.compile(optimizer="adam", loss="mse")
model.fit(x, y)
"""


def program(text: str, rest: str = FIT) -> str:
    import textwrap

    return "import tensorflow as tf\n" + textwrap.dedent(text) + textwrap.dedent(rest)


@pytest.mark.parametrize("name", POLICIES)
def test_policies_of_every_generation(name: str) -> None:
    found = values_of(program(POLICIES[name]))
    assert found["framework"] == "tensorflow"
    assert found["precision.enabled"] == "always"
    assert found["precision.dtypes"] == ("float16",)
    assert found["precision.compute_dtype"] == "float16"
    assert found["precision.mode"] == "mixed"
    assert found["loss_scaling.mode"] == "library"
    assert found["optimizer.name"] == "adam"
    old = name == "experimental"
    assert found["api"] == (("keras_mp_experimental" if old else "keras_mp"),)


def test_a_flag_decides_and_its_default_is_off() -> None:
    text = """
        import argparse
        parser = argparse.ArgumentParser()
        parser.add_argument("--half", action="store_true")
        args = parser.parse_args()
        if args.half:
            tf.keras.mixed_precision.set_global_policy("mixed_float16")
    """
    found = values_of(program(text))
    assert found["precision.enabled"] == "flag"
    assert found["precision.compute_dtype"] == "float32"
    assert found["precision.flag"] == "args.half"


def test_a_function_of_a_library_leaves_it_to_its_caller() -> None:
    text = """
        import tensorflow as tf

        def set_up(use_half):
            if use_half:
                tf.keras.mixed_precision.set_global_policy("mixed_float16")
    """
    found = values_of(text)
    assert found["precision.enabled"] == "caller"
    assert "precision.compute_dtype" not in found


def test_a_policy_of_a_configuration() -> None:
    text = """
        config = load("config.yaml")
        tf.keras.mixed_precision.set_global_policy(config.policy)
        if config.mixed_precision:
            tf.keras.mixed_precision.set_global_policy("mixed_bfloat16")
    """
    found = values_of(program(text))
    assert found["precision.enabled"] == "config"
    assert found["precision.dtypes"] == ("bfloat16",)
    assert "loss_scaling.mode" not in found


def test_the_device_decides_between_two_types() -> None:
    text = """
        name = "mixed_bfloat16" if on_tpu() else "mixed_float16"
        tf.keras.mixed_precision.set_global_policy(name)
    """
    found = values_of(program(text))
    assert set(found["precision.dtypes"]) == {"bfloat16", "float16"}
    assert found["precision.compute_dtype"] == "bf16_or_fp16"


@pytest.mark.parametrize("text", ['set_global_policy("float32")', "global_policy()"])
def test_float32_is_nothing(text: str) -> None:
    found = values_of(program(f"tf.keras.mixed_precision.{text}"))
    assert not [key for key in found if key.startswith(("precision", "loss_scaling"))]


def test_pure_float16_has_no_float32_weights() -> None:
    found = values_of(program('tf.keras.mixed_precision.set_global_policy("float16")'))
    assert found["precision.mode"] == "full"
    assert "loss_scaling.mode" not in found


def test_the_policy_of_single_layers() -> None:
    text = """
        import keras
        layer = keras.layers.Dense(2, dtype="mixed_bfloat16")
        other = keras.layers.Dense(2, dtype="float32")
    """
    assert values_of(text)["precision.dtypes"] == ("bfloat16",)
    assert "precision.dtypes" not in values_of(text.replace("mixed_bfloat16", "float32"))


SCALERS = [
    ("tf.keras.mixed_precision.LossScaleOptimizer(opt)", "framework_default", {}),
    (
        "tf.keras.mixed_precision.LossScaleOptimizer(opt, dynamic=False, initial_scale=128)",
        "static",
        {"loss_scaling.scale": 128},
    ),
    (
        "tf.keras.mixed_precision.LossScaleOptimizer(opt, initial_scale=2**10)",
        "dynamic",
        {"loss_scaling.init_scale": 1024},
    ),
    ("tf.keras.mixed_precision.experimental.LossScaleOptimizer(opt, 'dynamic')", "dynamic", {}),
    (
        "tf.keras.mixed_precision.experimental.LossScaleOptimizer(opt, loss_scale=64)",
        "static",
        {"loss_scaling.scale": 64},
    ),
    (
        "tf.keras.optimizers.LossScaleOptimizer(opt, initial_scale=8, dynamic_growth_steps=50)",
        "dynamic",
        {"loss_scaling.init_scale": 8, "loss_scaling.growth_interval": 50},
    ),
]


@pytest.mark.parametrize(("call", "mode", "rest"), SCALERS)
def test_loss_scale_optimizers(call: str, mode: str, rest: dict[str, float]) -> None:
    found = values_of(program(f"opt = tf.keras.optimizers.SGD(0.1)\nopt = {call}", ""))
    assert found["loss_scaling.mode"] == mode
    assert rest.items() <= found.items()
    assert found["scaler_update.status"] == "library"
    assert found["optimizer.name"] == "sgd"


def test_static_or_dynamic_by_a_condition() -> None:
    text = """
        import tensorflow as tf

        def wrap(optimizer, loss_scale="dynamic"):
            if loss_scale == "dynamic":
                return tf.keras.mixed_precision.LossScaleOptimizer(optimizer)
            return tf.keras.mixed_precision.LossScaleOptimizer(
                optimizer, dynamic=False, initial_scale=loss_scale)
    """
    found = values_of(text)
    modes = {f.value for f in facts(text) if f.field == "loss_scaling.mode"}
    assert modes == {"framework_default", "static"}
    assert found["loss_scaling.mode"] in ("selectable", "static", "framework_default")
    (scale,) = (f for f in facts(text) if f.field == "loss_scaling.scale")
    assert (scale.value, scale.expression) == (None, "loss_scale")  # "dynamic" is not a scale


def test_a_scale_within_the_policy() -> None:
    text = """
        p = tf.keras.mixed_precision.experimental.Policy("mixed_float16", loss_scale=512)
        tf.keras.mixed_precision.experimental.set_policy(p)
    """
    found = values_of(program(text))
    assert found["loss_scaling.mode"] == "static"
    assert found["loss_scaling.scale"] == 512


def test_an_optimizer_that_is_given() -> None:
    text = """
        import tensorflow as tf

        def step(model, optimizer, x):
            with tf.GradientTape() as tape:
                loss = optimizer.get_scaled_loss(model(x))
            grads = optimizer.get_unscaled_gradients(tape.gradient(loss, model.variables))
            optimizer.apply_gradients(zip(grads, model.variables))
    """
    found = values_of(text)
    assert found["api"] == ("keras_mp",)
    assert found["precision.enabled"] == "caller"
    assert found["loss_scaling.mode"] == "caller"


CLIPS = [("global_clipnorm", "global_norm"), ("clipnorm", "per_param_norm"), ("clipvalue", "value")]


@pytest.mark.parametrize(("argument", "kind"), CLIPS)
def test_clips_of_optimizers(argument: str, kind: str) -> None:
    found = values_of(f"import keras\nopt = keras.optimizers.AdamW(1e-4, {argument}=0.5)")
    assert found["clipping.kind"] == kind
    assert found["clipping.value"] == 0.5
    assert found["clipping.per"] == "step"
    assert found["clipping.unscaled_first"] == "library"


def test_accumulation_and_average_of_keras_3() -> None:
    text = "import keras\nopt = keras.optimizers.Lion(1e-4, gradient_accumulation_steps=8, "
    found = values_of(text + "use_ema=True, ema_momentum=0.999)")
    assert found["accumulation.present"] == "yes"
    assert found["accumulation.steps"] == 8
    assert found["accumulation.tail"] == "carried_over"
    assert found["ema.decay"] == 0.999
    assert found["optimizer.name"] == "lion"


@pytest.mark.parametrize(
    "argument",
    ["gradient_accumulation_steps=None", "gradient_accumulation_steps=1", "use_ema=False"],
)
def test_what_is_given_as_nothing_is_nothing(argument: str) -> None:
    found = values_of(f"import keras\nopt = keras.optimizers.SGD(0.1, clipnorm=None, {argument})")
    assert not [key for key in found if key.startswith(("accumulation", "ema", "clip"))]


DECOYS = {
    "comment": '# tf.keras.mixed_precision.set_global_policy("mixed_float16")',
    "text": '"""tf.keras.mixed_precision.set_global_policy(\'mixed_float16\')"""',
    "dead": 'if False:\n    tf.keras.mixed_precision.set_global_policy("mixed_float16")',
    "import": "from tensorflow.keras.mixed_precision import LossScaleOptimizer",
    "weight": "loss_scale = 0.5\nloss = loss_scale * other",
    "other": "class Policy:\n    pass\npolicy = Policy()",
}


@pytest.mark.parametrize("name", DECOYS)
def test_decoys(name: str) -> None:
    found = values_of(program(DECOYS[name]))
    assert not [key for key in found if key.startswith(("precision", "loss_scaling"))]
    assert "api" not in found


def test_places() -> None:
    text = 'import keras\n\nkeras.config.set_dtype_policy("mixed_float16")\n'
    assert lines(text, "precision.enabled") == [3]


def test_a_package_that_hands_keras_on() -> None:
    text = """
        from ourtools import keras
        keras.mixed_precision.set_global_policy("mixed_float16")
        optimizer = keras.optimizers.Adam(1e-3)
    """
    found = values_of(text)
    assert found["precision.dtypes"] == ("float16",)
    assert found["optimizer.learning_rate"] == 1e-3


POLICY = 'tf.keras.mixed_precision.set_global_policy("mixed_float16")'


def compiled_with(optimizer: str, *flags: str) -> str:
    rest = ", ".join(["loss='mse'", *flags])
    return program(POLICY, f"\nopt = {optimizer}\nmodel.compile(opt, {rest})\nmodel.fit(x, y)\n")


def test_a_factor_of_the_optimizer_is_a_fixed_scale_where_compile_adds_none() -> None:
    factor = "tf.keras.optimizers.Adam(1e-3, loss_scale_factor=1024.0)"
    found = values_of(compiled_with(factor, "auto_scale_loss=False"))
    assert (found["loss_scaling.mode"], found["loss_scaling.scale"]) == ("static", 1024.0)
    assert "scaler_update.status" not in found


def test_without_a_factor_nothing_scales() -> None:
    found = values_of(compiled_with("tf.keras.optimizers.Adam(1e-3)", "auto_scale_loss=False"))
    assert found["loss_scaling.mode"] == "none"
    assert "loss_scaling.scale" not in found


@pytest.mark.parametrize("flag", ["", "auto_scale_loss=True", "auto_scale_loss=scaled"])
def test_compile_scales_unless_it_is_told_not_to(flag: str) -> None:
    found = values_of(compiled_with("tf.keras.optimizers.Adam(1e-3)", *([flag] if flag else [])))
    assert found["loss_scaling.mode"] == "library"


def test_of_two_models_one_of_which_is_scaled_nothing_fixed_is_said() -> None:
    text = compiled_with("tf.keras.optimizers.Adam(1e-3)", "auto_scale_loss=False")
    found = values_of(text + "other.compile('adam', loss='mse')\nother.fit(x, y)\n")
    assert found["loss_scaling.mode"] == "library"


LOOP = """
opt = {made}
for x, y in data:
    with tf.GradientTape() as tape:
        loss = opt.scale_loss(loss_fn(y, model(x)))
    grads = tape.gradient(loss, model.trainable_variables)
    opt.apply_gradients(zip(grads, model.trainable_variables))
"""


def test_a_loop_that_scales_by_the_factor_of_its_optimizer() -> None:
    made = "tf.keras.optimizers.SGD(0.1, loss_scale_factor=128.0)"
    found = values_of(program(POLICY, LOOP.format(made=made)))
    assert (found["loss_scaling.mode"], found["loss_scaling.scale"]) == ("static", 128.0)


def test_the_factor_of_a_wrapped_optimizer_is_not_the_scale() -> None:
    inner = "tf.keras.optimizers.SGD(0.1, loss_scale_factor=128.0)"
    made = f"tf.keras.mixed_precision.LossScaleOptimizer({inner})"
    found = values_of(program(POLICY, LOOP.format(made=made)))
    assert found["loss_scaling.mode"] == "framework_default"
    assert "loss_scaling.scale" not in found


CHOSEN = """
import tensorflow as tf
from tensorflow.keras import mixed_precision

def train(model, rows, half=False):
    if half:
        name = "mixed_float16"
    else:
        name = "float32"
    mixed_precision.set_global_policy(mixed_precision.Policy(name))
    model.compile(tf.keras.optimizers.Adam(1e-3), loss="mse")
    model.fit(rows)

{call}
"""


@pytest.mark.parametrize(
    ("call", "enabled"),
    [
        ("train(model, rows)", "never"),
        ("train(model, rows, half=True)", "always"),
        ("train(model, rows, half=args.half)", "flag"),
        ("", "caller"),
    ],
)
def test_the_name_of_a_policy_under_a_condition(call: str, enabled: str) -> None:
    found = values_of(CHOSEN.format(call=call))
    assert found["precision.enabled"] == enabled
    assert ("loss_scaling.mode" in found) is (enabled != "never")
