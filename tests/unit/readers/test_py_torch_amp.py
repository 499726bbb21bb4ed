"""autocast and GradScaler."""

from __future__ import annotations

import pytest

from crosscast_torch.reading.amp import READER
from torch_programs import facts_of, lines, read_by

ARGS = """
import argparse
import torch
parser = argparse.ArgumentParser()
parser.add_argument("--amp", action="store_true")
parser.add_argument("--dtype", default="float16", choices=["float16", "bfloat16"])
args = parser.parse_args()
"""
LOOP = """
for x, y in loader:
    with torch.{cast}:
        loss = model(x, y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
"""


def test_a_flag_switches_both() -> None:
    text = (
        ARGS
        + "scaler = torch.cuda.amp.GradScaler(enabled=args.amp)\n"
        + LOOP.format(cast="cuda.amp.autocast(enabled=args.amp)")
    )
    found = read_by(READER, text)
    assert found["precision.enabled"] == "flag"
    assert found["precision.dtypes"] == ("float16",)
    assert found["precision.compute_dtype"] == "float32"
    assert found["precision.flag"] == "args.amp"
    assert found["loss_scaling.mode"] == "framework_default"
    assert found["api"] == ("torch.cuda.amp",)
    assert lines(facts_of(READER, text), "loss_scaling.mode") == [8]


def test_without_any_switch_it_is_always_on() -> None:
    text = "import torch\nscaler = torch.amp.GradScaler('cuda', init_scale=1024.0)\n" + LOOP.format(
        cast="autocast('cuda', dtype=torch.float16)"
    )
    found = read_by(READER, text)
    assert found["precision.enabled"] == "always"
    assert found["precision.compute_dtype"] == "float16"
    assert found["loss_scaling.mode"] == "dynamic"
    assert found["loss_scaling.init_scale"] == 1024.0
    assert found["api"] == ("torch.amp",)


def test_types_by_a_table_of_types() -> None:
    text = (
        ARGS
        + "kind = {'float16': torch.float16, 'bfloat16': torch.bfloat16}[args.dtype]\n"
        + "scaler = torch.cuda.amp.GradScaler(enabled=kind == torch.float16)\n"
        + LOOP.format(cast="autocast(device_type='cuda', dtype=kind)")
    )
    found = read_by(READER, text)
    assert set(found["precision.dtypes"]) == {"float16", "bfloat16"}
    assert found["precision.compute_dtype"] == "float16"


def test_the_device_chooses_the_type() -> None:
    text = (
        "import torch\n"
        "kind = torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16\n"
        "scaler = torch.cuda.amp.GradScaler()\n"
    ) + LOOP.format(cast="autocast(device_type='cuda', dtype=kind)")
    assert read_by(READER, text)["precision.compute_dtype"] == "bf16_or_fp16"


@pytest.mark.parametrize(
    ("last", "types"),
    [("torch.float16", {"bfloat16", "float16"}), ("torch.bfloat16", {"bfloat16"})],
)
def test_a_function_that_returns_the_type_beside_the_switch(last: str, types: set[str]) -> None:
    text = (
        "import torch\n"
        "def half_of(device):\n"
        "    if device.type != 'cuda':\n        return False, torch.float32\n"
        "    if torch.cuda.is_bf16_supported():\n        return True, torch.bfloat16\n"
        f"    return True, {last}\n"
        "half, kind = half_of(device)\n"
        "scaler = torch.amp.GradScaler()\n"
    ) + LOOP.format(cast="autocast(device_type='cuda', dtype=kind, enabled=half)")
    assert set(read_by(READER, text)["precision.dtypes"]) == types


def test_autocast_of_a_cpu_is_bfloat16() -> None:
    text = "import torch\n" + (
        "for x in loader:\n"
        "    with torch.autocast('cpu'):\n"
        "        loss = model(x)\n"
        "    loss.backward()\n"
        "    optimizer.step()\n"
    )
    found = read_by(READER, text)
    assert found["precision.dtypes"] == ("bfloat16",)
    assert "loss_scaling.mode" not in found


def test_a_branch_decides() -> None:
    text = ARGS + (
        "scaler = torch.cuda.amp.GradScaler() if args.amp else None\n"
        "def step(x):\n"
        "    with torch.cuda.amp.autocast():\n"
        "        loss = model(x)\n"
        "    scaler.scale(loss).backward()\n"
        "    scaler.step(optimizer)\n"
        "    scaler.update()\n"
        "for x in loader:\n"
        "    if args.amp:\n"
        "        step(x)\n"
        "    else:\n"
        "        model(x).backward()\n"
        "        optimizer.step()\n"
    )
    found = read_by(READER, text)
    assert found["precision.enabled"] == "flag"
    assert found["precision.compute_dtype"] == "float32"


