"""CL902 to CL907: interfaces that are gone, and look-alikes."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources
from crosscast_reading.lint.options import Options

CODES = frozenset(f"CL90{number}" for number in range(2, 8))
LOOP = """
for batch in loader:
    optimizer.zero_grad()
    loss = model(batch)
    loss.backward()
    optimizer.step()
"""
FIT = '\nmodel.compile("adam", loss="mse")\nmodel.fit(x, y)\n'


def codes(text: str, name: str = "train.py", **versions: str) -> list[str]:
    results = lint_sources([Source(name, text)], Options(codes=CODES, versions=versions))
    assert all(result.is_finding for result in results)
    return [result.code for result in results]


def test_apex() -> None:
    head = "import torch\nfrom apex import amp\nmodel, optimizer = amp.initialize(m, o)\n"
    assert codes(head + LOOP) == ["CL902"]
    guarded = "import torch\ntry:\n    from apex import amp\nexcept ImportError:\n    amp = None\n"
    assert codes(guarded + "model, optimizer = amp.initialize(m, o)\n" + LOOP) == ["CL902"]
    assert codes("import torch\nfrom apex.optimizers import FusedAdam\n" + LOOP) == []
    assert codes("import torch\nfrom mine.apex import amp\namp.initialize(m)\n" + LOOP) == []


def test_apex_is_found_once_a_file() -> None:
    body = LOOP.replace(
        "loss.backward()", "with amp.scale_loss(loss, optimizer) as s: s.backward()"
    )
    head = "import torch\nfrom apex import amp\nmodel, optimizer = amp.initialize(m, o)\n"
    assert codes(head + body) == ["CL902"]


def test_graph_rewrite() -> None:
    call = "o = tf.train.experimental.enable_mixed_precision_graph_rewrite(o)"
    assert codes(f"import tensorflow as tf\n{call}{FIT}") == ["CL903"]
    assert codes(f"import tensorflow as tf\n{call}{FIT}", tensorflow="2.5.0") == []
    assert codes(f"import tensorflow as tf\n{call}{FIT}", tensorflow="2.10") == ["CL903"]
    guarded = f"import tensorflow as tf\ntry:\n    {call}\nexcept AttributeError:\n    pass{FIT}"
    assert codes(guarded) == []
    still = call.replace("tf.train", "tf.compat.v1.train")
    assert codes(f"import tensorflow as tf\n{still}{FIT}") == []


def test_keras_experimental() -> None:
    for module in (
        "from tensorflow.keras.mixed_precision import experimental as mp",
        "import tensorflow as tf\nmp = tf.keras.mixed_precision.experimental",
    ):
        assert codes(f"{module}\nmp.set_policy('mixed_float16'){FIT}") == ["CL905"]
    stable = "import tensorflow as tf\ntf.keras.mixed_precision.set_global_policy('mixed_float16')"
    assert codes(stable + FIT) == []


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ('os.environ["TF_ENABLE_AUTO_MIXED_PRECISION"] = "1"', 1),
        ('os.environ.setdefault("TF_ENABLE_AUTO_MIXED_PRECISION", "1")', 1),
        ('os.putenv("TF_ENABLE_AUTO_MIXED_PRECISION", "1")', 1),
        ('os.environ["TF_ENABLE_AUTO_MIXED_PRECISION"] = "0"', 0),
        ('print(os.environ["TF_ENABLE_AUTO_MIXED_PRECISION"])', 0),
        ('mine["TF_ENABLE_AUTO_MIXED_PRECISION"] = "1"', 0),
        ('# os.environ["TF_ENABLE_AUTO_MIXED_PRECISION"] = "1"', 0),
        ('if False:\n    os.environ["TF_ENABLE_AUTO_MIXED_PRECISION"] = "1"', 0),
    ],
)
def test_environment(line: str, count: int) -> None:
    text = f"import os\nimport tensorflow as tf\n{line}{FIT}"
    assert codes(text) == ["CL904"] * count


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ("export TF_ENABLE_AUTO_MIXED_PRECISION=1\npython train.py", 1),
        ("TF_ENABLE_AUTO_MIXED_PRECISION=1 python train.py", 1),
        ("export TF_ENABLE_AUTO_MIXED_PRECISION=0\npython train.py", 0),
        ("# export TF_ENABLE_AUTO_MIXED_PRECISION=1\npython train.py", 0),
        ("echo TF_ENABLE_AUTO_MIXED_PRECISION=1; python train.py", 0),
    ],
)
def test_environment_in_shell(line: str, count: int) -> None:
    assert codes(f"{line}\n", "run.sh") == ["CL904"] * count


def test_fluid() -> None:
    head = "import paddle.fluid as fluid\noptimizer = fluid.optimizer.Adam(0.1)\n"
    tail = "optimizer.minimize(loss)\n"
    assert codes(head + tail) == ["CL906"]
    assert codes(head + tail, paddlepaddle="1.8") == []
    modern = "import paddle\noptimizer = paddle.optimizer.Adam(0.1)\n"
    assert codes(modern + tail) == []


@pytest.mark.parametrize(
    ("argument", "count"),
    [
        ("warmup_ratio=0.1", 1),
        ("fp16_opt_level='O1', half_precision_backend='apex'", 2),
        ("warmup_steps=10, fp16=True", 0),
        ("**options", 0),
    ],
)
def test_training_arguments(argument: str, count: int) -> None:
    text = (
        "from transformers import Trainer, TrainingArguments\n"
        f"args = TrainingArguments('out', {argument})\nTrainer(model, args).train()\n"
    )
    assert codes(text) == ["CL907"] * count
    assert codes(text, transformers="4.44") == []
    mine = text.replace("from transformers import", "from mine import")
    assert codes(mine) == []
