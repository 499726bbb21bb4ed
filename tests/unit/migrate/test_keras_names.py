"""CM210: names of Keras 2 that moved or were removed, and packages for Keras 2."""

from __future__ import annotations

import pytest

from unit.migrate.keras_migrations import after, migrated, refused, untouched

TF = "import tensorflow as tf\nkeras = tf.keras\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("tf.keras.optimizers.legacy.Adam(1e-3)", "tf.keras.optimizers.Adam(1e-3)"),
        ("tf.optimizers.experimental.AdamW(1e-3)", "tf.optimizers.AdamW(1e-3)"),
        ("tf.keras.losses.Reduction.AUTO", "tf.keras.losses.Reduction.SUM_OVER_BATCH_SIZE"),
        (
            "tf.keras.layers.experimental.preprocessing.Resizing(2, 2)",
            "tf.keras.layers.Resizing(2, 2)",
        ),
        ("tf.keras.metrics.kl_divergence", "tf.keras.metrics.kld"),
        ("tf.keras.saving.load_model", "tf.keras.models.load_model"),
        (
            "tf.keras.mixed_precision.experimental.set_policy('float32')",
            "tf.keras.mixed_precision.set_global_policy('float32')",
        ),
        (
            "isinstance(o, tf.keras.mixed_precision.experimental.LossScaleOptimizer)",
            "isinstance(o, tf.keras.mixed_precision.LossScaleOptimizer)",
        ),
    ],
)
def test_names(old: str, new: str) -> None:
    assert after(f"{TF}x = {old}\n", "CM210") == f"{TF}x = {new}\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "from tensorflow.keras.optimizers.legacy import Adam, SGD as Plain",
            "from tensorflow.keras.optimizers import Adam, SGD as Plain",
        ),
        (
            "from tensorflow.keras.optimizers import legacy",
            "from tensorflow.keras import optimizers as legacy",
        ),
        (
            "import tensorflow.keras.layers.experimental.preprocessing as p",
            "import tensorflow.keras.layers as p",
        ),
        (
            "from keras.layers.convolutional import Conv2D, UpSampling2D",
            "from keras.layers import Conv2D, UpSampling2D",
        ),
        ("from keras.layers.noise import GaussianNoise", "from keras.layers import GaussianNoise"),
        (
            "from keras.utils.generic_utils import Progbar, get_custom_objects",
            "from keras.utils import Progbar, get_custom_objects",
        ),
        ("from keras.utils.vis_utils import plot_model", "from keras.utils import plot_model"),
        ("from keras.utils import np_utils", "from keras import utils as np_utils"),
        (
            "from keras.callbacks.experimental import BackupAndRestore",
            "from keras.callbacks import BackupAndRestore",
        ),
        (
            "from tensorflow.keras.losses import mean_squared_error",
            "from tensorflow.keras.losses import mse as mean_squared_error",
        ),
        (
            "from keras.losses import mse, Huber",
            "from keras.losses import mean_squared_error as mse, Huber",
        ),
        (
            "from tensorflow.keras.mixed_precision import experimental as mp\n"
            "mp.set_policy('mixed_bfloat16')",
            "from tensorflow.keras import mixed_precision as mp\n"
            "mp.set_global_policy('mixed_bfloat16')",
        ),
        (
            "from keras.mixed_precision.experimental import Policy, set_policy\n"
            "set_policy(Policy('float32'))",
            "from keras.mixed_precision import Policy, set_global_policy as set_policy\n"
            "set_policy(Policy('float32'))",
        ),
        (
            "from tensorflow.python.keras.layers import Dense\n"
            "import tensorflow.python.keras.backend as K",
            "from tensorflow.keras.layers import Dense\nfrom tensorflow.keras import backend as K",
        ),
    ],
)
def test_imports(old: str, new: str) -> None:
    assert after(f"{old}\n", "CM210") == f"{new}\n"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "from tensorflow.keras import backend as K\nK.set_session(s)\n",
            "set_session was removed",
        ),
        ("from tensorflow.keras.backend import learning_phase\n", "learning_phase was removed"),
        ("from tensorflow.keras.experimental import CosineDecay, Ours\n", "moved names and others"),
        (f"{TF}import tensorflow_addons as tfa\n", "tensorflow_addons is made for Keras 2"),
        (f"{TF}from transformers import TFBertModel\n", "models of transformers"),
        ("from keras.engine import InputSpec\n", "keras.engine is not in Keras 3"),
        ("from keras.layers import normalization\n", "keras.layers.normalization is not"),
        ("from keras.wrappers.scikit_learn import KerasClassifier\n", "scikit_learn is not"),
        ("from keras.preprocessing.text import Tokenizer\n", "keras.preprocessing.text is not"),
        (f"{TF}x = tf.keras.applications.regnet.RegNetX002()\n", "regnet was removed"),
        (f"{TF}x = tf.keras.layers.Strange(2)\n", "keras.layers.Strange is not in Keras 3"),
        ("from tensorflow.python.keras.utils import data_utils\n", "is a private copy of Keras 2"),
        (
            f"{TF}x = tf.keras.mixed_precision.experimental.get_layer_policy(y)\n",
            "get_layer_policy",
        ),
    ],
)
def test_names_that_are_gone(text: str, why: str) -> None:
    assert why in refused(text, "CM210")