def test_a_context_kept_in_a_variable() -> None:
    text = ARGS + (
        "from contextlib import nullcontext\n"
        "from functools import partial\n"
        "cast = nullcontext\n"
        "if args.amp:\n"
        "    cast = partial(torch.autocast, device_type='cuda', dtype=torch.bfloat16)\n"
        "for x in loader:\n"
        "    with cast():\n"
        "        loss = model(x)\n"
        "    loss.backward()\n"
        "    optimizer.step()\n"
    )
    found = read_by(READER, text)
    assert found["precision.enabled"] == "flag"
    assert found["precision.dtypes"] == ("bfloat16",)
    assert "loss_scaling.mode" not in found


def test_a_helper_class_leaves_it_to_its_caller() -> None:
    text = (
        "import torch\n"
        "class Scaler:\n"
        "    def __init__(self):\n"
        "        self._scaler = torch.cuda.amp.GradScaler()\n"
        "    def __call__(self, loss, optimizer):\n"
        "        self._scaler.scale(loss).backward()\n"
        "        self._scaler.step(optimizer)\n"
        "        self._scaler.update()\n"
    )
    found = read_by(READER, text)
    assert found["precision.enabled"] == "caller"
    assert found["loss_scaling.mode"] == "framework_default"


def test_a_scaler_that_is_handed_in() -> None:
    text = (
        "import torch\n"
        "def train(model, loader, optimizer, scaler):\n"
        "    for x in loader:\n"
        "        with torch.cuda.amp.autocast(enabled=scaler is not None):\n"
        "            loss = model(x)\n"
        "        scaler.scale(loss).backward()\n"
        "        scaler.step(optimizer)\n"
        "        scaler.update()\n"
    )
    found = read_by(READER, text)
    assert found["precision.enabled"] == "caller"
    assert found["loss_scaling.mode"] == "caller"


def test_a_setting_of_a_configuration() -> None:
    text = (
        "import torch\n"
        "from settings import get_config\n"
        "config = get_config()\n"
        "scaler = torch.cuda.amp.GradScaler(enabled=config.TRAIN.AMP)\n"
    ) + LOOP.format(cast="cuda.amp.autocast(enabled=config.TRAIN.AMP)")
    found = read_by(READER, text)
    assert found["precision.enabled"] == "config"
    assert found["precision.compute_dtype"] == "?"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            "import torch\nfrom torch.cuda.amp import autocast, GradScaler\n"
            "for x in loader:\n    model(x).backward()\n    optimizer.step()\n",
            id="imported and never used",
        ),
        pytest.param(
            "import torch\n# with torch.cuda.amp.autocast():\n"
            "'''scaler = torch.cuda.amp.GradScaler()'''\n"
            "for x in loader:\n    model(x).backward()\n    optimizer.step()\n",
            id="comment and text",
        ),
        pytest.param(
            "import torch\nfor x in loader:\n    with torch.cuda.amp.autocast(enabled=False):\n"
            "        loss = model(x)\n    loss.backward()\n    optimizer.step()\n",
            id="an island of float32",
        ),
        pytest.param(
            "import torch\nscaler = torch.cuda.amp.GradScaler(enabled=False)\n"
            "for x in loader:\n    scaler.scale(model(x)).backward()\n    scaler.step(optimizer)\n",
            id="a scaler that is off",
        ),
        pytest.param(
            "import torch\ndef generate(x):\n    with torch.autocast('cuda'):\n"
            "        return model(x)\n",
            id="predictions only",
        ),
        pytest.param(
            "import torch\nif False:\n    scaler = torch.cuda.amp.GradScaler()\n"
            "for x in loader:\n    model(x).backward()\n    optimizer.step()\n",
            id="dead code",
        ),
        pytest.param(
            "import torch\nloss_scale = 0.5\nfor x in loader:\n"
            "    (model(x) * loss_scale).backward()\n    optimizer.step()\n",
            id="the weight of a loss",
        ),
    ],
)
def test_what_is_no_mixed_precision(text: str) -> None:
    found = read_by(READER, text)
    assert not {"precision.enabled", "precision.dtypes", "loss_scaling.mode"} & set(found)


def test_a_name_that_a_flag_fills() -> None:
    text = ARGS + (
        "from contextlib import suppress\n"
        "use_amp = ''\n"
        "if args.amp:\n    use_amp = 'native'\n"
        "cast = suppress\n"
        "if use_amp == 'native':\n    cast = torch.cuda.amp.autocast\n"
        "def train(loader, cast=suppress):\n"
        "    for x in loader:\n"
        "        with cast():\n            loss = model(x)\n"
        "        loss.backward()\n        optimizer.step()\n"
        "train(loader, cast=cast)\n"
    )
    found = read_by(READER, text)
    assert found["precision.enabled"] == "flag"
    assert found["precision.compute_dtype"] == "float32"


