"""CM401: which names are those of TensorFlow, and which modules are started."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_migrate.in_place import migrate_in_place
from crosscast_migrate.registry import codemods_to
from unit.migrate.migrating import changed, migrate

V1 = "import tensorflow.compat.v1 as tf\ntf.disable_v2_behavior()\n"
SESSION = "import tensorflow as tf\ntf.Session()\n"


def program(**texts: str) -> dict[str, str]:
    """Return the texts after the migration of a program of several files."""
    before = {f"{name}.py": text for name, text in texts.items()}
    found = migrate_in_place(
        [Source(name, text) for name, text in before.items()], codemods_to("tf.compat.v1")
    )
    assert not found.problems
    assert not found.refusals
    return before | found.texts


def test_an_argument_may_have_the_name_of_an_import() -> None:
    text = (
        "from tensorflow.contrib.layers.python.layers import batch_norm as batch_norm\n"
        "import tensorflow as tf\n\n\n"
        "class Model:\n"
        "    def __init__(self, batch_norm=1):\n"
        "        self.batch_norm = batch_norm\n\n"
        "    def layer(self, inputs):\n"
        "        return batch_norm(inputs) if self.batch_norm else tf.Session()\n"
    )
    after = changed("CM401", text)
    assert "from tf_slim import batch_norm\n" in after
    assert "def __init__(self, batch_norm=1):\n        self.batch_norm = batch_norm\n" in after


def test_a_name_of_another_meaning_is_not_replaced() -> None:
    text = f"{SESSION}from tensorflow.contrib import rnn\nrnn.GRUCell(2)\n\n\n"
    text += "def count(rnn):\n    return rnn + 1\n"
    after = changed("CM401", text)
    assert "tf.nn.rnn_cell.GRUCell(2)\n" in after
    assert "return rnn + 1\n" in after


@pytest.mark.parametrize(
    ("test", "new"),
    [
        ("type(x) is tf.Tensor", "isinstance(x, tf.Tensor)"),
        ("type(x) == tf.Tensor and y", "isinstance(x, tf.Tensor) and y"),
        ("type(x[0]) is not tf.Tensor", "not isinstance(x[0], tf.Tensor)"),
        ("x.__class__ != tf.Tensor", "not isinstance(x, tf.Tensor)"),
        ("isinstance(x, tf.Tensor)", "isinstance(x, tf.Tensor)"),
        ("type(x) is tf.SparseTensor", "type(x) is tf.SparseTensor"),
        ("x is tf.Tensor", "x is tf.Tensor"),
        ("kinds[tf.Tensor] == 1", "kinds[tf.Tensor] == 1"),
    ],
)
def test_the_class_of_a_tensor_is_one_that_derives_from_it(test: str, new: str) -> None:
    assert changed("CM401", f"{SESSION}found = {test}\n") == f"{V1}tf.Session()\nfound = {new}\n"


@pytest.mark.parametrize("test", ["type(x) in (tf.Tensor, int)", "tf.Tensor == type(x)"])
def test_other_tests_of_the_class_are_refused(test: str) -> None:
    found = migrate("CM401", f"{SESSION}found = {test}\n")
    assert test in found.texts["train.py"]
    assert ["exactly the class" in refusal.message for refusal in found.refusals] == [True]


def test_tensors_of_eager_programs_are_no_symbols() -> None:
    text = "import tensorflow as tf\ntf.enable_eager_execution()\nfound = type(x) is tf.Tensor\n"
    assert "type(x) is tf.Tensor" in changed("CM401", text)


@pytest.mark.parametrize(
    ("statement", "use", "new"),
    [
        ("from tensorflow.python.ops import control_flow_ops", "control_flow_ops.cond", "tf.cond"),
        (
            "from tensorflow.python.ops import control_flow_ops as c",
            "c.while_loop",
            "tf.while_loop",
        ),
        ("from tensorflow.python.framework import ops", "ops.IndexedSlices", "tf.IndexedSlices"),
        ("from tensorflow.python.util import nest", "nest.is_sequence", "tf.nest.is_nested"),
    ],
)
def test_private_names_become_public(statement: str, use: str, new: str) -> None:
    after = changed("CM401", f"{SESSION}{statement}\n{use}(x)\n")
    assert after == f"{V1}tf.Session()\n{new}(x)\n"


def test_an_imported_private_name_becomes_public() -> None:
    text = f"{SESSION}from tensorflow.python.ops.array_ops import stack\nstack(x)\n"
    assert "from tensorflow.compat.v1 import stack\nstack(x)\n" in changed("CM401", text)


@pytest.mark.parametrize(
    ("statement", "use"),
    [
        ("from tensorflow.python.ops import rnn_cell_impl", "rnn_cell_impl._linear(x)"),
        ("from tensorflow.python.framework import tensor_shape", "tensor_shape.scalar()"),
        ("from tensorflow.python.eager import function", "function.defun(f)"),
    ],
)
def test_private_names_that_are_gone_are_refused(statement: str, use: str) -> None:
    found = migrate("CM401", f"{SESSION}{statement}\n{use}\n")
    assert "is gone" in found.refusals[0].message


def test_private_names_that_stay() -> None:
    text = f"{SESSION}from tensorflow.python.ops import control_flow_ops\n"
    text += "control_flow_ops.with_dependencies([x], y)\n"
    assert "control_flow_ops.with_dependencies([x], y)\n" in changed("CM401", text)


def test_a_name_that_another_module_hands_on() -> None:
    after = program(
        common="import numpy as np\nimport tensorflow as tf\n",
        helpers="from common import *\n",
        train="from helpers import *\n\ntf.Session()\ntf.contrib.layers.flatten(np.ones(3))\n",
    )
    assert after["common.py"] == "import numpy as np\nimport tensorflow.compat.v1 as tf\n"
    assert after["helpers.py"] == "from common import *\n"
    assert after["train.py"] == (
        'import os\nos.environ["TF_USE_LEGACY_KERAS"] = "1"\nfrom helpers import *\n'
        "import tf_slim\ntf.disable_v2_behavior()\n\ntf.Session()\ntf_slim.flatten(np.ones(3))\n"
    )


@pytest.mark.parametrize(
    ("common", "train"),
    [
        ('__all__ = ["np"]\nimport tensorflow as tf\n', "tf.contrib.layers.flatten(1)\n"),
        ("import tensorflow as _tf\n_tf.Session()\n", "_tf.contrib.layers.flatten(1)\n"),
        ("def f():\n    import tensorflow as tf\n", "tf.contrib.layers.flatten(1)\n"),
    ],
)
def test_a_name_that_another_module_keeps(common: str, train: str) -> None:
    after = program(common=common, train=f"from common import *\n{train}")
    assert after["train.py"].endswith(train)


def test_what_a_function_imports_starts_nothing() -> None:
    helpers = "def draw():\n    import tensorflow as tf\n\n    return tf.random_uniform([])\n"
    after = program(
        helpers=helpers + "\n\ndef hours(seconds):\n    return seconds / 3600\n",
        model="import tensorflow as tf\nfrom helpers import draw\n\ntf.Session().run(draw())\n",
        tool="from helpers import hours\n\nprint(hours(1))\n",
    )
    assert after["tool.py"] == "from helpers import hours\n\nprint(hours(1))\n"
    assert after["model.py"].startswith(V1)
    assert "    import tensorflow.compat.v1 as tf\n\n" in after["helpers.py"]
    assert "disable_v2_behavior" not in after["helpers.py"]


def test_a_script_that_imports_the_model_in_a_function() -> None:
    after = program(
        model="import tensorflow as tf\n\ninputs = tf.placeholder(tf.float32)\n",
        train="def main():\n    import model\n\n    print(model.inputs)\n\n\nmain()\n",
    )
    assert after["train.py"].startswith(V1)


def test_a_module_that_no_script_starts() -> None:
    after = program(
        model="import tensorflow as tf\n\ninputs = tf.placeholder(tf.float32)\n",
        build="def build():\n    import model\n\n    return model.inputs\n",
        tool="import build\n\nprint(build.build())\n",
    )
    assert after["tool.py"] == "import build\n\nprint(build.build())\n"
    assert after["model.py"].startswith(V1)


def test_a_script_that_only_reads_files_has_no_mode() -> None:
    after = program(
        files="import tensorflow as tf\n\n\ndef read(name):\n    return tf.gfile.Open(name)\n",
        tool="import files\n\nprint(files.read('a'))\n",
        train="import files\nimport tensorflow as tf\n\ntf.Session()\n",
    )
    assert after["tool.py"] == "import files\n\nprint(files.read('a'))\n"
    assert after["files.py"].startswith("import tensorflow.compat.v1 as tf\n\n")
    assert after["train.py"].startswith(f"import files\n{V1}")


@pytest.mark.parametrize(
    "text",
    [
        "class A:\n    import tensorflow as t\n\n    def f(self):\n"
        "        self.t.contrib.crf.x()\n",
        "class A:\n    def __init__(self):\n        self.t = tf\n\n    def f(self):\n"
        "        self.t.contrib.crf.x()\n",
        "mine = tf\nmine.contrib.layers.flatten(1)\n",
    ],
)
def test_what_is_gone_is_refused_by_another_name(text: str) -> None:
    found = migrate("CM401", SESSION + text)
    assert ["another name" in refusal.message for refusal in found.refusals] == [True]


def test_another_contrib_is_not_that_of_tensorflow() -> None:
    text = f"{SESSION}import django\ndjango.contrib.auth\nself.contrib.x\n"
    assert "django.contrib.auth\nself.contrib.x\n" in changed("CM401", text)


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("tf.estimator.Estimator(f)\ntf.estimator.RunConfig()\n", True),
        ("if hasattr(tf, 'estimator'):\n    tf.estimator.Estimator(f)\n", False),
        ("tf.keras.Sequential([])\n", False),
    ],
)
def test_estimators_of_tensorflow_2_are_named(text: str, refused: bool) -> None:
    found = migrate("CM401", f"import tensorflow as tf\n\n{text}")
    assert not found.texts
    assert ["since TensorFlow 2.16" in one.message for one in found.refusals] == [True] * refused


def test_a_module_of_which_a_name_is_gone_stays() -> None:
    text = f"{SESSION}from tensorflow.contrib.learn.python.learn.datasets import mnist\n"
    found = migrate("CM401", f"{text}mnist.extract_images(stream)\n")
    assert "datasets import mnist\n" in found.texts["train.py"]
    assert "mnist.extract_images is gone" in found.refusals[0].message
    assert "import mnist_input_data as mnist\n" in changed("CM401", f"{text}mnist.DataSet(x)\n")


def test_a_module_in_one_that_moved() -> None:
    text = f"{SESSION}import tensorflow.contrib.slim.nets as nets\nnets.vgg.vgg_16(x)\n"
    assert "import tf_slim.nets as nets\nnets.vgg.vgg_16(x)\n" in changed("CM401", text)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "from tensorflow.contrib.slim.python.slim.nets import inception_v3\n"
            "inception_v3.inception_v3(x)\n",
            "from tf_slim.nets import inception_v3\n",
        ),
        (
            "from tensorflow.contrib.slim.python.slim import learning\nlearning.train(x, 'out')\n",
            "from tf_slim import learning\n",
        ),
        (
            "from tensorflow.contrib.layers.python.layers import regularizers\n"
            "regularizers.l2_regularizer(0.1)\n",
            "from tf_slim.layers import regularizers\n",
        ),
        # In TensorFlow 1 this name was the function, although a module had it, too.
        (
            "from tensorflow.contrib.framework.python.ops import arg_scope\n"
            "with arg_scope([f]):\n    pass\n",
            "from tf_slim import arg_scope\n",
        ),
        (
            "from tensorflow.contrib.framework.python.ops.arg_scope import add_arg_scope\n"
            "add_arg_scope(f)\n",
            "from tf_slim.ops.arg_scope import add_arg_scope\n",
        ),
    ],
)
def test_private_modules_of_slim(before: str, after: str) -> None:
    assert after in changed("CM401", f"{SESSION}{before}")


@pytest.mark.parametrize(
    "text",
    [
        "from tensorflow.contrib.slim.nets import inception_v4\ninception_v4.inception_v4(x)\n",
        "import tensorflow.contrib.slim as slim\nslim.nets.mobilenet.mobilenet(x)\n",
        "from tensorflow.contrib import slim\nslim.python.slim.data.nothing()\n",
    ],
)
def test_what_slim_never_had_is_refused(text: str) -> None:
    found = migrate("CM401", f"{SESSION}{text}")
    assert "is gone and has no certain counterpart" in found.refusals[0].message
    assert all("tf_slim" not in new for new in found.texts.values())


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('tf.histogram_summary("a", x)', 'tf.summary.histogram("a", x)'),
        ('tf.train.SummaryWriter("a", g)', 'tf.summary.FileWriter("a", g)'),
        ("tf.merge_all_summaries()", "tf.summary.merge_all()"),
        ("tf.mul(x, y)", "tf.multiply(x, y)"),
    ],
)
def test_names_of_before_tensorflow_1(before: str, after: str) -> None:
    assert f"{after}\n" in changed("CM401", f"{SESSION}{before}\n")


def test_names_of_before_tensorflow_1_whose_arguments_moved_stay() -> None:
    assert "tf.batch_matmul(x, y, True)" in changed(
        "CM401", f"{SESSION}tf.batch_matmul(x, y, True)\n"
    )