@pytest.mark.parametrize(
    "line",
    [
        "from tensorflow.keras.preprocessing.text import Tokenizer",
        "import tensorflow_hub as hub\nmodel = hub.load('a')",
        "from transformers import BertTokenizer",
        "x = tf.keras.Model.summary",
        "x = tf.keras.__version__",
        "x = tf.keras.config.floatx()",
        "import haiku as hk\nhk.mixed_precision.set_policy(hk.nets.ResNet50, policy)",
        "try:\n    from keras.engine import Layer\nexcept ImportError:\n"
        "    from keras.layers import Layer",
        "try:\n    tf.keras.mixed_precision.set_global_policy('x')\nexcept AttributeError:\n"
        "    tf.keras.mixed_precision.experimental.set_policy('x')",
        "import os\nkeep = os.environ.get('TF_USE_LEGACY_KERAS', '0')\n"
        "tf.keras.optimizers.legacy.SGD(0.1)",
        "from tensorflow.python.ops import math_ops",
    ],
)
def test_names_that_stay(line: str) -> None:
    assert untouched(f"{TF}{line}\n", "CM210")


def test_a_package_of_the_program_itself() -> None:
    found = migrated(f"{TF}from efficientnet import Net\n", efficientnet_py="class Net: pass\n")
    assert not found.refusals


def test_a_script_that_names_no_framework_is_read_with_what_it_imports() -> None:
    others = {"net_py": "from keras.callbacks import *\nfrom keras.models import Sequential\n"}
    text = "from net import *\nmodel = Sequential()\nmodel.fit_generator(rows, 3)\n"
    found = migrated(text, **others)
    assert "model.fit(rows, steps_per_epoch=3)" in found.texts["train.py"]


@pytest.mark.parametrize(
    "line", ["os.environ['TF_USE_LEGACY_KERAS'] = '1'", "os.putenv('TF_USE_LEGACY_KERAS', '1')"]
)
def test_a_program_that_selects_keras_2_is_told(line: str) -> None:
    text = f"import os\n{line}\nimport tensorflow as tf\ntf.keras.optimizers.SGD(lr=0.1)\n"
    assert "selects Keras 2" in refused(text)


@pytest.mark.parametrize(
    ("before", "new"),
    [
        ("from keras import backend as K\n", "from tensorflow.keras import backend as K\n"),
        ("import keras.backend as K\n", "import tensorflow.keras.backend as K\n"),
    ],
)
def test_a_backend_that_only_tensorflow_has_comes_from_there(before: str, new: str) -> None:
    use = "loss = K.mean(K.square(x), axis=-1) + K.epsilon()\n"
    assert after(before + use, "CM210") == new + use


@pytest.mark.parametrize(
    "text",
    [
        "from keras import backend as K\nK.clear_session()\nprint(K.epsilon())\n",
        "from tensorflow.keras import backend as K\nloss = K.mean(x)\n",
        "import tensorflow as tf\nloss = tf.keras.backend.mean(x)\n",
        "from ours import backend as K\nloss = K.mean(x) + K.ours(x)\n",
        "import keras\nprint(keras.backend.floatx().upper())\n",
    ],
)
def test_a_backend_that_is_there_stays(text: str) -> None:
    assert untouched(text, "CM210")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import keras\nloss = keras.backend.mean(x)\n", "keras.backend.mean is not in Keras 3"),
        ("import tensorflow as tf\ntf.keras.backend.tf.abs(x)\n", "keras.backend.tf is not"),
        ("from keras import backend as K, losses\nK.mean(x)\n", "keras.backend.mean is not"),
    ],
)
def test_a_backend_that_is_not_certain_is_named(text: str, message: str) -> None:
    assert message in refused(text, "CM210")


def test_the_rest_of_a_module_is_converted() -> None:
    text = "from keras import backend as K\nK.mean(x)\nK.control_flow_ops.while_loop(f, g, x)\n"
    found = migrated(text, "CM210")
    assert "from tensorflow.keras import backend as K" in found.texts["train.py"]
    (left,) = found.refusals
    assert left.message == "keras.backend.control_flow_ops is not in Keras 3"


def test_a_program_of_tensorflow_1_changes_as_a_whole_or_not_at_all() -> None:
    text = (
        f"{TF}model = keras.Sequential([keras.layers.Dense(1)])\n"
        "model.compile(keras.optimizers.SGD(lr=0.1), 'mse')\ns = tf.placeholder(tf.int8)\n"
    )
    assert "belongs to graphs" in refused(text)
