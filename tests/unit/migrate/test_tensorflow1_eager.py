"""CM404: eager programs of TensorFlow 1, and programs of several modules."""

from __future__ import annotations

import pytest

from unit.migrate.migrating import changed, migrate, refused

EAGER = "import tensorflow as tf\n\ntf.enable_eager_execution()\n"
MODEL = (
    "import tensorflow as tf\n\n\ndef build():\n"
    "    model = tf.keras.Sequential([tf.keras.layers.Dense(2)])\n"
    '    model.compile("sgd", "mse")\n    return model\n'
)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "device = '/cpu:0' if tfe.num_gpus() == 0 else '/gpu:0'\n",
            "device = '/cpu:0' if len(tf.config.list_physical_devices(\"GPU\")) == 0 else "
            "'/gpu:0'\n",
        ),
        ("rate = tfe.Variable(20.0, name='rate')\n", "rate = tf.Variable(20.0, name='rate')\n"),
        (
            "mean = tfe.metrics.Mean()\nmean(loss)\nprint(mean.result())\n",
            "mean = tf.keras.metrics.Mean(dtype=tf.float64)\nmean(loss)\nprint(mean.result())\n",
        ),
        (
            "right = tfe.metrics.Accuracy('right')\nright(labels, found)\n",
            "right = tf.keras.metrics.Accuracy('right', dtype=tf.float64)\nright(labels, found)\n",
        ),
        ("saved = tfe.Checkpoint(model=model)\n", "saved = tf.train.Checkpoint(model=model)\n"),
        ("with tfe.GradientTape() as tape: pass\n", "with tf.GradientTape() as tape: pass\n"),
        ("model._set_inputs(rows)\n", "model(rows)\n"),
    ],
)
@pytest.mark.parametrize(
    "statement",
    [
        "import tensorflow.contrib.eager as tfe\n",
        "from tensorflow.contrib.eager.python import tfe\n",
        "tfe = tf.contrib.eager\n",
    ],
)
def test_a_form_of_an_eager_program(statement: str, before: str, after: str) -> None:
    if statement.startswith("tfe ="):
        before, statement = before.replace("tfe.", "tf.contrib.eager."), ""
    text = EAGER.replace("tf\n", f"tf\n{statement}", 1) + before
    assert changed("CM404", text) == f"import tensorflow as tf\n\n{after}"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("saver = tf.contrib.eager.Saver(model.variables)", "tf.contrib.eager.Saver is gone"),
        ("grads = tf.contrib.eager.implicit_gradients(loss)", "implicit_gradients is gone"),
        ("print(tf.contrib.eager.metrics.Mean()(loss))", "metrics.Mean is gone"),
        ("mean = tf.contrib.eager.metrics.Mean()\nprint(mean(loss))", "metrics.Mean is gone"),
        ("mean = tf.contrib.eager.metrics.Mean()\nkeep(mean)", "metrics.Mean is gone"),
        ("mean = tf.contrib.eager.metrics.Mean()\nmean.variables", "metrics.Mean is gone"),
        ("mean = tf.contrib.eager.metrics.Mean()\nmean(x, weights=w)", "metrics.Mean is gone"),
        ("count = tf.contrib.eager.num_gpus", "num_gpus is gone"),
        ("found = model._set_inputs(rows)", "no _set_inputs"),
        ("tf.Session()", "tf.Session belongs to graphs"),
    ],
)
def test_what_is_not_certain_is_refused(line: str, words: str) -> None:
    if line == "tf.Session()":
        line = "with tf.Session() as session: pass"
    assert words in refused("CM404", f"{EAGER}{line}\n")


def test_a_main_module_without_words_of_training() -> None:
    train = "import tensorflow as tf\nimport model\n\ntf.set_random_seed(1)\n"
    train += "rows = {'x': tf.FixedLenFeature([], tf.string)}\nmodel.build().fit(rows)\n"
    after = changed("CM404", train, model=MODEL)
    assert "tf.keras.utils.set_random_seed(1)\n" in after
    assert "tf.io.FixedLenFeature([]" in after


def test_each_program_is_changed_as_a_whole_or_not_at_all() -> None:
    good = "import tensorflow as tf\nimport model\n\ntf.logging.info('good')\nmodel.build()\n"
    bad = good.replace("good", "bad") + "with tf.Session() as session: pass\n"
    shared = MODEL.replace("    model =", "    tf.logging.info('model')\n    model =", 1)
    found = migrate("CM404", good, bad=bad, model=shared)
    assert sorted(found.texts) == ["model.py", "train.py"]
    assert ["tf.Session" in refusal.message for refusal in found.refusals] == [True]
    assert found.refusals[0].file == "bad.py"


def test_a_script_that_trains_nothing_and_runs_sessions_stays() -> None:
    assert not migrate("CM404", "import tensorflow as tf\n\ntf.Session().run([])\n").refusals
