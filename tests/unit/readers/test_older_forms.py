"""Forms of older programs: apex by hand, sharded optimizers, scalers of other files."""

from __future__ import annotations

import pytest

from crosscast_torch.reading.amp import READER as AMP
from crosscast_torch.reading.apex import READER as APEX
from crosscast_torch.reading.manual_fp16 import READER as BY_HAND
from crosscast_torch.reading.optimizers import READER as OPTIMIZERS
from torch_programs import STEP, facts_of, read_by

WRAPPED = (
    "import torch\nfrom apex.optimizers import FP16_Optimizer, FusedAdam\n"
    "model = torch.nn.Linear(4, 2).half()\n"
    "optimizer = FP16_Optimizer(FusedAdam(model.parameters()), dynamic_loss_scale=True)\n"
    "for x, y in loader:\n"
    "    loss = model(x)\n    optimizer.backward(loss)\n    optimizer.step()\n"
)


def test_the_wrapper_of_apex_is_not_made_by_hand() -> None:
    assert read_by(APEX, WRAPPED)["scaler_update.status"] == "library"
    assert "api" not in read_by(BY_HAND, WRAPPED)
    own = WRAPPED.replace("from apex.optimizers import FP16_Optimizer, FusedAdam\n",
                          "from halves import FP16_Optimizer, FusedAdam\n")  # fmt: skip
    assert read_by(BY_HAND, own)["api"] == ("custom_fp16",)


METHODS = """
class Trainer:
    def __init__(self, args):
        if args.fp16:
            from {origin} import amp
    def epoch(self, loader):
        for x, y in loader:
            loss = self.model(x)
            with amp.scale_loss(loss, self.optimizer) as scaled:
                scaled.backward()
            self.optimizer.step()
"""


def test_a_name_that_another_method_imports() -> None:
    assert read_by(APEX, METHODS.format(origin="apex"))["api"] == ("apex_amp",)
    assert read_by(APEX, METHODS.format(origin="mine")) == {}
    two = METHODS.format(origin="apex") + "    def other(self):\n        from mine import amp\n"
    assert read_by(APEX, two) == {}
    bound = METHODS.format(origin="apex") + "    def other(self):\n        amp = None\n"
    assert read_by(APEX, bound) == {}


SHARDED = """
import torch
from torch.distributed.optim import ZeroRedundancyOptimizer
if small:
    kind = {first}
else:
    kind = torch.optim.AdamW
optimizer = ZeroRedundancyOptimizer(model.parameters(), optimizer_class=kind, lr=5e-4)
"""


@pytest.mark.parametrize(
    ("first", "family"),
    [("bnb.optim.AdamW8bit", "adamw"), ("torch.optim.SGD", None), ("find(args)", None)],
)
def test_classes_of_one_family(first: str, family: str | None) -> None:
    text = "import bitsandbytes as bnb\n" + SHARDED.format(first=first) + STEP
    names = {f.value for f in facts_of(OPTIMIZERS, text) if f.field == "optimizer.name"}
    assert names == {family} if family else "adamw" not in names


SCALED = """
import torch
from setup import make
optimizer, scaler = make(model)
for x, y in loader:
    with torch.cuda.amp.autocast(dtype=torch.bfloat16):
        loss = model(x)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
"""


def test_scalers_that_another_file_makes() -> None:
    assert read_by(AMP, SCALED)["loss_scaling.mode"] == "?"
    here = SCALED.replace("from setup import make", "def make(model):\n    return build(model)")
    assert "loss_scaling.mode" not in read_by(AMP, here)
    plain = SCALED.replace("scaler.scale(loss)", "loss")
    assert "loss_scaling.mode" not in read_by(AMP, plain)


SWITCHED = """
import torch
scaler = torch.cuda.amp.GradScaler()
for x, y in loader:
    loss = model(x)
    if cfg.fp16:
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    else:
        loss.backward()
        optimizer.step()
"""


def test_a_switch_around_the_scaled_pass() -> None:
    assert read_by(AMP, SWITCHED)["precision.enabled"] == "config"
    always = SWITCHED.split("    if cfg")[0] + (
        "    if cfg.fp16_verbose:\n        print(loss)\n"
        "    scaler.scale(loss).backward()\n    scaler.step(optimizer)\n    scaler.update()\n"
    )
    assert read_by(AMP, always)["precision.enabled"] == "always"
