"""apex and half precision by hand."""

from __future__ import annotations

from typing import Any

import pytest

from crosscast_reading.readers.python.accumulation import READER as LOOPS
from crosscast_torch.reading.apex import READER
from crosscast_torch.reading.manual_fp16 import READER as BY_HAND
from torch_programs import STEP, facts_of, lines, read_by

START = """
import argparse
import torch
from apex import amp
parser = argparse.ArgumentParser()
parser.add_argument("--fp16", action="store_true")
parser.add_argument("--opt-level", default="O1")
parser.add_argument("--loss-scale", default=0.0, type=float)
args = parser.parse_args()
"""
LOOP = """
for x in loader:
    with amp.scale_loss(model(x), optimizer) as scaled:
        scaled.backward()
    optimizer.step()
"""


def test_initialize_under_a_flag() -> None:
    text = START + "if args.fp16:\n    model, optimizer = amp.initialize(model, optimizer)\n" + LOOP
    found = read_by(READER, text)
    assert found["precision.enabled"] == "flag"
    assert found["precision.compute_dtype"] == "float32"
    assert found["precision.level"] == "O1"
    assert found["precision.mode"] == "mixed"
    assert found["loss_scaling.mode"] == "framework_default"
    assert lines(facts_of(READER, text), "precision.enabled") == [11]


@pytest.mark.parametrize(
    ("argument", "mode"),
    [
        ("loss_scale='dynamic'", "dynamic"),
        ("loss_scale=128.0", "static"),
        ("loss_scale=args.loss_scale", "selectable"),
        ("loss_scale='dynamic' if args.loss_scale == 0 else args.loss_scale", "selectable"),
        ("loss_scale=None", "framework_default"),
        ("num_losses=3", "framework_default"),
    ],
)
def test_loss_scale(argument: str, mode: str) -> None:
    text = START + f"model, optimizer = amp.initialize(model, optimizer, 'O2', {argument})\n" + LOOP
    text = text.replace("optimizer, 'O2'", "optimizer, opt_level='O2'")
    found = read_by(READER, text)
    assert found["loss_scaling.mode"] == mode
    assert found["precision.enabled"] == "always"
    assert found["precision.mode"] == "full"
    assert found.get("loss_scaling.scale") == (128.0 if mode == "static" else None)


def test_levels_that_do_not_scale() -> None:
    zero = START + "model, optimizer = amp.initialize(model, optimizer, opt_level='O0')\n" + LOOP
    assert "precision.enabled" not in read_by(READER, zero)
    three = zero.replace("O0", "O3")
    assert read_by(READER, three)["loss_scaling.mode"] == "none"


def test_a_level_by_a_flag() -> None:
    text = START + (
        "if args.opt_level != 'O0':\n"
        "    model, optimizer = amp.initialize(model, optimizer, opt_level=args.opt_level)\n"
    )
    found = read_by(READER, text + LOOP)
    assert found["precision.enabled"] == "flag"
    assert found["precision.compute_dtype"] == "float16"
    assert found["precision.level"] == "O1"


def test_a_step_alone_leaves_it_to_its_caller() -> None:
    text = "from apex import amp\ndef step(loss, optimizer):\n"
    text += "    with amp.scale_loss(loss, optimizer) as scaled:\n        scaled.backward()\n"
    found = read_by(READER, text)
    assert (found["precision.enabled"], found["loss_scaling.mode"]) == ("caller", "caller")


def test_master_weights_of_apex() -> None:
    text = (
        "import torch\nfrom apex.fp16_utils import FP16_Optimizer\n"
        "optimizer = FP16_Optimizer(torch.optim.SGD(model.parameters(), 0.1),"
        " dynamic_loss_scale=True, dynamic_loss_args={'init_scale': 2 ** 12})\n" + STEP
    )
    found = read_by(READER, text)
    assert found["precision.mode"] == "full"
    assert found["loss_scaling.mode"] == "dynamic"
    assert found["loss_scaling.init_scale"] == 4096


def test_what_is_no_apex() -> None:
    text = "import torch\nfrom apex import amp\nfrom apex.parallel import convert_syncbn_model\n"
    assert read_by(READER, text + "model = convert_syncbn_model(model)\n" + STEP) == {}


def test_half_weights_with_copies() -> None:
    text = (
        "import argparse\nimport torch\nfrom fp16util import network_to_half, prep_param_lists\n"
        "parser = argparse.ArgumentParser()\nparser.add_argument('--fp16', action='store_true')\n"
        "args = parser.parse_args()\n"
        "if args.fp16:\n    model = network_to_half(model)\n"
        "    params, masters = prep_param_lists(model)\n"
    )
    found = read_by(BY_HAND, text + STEP)
    assert found["precision.enabled"] == "flag"
    assert found["precision.mode"] == "full"
    assert found["api"] == ("custom_fp16",)


def test_an_optimizer_that_scales_the_loss_itself() -> None:
    text = (
        "def main(args):\n"
        "    if args.fp16:\n        model.half()\n"
        "    optimizer = make_optimizer(model, args)\n"
        "    for x in loader:\n"
        "        optimizer.backward(model(x))\n"
        "        optimizer.step()\n"
    )
    found = read_by(BY_HAND, text)
    assert found["precision.enabled"] == "flag"
    assert found["precision.dtypes"] == ("float16",)
    assert found["loss_scaling.mode"] == "library"