def test_settings_spread_into_arguments() -> None:
    text = (
        "import json\nimport torch\n"
        "def train(fp16_run, rate):\n"
        "    scaler = torch.cuda.amp.GradScaler(enabled=fp16_run)\n"
        "    for x in loader:\n"
        "        with torch.cuda.amp.autocast(enabled=fp16_run):\n            loss = model(x)\n"
        "        scaler.scale(loss).backward()\n"
        "config = json.load(open('c.json'))\n"
        "train(**config['train_config'])\n"
    )
    assert read_by(READER, text)["precision.enabled"] == "config"


def test_helpers_of_other_files() -> None:
    text = (
        "from precision import get_autocast\n"
        "def train(model, loader, optimizer, scaler, args):\n"
        "    cast = get_autocast(args.precision)\n"
        "    for x in loader:\n"
        "        with cast():\n            loss = model(x)\n"
        "        scaler.scale(loss).backward()\n"
        "        scaler.step(optimizer)\n        scaler.update()\n"
    )
    found = read_by(READER, "import torch\n" + text)
    assert (found["precision.enabled"], found["loss_scaling.mode"]) == ("flag", "caller")
    assert found["precision.compute_dtype"] == "?"


def test_a_flag_of_a_device_decides_nothing() -> None:
    text = (
        ARGS
        + "parser.add_argument('--device', default='cuda')\n"
        + "device = torch.device(args.device)\n"
        + "scaler = torch.cuda.amp.GradScaler(enabled=device.type == 'cuda')\n"
        + LOOP.format(cast="autocast('cuda', enabled=device.type == 'cuda')")
    )
    found = read_by(READER, text)
    assert found["precision.enabled"] == "always"
    assert found["precision.compute_dtype"] == "float16"


CHOSEN = """
import torch
from contextlib import nullcontext
def train(model, loader, optimizer, train_config):
    scaler = torch.cuda.amp.GradScaler() if train_config.use_fp16 else None
    autocast = torch.cuda.amp.autocast if train_config.use_fp16 else nullcontext
    for x, y in loader:
        with autocast():
            loss = model(x, y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
"""


def test_a_context_that_a_setting_chooses_is_not_always_on() -> None:
    found = read_by(READER, CHOSEN)
    assert found["precision.enabled"] == "config"
    assert found["precision.flag"] == "train_config.use_fp16"
    assert found["precision.compute_dtype"] not in ("float16", "float32")


def test_the_other_arm_of_a_choice() -> None:
    text = CHOSEN.replace(
        "torch.cuda.amp.autocast if train_config.use_fp16 else nullcontext",
        "nullcontext if train_config.full else torch.cuda.amp.autocast",
    ).replace("GradScaler() if train_config.use_fp16 else None", "GradScaler()")
    assert read_by(READER, text)["precision.enabled"] == "always"


@pytest.mark.parametrize("cast", ["cuda.amp.autocast(enabled=amp)", "cuda.amp.autocast(amp)"])
def test_a_switch_that_another_file_finds_out(cast: str) -> None:
    text = "import torch\nfrom utils.checks import probe_amp\namp = probe_amp(model)\n"
    text += "scaler = torch.cuda.amp.GradScaler(enabled=amp)\n" + LOOP.format(cast=cast)
    found = read_by(READER, text)
    assert found["precision.enabled"] == "caller"
    assert found["precision.compute_dtype"] not in ("float16", "float32")


def test_a_switch_that_is_true_stays_always() -> None:
    text = "import torch\namp = True\nscaler = torch.cuda.amp.GradScaler(enabled=amp)\n"
    found = read_by(READER, text + LOOP.format(cast="cuda.amp.autocast(enabled=amp)"))
    assert found["precision.enabled"] == "always"
    assert found["precision.compute_dtype"] == "float16"


def test_a_namespace_that_another_file_makes_of_a_parser() -> None:
    text = ARGS.replace("args = parser.parse_args()", "args = read_with_file(parser)")
    text = "from helpers import read_with_file\n" + text
    text += "scaler = torch.cuda.amp.GradScaler(enabled=args.amp)\n"
    found = read_by(READER, text + LOOP.format(cast="cuda.amp.autocast(enabled=args.amp)"))
    assert found["precision.enabled"] == "flag"
    assert found["precision.compute_dtype"] == "float32"
