"""CM203: the graph rewrite by call, by environment variable and by option."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_migrate.in_place import migrate_in_place
from crosscast_migrate.registry import all_codemods
from unit.migrate.keras_migrations import after, migrated, refused, untouched

MODEL = """\
model = tf.keras.Sequential(
    [tf.keras.layers.Dense(64), tf.keras.layers.Dense(2, dtype="float32")]
)
"""
COMPILED = f"""\
{MODEL}model.compile(tf.keras.optimizers.Adam(1e-3), loss="mse")
model.fit(inputs, targets)
"""
SET = 'tf.keras.mixed_precision.set_global_policy("mixed_float16")\n'
ON = 'os.environ["TF_ENABLE_AUTO_MIXED_PRECISION"] = "1"\n'
HEAD = "import os\n\nimport tensorflow as tf\n\n"
OPTION = 'tf.config.optimizer.set_experimental_options({"auto_mixed_precision": True})\n'
REWRITE = "tf.train.experimental.enable_mixed_precision_graph_rewrite"
RUN = "#!/bin/bash\n{}python train.py --epochs 3\n"


@pytest.mark.parametrize(
    "on",
    [
        ON,
        ON.replace("PRECISION", "PRECISION_GRAPH_REWRITE"),
        'os.environ.setdefault("TF_ENABLE_AUTO_MIXED_PRECISION", "1")\n',
        ON + ON.replace("PRECISION", "PRECISION_LOSS_SCALING"),
        OPTION,
    ],
)
def test_switched_on_in_the_program(on: str) -> None:
    assert after(HEAD + on + COMPILED, "CM203") == HEAD + SET + COMPILED


def test_the_note_tells_that_the_scale_has_no_minimum() -> None:
    text = f"{HEAD}{MODEL}model.compile({REWRITE}(tf.keras.optimizers.Adam(1e-3)), loss='mse')\n"
    assert "no minimum (the rewrite: 1)" in migrated(text, "CM203").changes[0].hint


def test_before_the_imports() -> None:
    text = f"import os\n\n{ON}import tensorflow as tf\n\n{COMPILED}"
    assert after(text, "CM203") == f"import os\n\nimport tensorflow as tf\n\n{SET}{COMPILED}"


def test_other_options_stay() -> None:
    option = OPTION.replace("{", '{"layout_optimizer": False, ')
    new = after(HEAD + option + COMPILED, "CM203")
    assert "set_experimental_options({'layout_optimizer': False})" in new
    assert SET in new


MAIN = """\
import os

import tensorflow as tf


def build(units):
    return tf.keras.Sequential([tf.keras.layers.Dense(units)])


def main(args):
    print("training", args.lr)
{on}    model = build(3)
    model.compile(tf.keras.optimizers.Adam(args.lr), loss="mse")
    model.fit(inputs, targets)


if __name__ == "__main__":
    main(parse_args())