@pytest.mark.parametrize(
    "text",
    [
        "teacher_model.half()\n" + STEP,
        "import torch\nvae_model.to(torch.float16)\n" + STEP,
        "model.half()\nprint(model(x))\n",
        "def evaluate(args, model):\n    if args.fp16:\n        model.half()\n" + STEP,
        "x = inputs.half()\n" + STEP,
    ],
)
def test_half_weights_that_are_not_trained(text: str) -> None:
    assert read_by(BY_HAND, text) == {}


def test_a_loss_that_is_multiplied_by_hand() -> None:
    text = (
        "from fp16util import prep_param_lists\n"
        "class Trainer:\n"
        "    def __init__(self, model, use_fp16=False):\n"
        "        self.loss_scale = 1024.0\n"
        "        if use_fp16:\n"
        "            model.half()\n"
        "            self.masters = prep_param_lists(model)\n"
        "    def step(self, loss):\n"
        "        (loss * self.loss_scale).backward()\n"
    )
    found = read_by(BY_HAND, text)
    assert found["precision.enabled"] == "caller"
    assert found["loss_scaling.mode"] == "static"
    assert found["loss_scaling.scale"] == 1024.0
    changing = text + "    def shrink(self):\n        self.loss_scale /= 2\n"
    assert read_by(BY_HAND, changing)["loss_scaling.mode"] == "dynamic"
    assert read_by(BY_HAND, "loss_scale = 2\n(loss * loss_scale).backward()\n") == {}


def test_an_optimizer_that_clips_inside() -> None:
    text = (
        "from apex.optimizers import FP16_Optimizer, FusedAdam\n"
        "inner = FusedAdam(model.parameters(), lr=1e-4, max_grad_norm=0.5)\n"
        "optimizer = FP16_Optimizer(inner, dynamic_loss_scale=True)\n" + STEP
    )
    found = read_by(READER, text)
    assert found["clipping.kind"] == "global_norm"
    assert found["clipping.value"] == 0.5
    assert "clipping.kind" not in read_by(READER, text.replace("0.5", "0.0"))
    assert "clipping.kind" not in read_by(READER, text.replace(", max_grad_norm=0.5", ""))
    assert read_by(READER, text.replace("FP16_Optimizer(", "wrap(")) == {}


LAMB = """
import torch
from apex.optimizers import FusedLAMB
{before}
optimizer = FusedLAMB(model.parameters(), lr=1e-3{given})
for inputs, labels in loader:
    loss = criterion(model(inputs), labels)
    loss.backward()
    {clip}
    optimizer.step()
    optimizer.zero_grad()
"""
OWN_CLIP = "torch.nn.utils.clip_grad_norm_(model.parameters(), {})"


def clip_of(given: str = "", clip: str = "pass", before: str = "") -> tuple[Any, Any]:
    text = LAMB.format(given=given, clip=clip, before=before)
    found = read_by(READER, text) | read_by(LOOPS, text)
    return found.get("clipping.kind"), found.get("clipping.value")


@pytest.mark.parametrize(
    ("given", "limit"),
    [
        ("", 1.0),
        (", max_grad_norm=0.25", 0.25),
        (", max_grad_norm=bound", "?"),
        (", **settings", "?"),
    ],
)
def test_fused_lamb_clips_by_the_global_norm(given: str, limit: Any) -> None:
    assert clip_of(given) == ("global_norm", limit)


def test_a_bound_of_zero_is_no_clip_and_not_none() -> None:
    assert clip_of(", max_grad_norm=0") == ("?", None)


@pytest.mark.parametrize(
    ("clip", "found"),
    [
        (OWN_CLIP.format(0.5), ("global_norm", 0.5)),
        (OWN_CLIP.format(1.0), ("global_norm", 1.0)),
        (OWN_CLIP.format(5.0), ("global_norm", "?")),
        (OWN_CLIP.format("bound"), ("global_norm", "?")),
        ("torch.nn.utils.clip_grad_value_(model.parameters(), 0.1)", ("?", "?")),
    ],
)
def test_a_loop_that_clips_before_fused_lamb_does(clip: str, found: tuple[Any, Any]) -> None:
    assert clip_of(clip=clip) == found


@pytest.mark.parametrize(
    "made",
    [
        "apex.optimizers.FusedAdam(model.parameters())",
        "torch_optimizer.Lamb(model.parameters())",
        "deepspeed.ops.lamb.FusedLamb(model.parameters())",
    ],
)
def test_other_optimizers_do_not_clip(made: str) -> None:
    text = LAMB.format(given="", clip="pass", before=f"import {made.partition('.')[0]}")
    text = text.replace("FusedLAMB(model.parameters(), lr=1e-3)", made)
    assert "clipping.kind" not in read_by(READER, text)
    clipping = read_by(LOOPS, text.replace("pass", OWN_CLIP.format(5.0)))
    assert clipping["clipping.value"] == 5.0
