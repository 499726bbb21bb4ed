"""CM401 and CM402: forms of TensorFlow 1 that change, that stay, and that are refused."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_migrate.in_place import InPlaceMigration, migrate_in_place
from crosscast_migrate.registry import codemods_to
from unit.migrate.migrating import changed, migrate, refused, stays

V1 = "import tensorflow.compat.v1 as tf\ntf.disable_v2_behavior()\n"
LEGACY = 'import os\nos.environ["TF_USE_LEGACY_KERAS"] = "1"\n'


def program(text: str, **others: str) -> InPlaceMigration:
    sources = [Source("train.py", text)]
    sources += [Source(name.replace("__", "/") + ".py", other) for name, other in others.items()]
    found = migrate_in_place(sources, codemods_to("tf.compat.v1"))
    assert not found.problems
    return found


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("import tensorflow as tf\ntf.Session()\n", f"{V1}tf.Session()\n"),
        (
            "import tensorflow\ntensorflow.Session()\n",
            "import tensorflow.compat.v1 as tensorflow\ntensorflow.disable_v2_behavior()\n"
            "tensorflow.Session()\n",
        ),
        (
            "from tensorflow import Session\nSession()\n",
            "from tensorflow.compat.v1 import Session\n",
        ),
        (
            "import tensorflow as tf\nfrom tensorflow.contrib import slim\n"
            "tf.Session()\nslim.conv2d(x, 3, 3)\n",
            "import tf_slim as slim\n",
        ),
        (
            "import tensorflow as tf\nimport tensorflow.contrib.slim as slim\n"
            "tf.Session()\nslim.conv2d(x, 3, 3)\n",
            "import tf_slim as slim\n",
        ),
        (
            "import tensorflow as tf\nfrom tensorflow.contrib import rnn\n"
            "tf.Session()\nrnn.LSTMCell(3)\n",
            "tf.Session()\ntf.nn.rnn_cell.LSTMCell(3)\n",
        ),
        (
            "import tensorflow as tf\nfrom tensorflow.contrib.rnn import LSTMCell as Cell\n"
            "tf.Session()\nCell(3)\n",
            "from tensorflow.compat.v1.nn.rnn_cell import LSTMCell as Cell\n",
        ),
        (
            "import tensorflow as tf\ntf.Session()\n"
            "tf.contrib.layers.xavier_initializer(uniform=False)\n",
            "tf_slim.xavier_initializer(uniform=False)\n",
        ),
        (
            "import tensorflow as tf\ntf.Session()\ntf.contrib.layers.xavier_initializer(seed=1)\n",
            "tf.glorot_uniform_initializer(seed=1)\n",
        ),
        (
            "import tensorflow as tf\n\n\nclass Hook(tf.estimator.SessionRunHook):\n    pass\n\n\n"
            "tf.Session()\n",
            "class Hook(tf.train.SessionRunHook):\n",
        ),
        (
            "from tensorflow.examples.tutorials.mnist import input_data\n"
            "import tensorflow as tf\ntf.Session()\ninput_data.read_data_sets('data')\n",
            f"import mnist_input_data as input_data\n{V1}tf.Session()\n",
        ),
        (
            '"""Doc."""\nfrom __future__ import division\n\nimport sys\nimport tensorflow as tf\n\n'
            "tf.layers.dense(tf.placeholder(tf.float32), 3)\n",
            f'"""Doc."""\nfrom __future__ import division\n\nimport sys\n{LEGACY}{V1}',
        ),
    ],
)
def test_a_form_is_changed(before: str, after: str) -> None:
    assert after in changed("CM401", before)


@pytest.mark.parametrize(
    "text",
    [
        # TensorFlow 2
        "import tensorflow as tf\n\n\n@tf.function\ndef step(x):\n    return tf.reduce_sum(x)\n",
        "import tensorflow as tf\n\ntf.keras.Sequential([]).fit(tf.random.normal([2, 2]))\n",
        # migrated by hand
        "import tensorflow as tf\n\nwith tf.compat.v1.Session() as session:\n    session.run([])\n",
        f"{V1}tf.train.AdamOptimizer(0.1).minimize(loss)\n",
        "import tensorflow as tf2\nimport tensorflow.compat.v1 as tf\n\ntf.Session()\n",
        # both versions
        "import tensorflow as tf\n\nif tf.__version__.startswith('1'):\n    tf.set_random_seed(1)\n"
        "else:\n    tf.random.set_seed(1)\n",
        "import tensorflow as tf\n\nOLD = tf.__version__ < '2'\n\n\ndef session():\n    if OLD:\n"
        "        return tf.Session()\n    return tf.compat.v1.Session()\n",
        "try:\n    import tensorflow.compat.v1 as tf\nexcept ImportError:\n"
        "    import tensorflow as tf\ntf.Session()\n",
        "import torch\n\n# tensorflow\nSession()\n",
        # other objects
        "class tf:\n    Session = None\n\n\ntf.Session  # tensorflow\n",
    ],
)
def test_a_look_alike_stays(text: str) -> None:
    stays("CM401", text)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("tf.contrib.crf.crf_log_likelihood(x, y, z)", "tf.contrib.crf.crf_log_likelihood is gone"),
        ("tf.estimator.DNNClassifier([3], [])", "tf.estimator.DNNClassifier is gone"),
        ("estimator.export_savedmodel('out', receiver)", "export_savedmodel of an estimator"),
        ("for i in xrange(3): pass", "xrange exists only in Python 2"),
        ("tf.config.experimental_list_devices()", "tf.config.experimental_list_devices is gone"),
    ],
)
def test_what_is_gone_is_refused_and_the_rest_changed(line: str, words: str) -> None:
    found = migrate("CM401", f"import tensorflow as tf\ntf.Session()\n{line}\n")
    assert found.texts["train.py"] == f"{V1}tf.Session()\n{line}\n"
    assert [words in refusal.message for refusal in found.refusals] == [True]


UNUSED = (
    "from tensorflow.examples.speech_commands import models",
    "import tensorflow.contrib.crf as crf",
    "from tensorflow.contrib import crf, seq2seq",
)


@pytest.mark.parametrize(
    ("statement", "others"),
    [
        ("from tensorflow.contrib.seq2seq import *", {}),
        *((one, {"tool": "from train import *\n"}) for one in UNUSED),
        ("from tensorflow.contrib import crf", {"tool": "from train import crf\n"}),
        ("from tensorflow.contrib import crf", {"tool": "import train\ntrain.crf.x\n"}),
        ("__all__ = ['crf']\nfrom tensorflow.contrib import crf", {}),
        ("from tensorflow.contrib import crf\ncrf.viterbi_decode(x, y)", {}),
    ],
)
def test_an_import_of_what_is_gone_is_refused(statement: str, others: dict[str, str]) -> None:
    found = migrate("CM401", f"import tensorflow as tf\n{statement}\ntf.Session()\n", **others)
    assert statement in found.texts["train.py"]
    assert "is gone" in found.refusals[0].message


@pytest.mark.parametrize("statement", UNUSED)
def test_an_unused_import_of_what_is_gone_is_removed(statement: str) -> None:
    text = f"import tensorflow as tf\n{statement}\ntf.Session()\n"
    assert changed("CM401", text) == f"{V1}tf.Session()\n"
    text = text.replace("tf.Session()", "tf.keras.Sequential([]).compile(tf.train.AdamOptimizer())")
    assert statement not in changed("CM404", text)


def test_names_for_python_2_only_are_no_matter() -> None:
    text = "import six\nimport tensorflow as tf\ntf.Session()\nif six.PY2:\n    text = unicode(1)\n"
    assert "unicode" in changed("CM401", text)


def test_a_name_that_stays_may_have_two_meanings() -> None:
    text = "import tensorflow as tf\nfrom tensorflow.python.framework import ops\n"
    text += "tf.Session()\nops.get_collection(1)\n\n\ndef f():\n    ops = []\n    return ops\n"
    assert changed("CM401", text) == text.replace("import tensorflow as tf\n", V1, 1)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("tf.train.AdamOptimizer", True),
        ("tensorflow.train.AdamOptimizer", True),
        ("tf.nn.relu", False),
        ("tf.train.AdamOptimizer is used", False),
        ("tf.train.Server of ours", False),
    ],
)
def test_a_name_in_a_text_is_looked_up_at_run_time(text: str, named: bool) -> None:
    code = f"import tensorflow as tf\ntf.Session()\nmake({text!r})\n"
    found = migrate("CM401", code)
    assert found.texts
    assert [text in refusal.message for refusal in found.refusals] == [True] * named
    looked_up = code + 'places = {"tf": "tensorflow.compat.v1"}\n'
    assert not migrate("CM401", looked_up).refusals


def test_a_name_with_two_meanings_is_refused() -> None:
    text = "import tensorflow as tf\ntf.Session()\n\n\ndef f(tf):\n    return tf.Session\n"
    assert "another meaning" in refused("CM401", text)
    text = "import tensorflow as tf\nfrom tensorflow.python.framework import ops\n"
    text += "tf.Session()\nops.Tensor(1)\n\n\ndef f(ops):\n    return ops.Tensor\n"
    assert "another meaning" in refused("CM401", text)


def test_an_import_of_several_names_that_went_apart() -> None:
    text = "from tensorflow.contrib import rnn, slim\nslim.conv2d(x, 3, 3)\nrnn.LSTMCell(3)\n"
    after = changed("CM401", text)
    assert "import tf_slim as slim\n" in after
    assert "tf.nn.rnn_cell.LSTMCell(3)\n" in after
    text = "from tensorflow import contrib, flags as f\ncontrib.slim.conv2d(x, 3, 3)\nf.FLAGS\n"
    after = changed("CM401", text)
    assert after.endswith(
        "from tensorflow.compat.v1 import flags as f\ntf_slim.conv2d(x, 3, 3)\nf.FLAGS\n"
    )
    assert after.startswith(LEGACY)
    text = "from tensorflow.contrib import slim\nimport tensorflow as tf\ntf.Session()\n"
    assert changed("CM401", text).startswith(f"{LEGACY}import tf_slim as slim\n")
    text = "from tensorflow.contrib import rnn\nimport tensorflow as tf\nrnn.LSTMCell(2)\n"
    assert changed("CM401", text).startswith(f"{LEGACY}import tensorflow.compat.v1 as tf\n")
    text = "from tensorflow import (  # all\n    contrib,\n    flags,\n)\n"
    text += "contrib.slim.conv2d(x, 3, 3)\nflags.FLAGS\n"
    assert "is gone" in migrate("CM401", text).refusals[0].message


def test_an_import_that_shares_its_line() -> None:
    text = (
        "import tensorflow as tf; import os\nif a: from tensorflow.contrib.layers import flatten, "
    )
    text += "batch_norm as b\ntf.Session(); flatten(x); b(x)\n"
    after = changed("CM401", text)
    assert "\nif a: from tf_slim import flatten; from tf_slim import batch_norm as b\n" in after


def test_eager_programs_get_the_rest_of_version_1() -> None:
    text = "import tensorflow as tf\ntf.enable_eager_execution()\n"
    assert changed("CM401", text) == f"{V1}tf.enable_eager_execution()\n"
    found = program("import tensorflow as tf\nimport start\ntf.get_variable('x')\n", start=text)
    assert found.texts["start.py"] == f"{V1}tf.enable_eager_execution()\n"
    assert "disable_v2_behavior" not in found.texts["train.py"]


def test_files_that_import_each_other_change_together() -> None:
    found = program(
        "import tensorflow as tf\nfrom net import model\nfrom data import rows\n\n"
        "if __name__ == '__main__':\n    tf.Session().run(model(rows()))\n",
        net="import tensorflow as tf\n\n\ndef model(x):\n    return tf.layers.dense(x, 3)\n",
        data="import tensorflow as tf\n\n\ndef rows():\n    return tf.nn.dropout(tf.ones(3), 1)\n",
        other="import tensorflow as tf\n\ntf.nn.dropout(tf.ones(3), 0.1)\n",
    )
    assert not found.refusals
    assert found.texts["train.py"].startswith(LEGACY + V1)
    assert found.texts["net.py"].startswith("import tensorflow.compat.v1 as tf\n\n")
    assert found.texts["data.py"].startswith("import tensorflow.compat.v1 as tf\n\n")
    assert "other.py" not in found.texts
    assert not found.added


def test_a_helper_is_written_where_the_imports_start() -> None:
    model = (
        "import tensorflow as tf\n\nMODE = tf.estimator.ModeKeys.TRAIN\ntf.get_variable('x', [])\n"
    )
    main = "import tensorflow as tf\nfrom models.net import MODE\n\ntf.Session()\n"
    found = program(main, models__net=model)
    assert list(found.added) == ["session_estimator.py"]
    assert "session_estimator.ModeKeys.TRAIN" in found.texts["models/net.py"]
    found = program("import tensorflow as tf\nfrom net import MODE\n", models__net=model)
    assert list(found.added) == ["models/session_estimator.py"]


def test_a_helper_that_is_there_is_not_added_again() -> None:
    text = "import tensorflow as tf\nMODE = tf.estimator.ModeKeys.TRAIN\ntf.Session()\n"
    found = program(text)
    again = program(text, **{"session_estimator": found.added["session_estimator.py"]})
    assert not again.added
    assert list(again.texts) == ["train.py"]


HALF = 'os.environ["TF_ENABLE_AUTO_MIXED_PRECISION"] = "1"\n'
WRAPPED = (
    'if os.environ.get("TF_ENABLE_AUTO_MIXED_PRECISION") == "1":\n'
    "    optimizer = tf.train.experimental.enable_mixed_precision_graph_rewrite(optimizer)\n"
)


def test_the_variable_of_a_launch_script_reaches_the_optimizer() -> None:
    text = (
        "import tensorflow as tf\noptimizer = tf.train.AdamOptimizer(0.1)\noptimizer.minimize(x)\n"
    )
    script = Source("run.sh", "export TF_ENABLE_AUTO_MIXED_PRECISION=1\npython train.py\n")
    sources = [Source("train.py", text), script]
    found = migrate_in_place(sources, codemods_to("tf.compat.v1"))
    assert not found.refusals
    assert list(found.texts) == ["train.py"]
    assert WRAPPED in found.texts["train.py"]
    assert "import os\n" in found.texts["train.py"]


@pytest.mark.parametrize(
    "line",
    [
        "tf.train.AdamOptimizer(0.1).minimize(x)",
        "MyOptimizer().minimize(tf.placeholder(tf.float32))",
        "optimizers = {'adam': tf.train.AdamOptimizer}; x = 1; y = tf.train.AdamOptimizer(0.1)",
    ],
)
def test_an_optimizer_without_a_name_is_refused(line: str) -> None:
    text = f"import os\nimport tensorflow as tf\n{HALF}{line}\n"
    assert "never read the variable" in refused("CM402", text)


def test_a_program_that_calls_the_rewrite_keeps_its_variable() -> None:
    call = "tf.train.experimental.enable_mixed_precision_graph_rewrite"
    text = f"import os\nimport tensorflow as tf\n{HALF}o = {call}(tf.train.AdamOptimizer(0.1))\n"
    stays("CM402", text)


def test_a_script_that_nothing_imports_finds_the_helper_above() -> None:
    use = "import tensorflow as tf\nMODE = tf.estimator.ModeKeys.TRAIN\ntf.Session()\n"
    found = program(f"{use}from tools.net import x\n", tools__net="x = 1\n", tools__more=use)
    assert list(found.added) == ["session_estimator.py"]


def test_numpy_outside_of_tensorflow_1_stays() -> None:
    stays("CM403", "import numpy as np\n\nnp.zeros(3, np.bool)\n")
    found = program(
        "import tensorflow as tf\nfrom rows import rows\n\ntf.Session()\n",
        rows="import numpy as np\n\nrows = np.zeros(3, np.float_).astype(np.int)\n",
    )
    assert "np.zeros(3, np.float64).astype(int)" in found.texts["rows.py"]


def test_a_session_after_the_function_that_makes_the_optimizer_is_late_enough() -> None:
    make = "def make():\n    o = tf.train.AdamOptimizer(0.1)\n    return o\n\n\n"
    text = f"import os\nimport tensorflow.compat.v1 as tf\n{HALF}{make}"
    main = "def main():\n    {}\n    {}\n"
    assert "get(" in changed("CM402", text + main.format("make()", "tf.Session()"))
    assert "created before" in refused("CM402", text + main.format("tf.Session()", "make()"))


def test_the_variable_of_one_of_two_scripts_with_an_early_session_is_refused() -> None:
    net = "import tensorflow as tf\n\n\ndef make():\n    o = tf.train.AdamOptimizer(0.1)\n"
    main = f"import os\nimport tensorflow as tf\nimport net\n{HALF}{{}}\n{{}}\n"
    found = program(
        main.format("net.make()", "tf.Session()"),
        other=main.format("tf.Session()", "net.make()"),
        net=net,
    )
    assert "created before the optimizer" in found.refusals[0].message
    assert "environ.get" not in found.texts["net.py"]


def test_an_optimizer_of_a_class_of_the_program_is_wrapped() -> None:
    lamb = "import tensorflow.compat.v1 as tf\n\n\nclass Lamb(tf.train.Optimizer):\n    pass\n"
    text = f"import os\nimport tensorflow.compat.v1 as tf\nimport lamb\n{HALF}"
    text += "optimizer = lamb.Lamb()\noptimizer.minimize(x)\n"
    assert WRAPPED in changed("CM402", text, lamb=lamb)


def test_a_session_that_only_evaluates_may_be_created_without_an_optimizer() -> None:
    text = f"import os\nimport tensorflow.compat.v1 as tf\n{HALF}"
    text += "\n\ndef train():\n    o = tf.train.AdamOptimizer(0.1)\n    with tf.Session(): pass\n"
    evaluate = "\n\ndef evaluate():\n    with tf.Session(): pass\n"
    assert "get(" in changed("CM402", text + evaluate)
    early = "\n\ndef both():\n    with tf.Session():\n        again()\n"
    again = "\n\ndef again():\n    train()\n"
    assert "created before" in refused("CM402", text + early + again)
    assert "created before" in refused("CM402", text + "\n\ndef get():\n    return tf.Session()\n")