"""


def test_in_a_function_with_a_condition() -> None:
    on = f"    if args.amp:  # half\n        {ON}"
    found = migrated(MAIN.format(on=on), "CM203").texts["train.py"]
    assert f"    if args.amp:\n        {SET}    model = build(3)\n" in found
    assert "TF_ENABLE" not in found
    assert "# half" in found


def test_on_and_off() -> None:
    off = ON.replace('"1"', '"0"')
    on = f"    if args.amp:\n        {ON}    else:\n        {off}"
    found = after(MAIN.format(on=on), "CM203")
    assert found == MAIN.format(on=f"    if args.amp:\n        {SET}")
    on = ON.replace('"1"', '"1" if args.amp else "0"')
    assert after(MAIN.format(on=f"    {on}"), "CM203") == found


def test_set_in_a_helper() -> None:
    text = MAIN.format(on="    fast()\n").replace(
        "def main", f"def fast():\n    {ON}    print('fast')\n\n\ndef main"
    )
    found = after(text, "CM203")
    assert f'def main(args):\n    {SET}    print("training"' in found
    assert "def fast():\n    print('fast')\n" in found


def test_a_rewrite_in_a_function() -> None:
    text = MAIN.format(on="").replace(
        "    model.compile(tf.keras.optimizers.Adam(args.lr)",
        "    opt = tf.keras.optimizers.Adam(args.lr)\n"
        f"    if args.amp:\n        opt = {REWRITE}(opt)\n"
        "    model.compile(opt",
    )
    found = after(text, "CM203")
    assert f"    if args.amp:\n        {SET}    model = build(3)\n" in found
    assert REWRITE not in found
    assert found.count("if args.amp") == 1


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ("", ""),
        (", 'dynamic'", ""),
        (", loss_scale='dynamic'", ""),
        (", 128", "loss_scale_factor=128.0"),
        (", loss_scale=tf.mixed_precision.experimental.FixedLossScale(64.0)", "=64.0"),
        (
            ", tf.mixed_precision.experimental.DynamicLossScale(1024.0, 500)",
            "LossScaleOptimizer(opt, initial_scale=1024.0, dynamic_growth_steps=500)",
        ),
    ],
)
def test_the_scale_of_the_rewrite(given: str, made: str) -> None:
    text = HEAD + MODEL
    text += f"opt = tf.keras.optimizers.Adam(1e-3)\nopt = {REWRITE}(opt{given})\n"
    text += "model.compile(opt, loss='mse')\nmodel.fit(inputs, targets)\n"
    found = after(text, "CM203")
    assert found.startswith(HEAD + SET + MODEL)
    assert made in found
    assert ("auto_scale_loss=False" in found) == ("factor" in found)


def test_a_rewrite_within_compile() -> None:
    text = f"{HEAD}{MODEL}model.compile({REWRITE}(tf.keras.optimizers.Adam(1e-3)), loss='mse')\n"
    found = after(text, "CM203")
    assert "model.compile(tf.keras.optimizers.Adam(1e-3), loss='mse')" in found


def test_a_loop_that_scales_becomes_one_of_keras_3() -> None:
    text = (
        f"{HEAD}{MODEL}opt = {REWRITE}(tf.keras.optimizers.SGD(0.1))\n"
        "for x, y in data:\n"
        "    with tf.GradientTape() as tape:\n"
        "        loss = opt.get_scaled_loss(f(model(x), y))\n"
        "    grads = tape.gradient(loss, model.trainable_variables)\n"
        "    grads = opt.get_unscaled_gradients(grads)\n"
        "    opt.apply_gradients(zip(grads, model.trainable_variables))\n"
    )
    found = after(text)
    assert "LossScaleOptimizer(tf.keras.optimizers.SGD(0.1))" in found
    assert "opt.scale_loss(" in found
    assert SET in found


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            f"opt = tf.compat.v1.train.AdamOptimizer()\nopt = {REWRITE}(opt)\n",
            "opt is a tensorflow.train.AdamOptimizer: neither",
        ),
        (f"opt = {REWRITE}(make())\n{COMPILED}", "not certainly an optimizer of Keras"),
        (
            f"opt = {REWRITE}(tf.keras.optimizers.SGD(), scale)\n{COMPILED}",
            "the loss scale of the graph rewrite",
        ),
        (f"opt = {REWRITE}(tf.keras.optimizers.SGD())\n", "how the model is trained"),
        (
            f"opt = {REWRITE}(tf.keras.optimizers.SGD())\n{MODEL}with tf.GradientTape() as t:\n"
            "    loss = f(model(x))\n",
            "does not scale its loss",
        ),
        (
            f"{ON}{COMPILED}s = tf.distribute.experimental.ParameterServerStrategy()\n",
            "uses ParameterServerStrategy",
        ),
        (f"{ON}{SET}{COMPILED}", "in addition to the graph rewrite"),
        (f"{ON}model.compile('adam', loss='mse')\n", "where the model is built"),
        (f"{ON}{COMPILED}print(os.environ['TF_ENABLE_AUTO_MIXED_PRECISION'])\n", "also used"),
        (f"for x in y:\n    {ON}{COMPILED}", "cannot be moved"),
        (ON.replace('"1"', "str(amp)") + COMPILED, "becomes str(amp)"),
        (f"{COMPILED}if late():\n    {ON}", "cannot be moved"),
        (f"{MODEL}amp = tell(model)\nif amp:\n    {ON}{COMPILED}", "no certain location"),
        (OPTION.replace("True", "use(1)") + COMPILED, "not certain"),
        (
            "options = {'auto_mixed_precision': True}\n"
            f"tf.config.optimizer.set_experimental_options(options)\n{COMPILED}",
            "not certain",
        ),
        (
            "config = tf.compat.v1.ConfigProto()\n"
            "config.graph_options.rewrite_options.auto_mixed_precision = 1\n",
            "graphs of TensorFlow 1",
        ),
        (
            "options = rewriter_config_pb2.RewriterConfig(auto_mixed_precision=1)\n",
            "graphs of TensorFlow 1",
        ),
        (
            f"{ON}{COMPILED}with tf.compat.v1.Session() as session:\n    pass\n",
            "tensorflow.Session",
        ),
    ],
)
def test_refusals(text: str, why: str) -> None:
    assert why in refused(HEAD + text, "CM203")


@pytest.mark.parametrize(
    "text",
    [
        f"opt = {REWRITE}(tf.train.MomentumOptimizer(0.1, 0.9))\n",
        f"{ON}train = tf.train.AdamOptimizer().minimize(loss)\nwith tf.Session() as s:\n    pass\n",
    ],
)
def test_graphs_of_tensorflow_1_say_what_to_decide(text: str) -> None:
    [refusal] = migrated(HEAD + text, "CM203").refusals
    assert "tf.compat.v1.mixed_precision.enable_mixed_precision_graph_rewrite" in refusal.hint
    assert "before it is built" in refusal.hint


def test_imports_below_the_model() -> None:
    text = HEAD + COMPILED.replace("model.compile", "import json\nmodel.compile") + ON
    found = after(text, "CM203")
    assert found.startswith(HEAD + SET + MODEL)


@pytest.mark.parametrize(
    "text",
    [
        f"import os\n\n{ON}def f():\n    pass\n\n\nimport tensorflow as tf\n{COMPILED}",
        HEAD + "args = parse()\n" + MODEL + "args.amp = args.amp and fast()\n"
        f"if args.amp:\n    {ON}model.compile('adam', loss='mse')\n",
        f"try:\n    import tensorflow as tf\nexcept ImportError:\n    tf = None\nimport os\n{ON}"
        + COMPILED,
    ],
)
def test_no_certain_place(text: str) -> None:
    assert refused(text, "CM203")


def test_a_model_of_transformers_comes_after_the_policy() -> None:
    text = HEAD + (
        "from transformers import TFBertModel\n\namp = os.path.exists('amp')\n"
        "bert = TFBertModel.from_pretrained('bert')\n"
        f"if amp:\n    {ON}{COMPILED}"
    )
    assert f"if amp:\n    {SET}bert = " in after(text, "CM203")


def test_a_model_that_another_function_is_given() -> None:
    text = (
        MAIN.format(on="")
        .replace("    model.fit", "    speed(model)\n    model.fit")
        .replace("def main", f"def speed(model):\n    if model.big:\n        {ON}\n\ndef main")
    )
    assert refused(text, "CM203")


@pytest.mark.parametrize(
    "text",
    [
        "",
        SET + COMPILED,
        ON.replace('"1"', '"0"') + COMPILED,
        OPTION.replace("True", "False") + COMPILED,
        OPTION.replace("auto_mixed_precision", "layout_optimizer") + COMPILED,
        f"# {ON}{COMPILED}",
        f"NOTE = '''{ON}'''\n{COMPILED}",
        f"if False:\n    {ON}{COMPILED}",
        "os.environ['TF_FORCE_GPU_ALLOW_GROWTH'] = 'true'\n" + COMPILED,
        "from ours import enable_mixed_precision_graph_rewrite as f\n" + COMPILED,
        "print('auto_mixed_precision')\n" + COMPILED,
    ],
)
def test_what_must_stay(text: str) -> None:
    assert untouched(HEAD + text, "CM203")


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ("export TF_ENABLE_AUTO_MIXED_PRECISION=1\n", ""),
        ("export TF_ENABLE_AUTO_MIXED_PRECISION=1  # tensor cores\n", "# tensor cores\n"),
        ("TF_ENABLE_AUTO_MIXED_PRECISION=1 ", ""),
    ],
)
def test_a_launch_script(line: str, left: str) -> None:
    found = migrated(HEAD + COMPILED, "CM203", run_sh=RUN.format(line))
    assert not found.refusals
    assert found.texts == {"train.py": HEAD + SET + COMPILED, "run.sh": RUN.format(left)}


@pytest.mark.parametrize(
    "script",
    [
        RUN.format("") + "TF_ENABLE_AUTO_MIXED_PRECISION=1 python train.py\n",
        RUN.format("export TF_ENABLE_AUTO_MIXED_PRECISION=1 A=2\n"),
        RUN.format("A=3; export TF_ENABLE_AUTO_MIXED_PRECISION=1\n"),
    ],
)
def test_launch_scripts_that_stay(script: str) -> None:
    refused(HEAD + COMPILED, "CM203", run_sh=script)


def test_a_launch_script_alone() -> None:
    script = RUN.format("export TF_ENABLE_AUTO_MIXED_PRECISION=1\n")
    found = migrate_in_place([Source("run.sh", script)], [all_codemods()["CM203"]])
    assert not found.texts
    assert "not among the given files" in found.refusals[0].message


def test_a_launch_script_that_switches_it_off() -> None:
    script = RUN.format("export TF_ENABLE_AUTO_MIXED_PRECISION=0\n")
    found = migrated(HEAD + COMPILED, "CM203", run_sh=script)
    assert not found.texts
    assert not found.refusals
