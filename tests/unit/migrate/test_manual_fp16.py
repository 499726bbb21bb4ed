"""CM105: half precision by hand is named, and never changed."""

from __future__ import annotations

import pytest

from crosscast_torch.migration.experimental.codemods_apex.manual_fp16 import CODEMOD
from unit.migrate.migrating import migrate, refused, stays

LOOP = CODEMOD.examples[0].before


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", ""),
        ("p.detach().clone().float()", "p.clone().detach().to(torch.float32)"),
        ("for p in model.parameters()]", "for p in model.parameters() if p.requires_grad]"),
        (".cuda().half()\n", ".cuda()\nmodel = model.half()\n"),
        (" / SCALE", " / SCALE / 2"),
        ("    optimizer.step()", "    SCALE = SCALE * 2\n    optimizer.step()"),
    ],
)
def test_copies_of_half_weights_are_named_whatever_the_loop_does(old: str, new: str) -> None:
    [refusal] = migrate("CM105", LOOP.replace(old, new)).refusals
    assert refusal.message == "half precision by hand: masters has float32 copies of half weights"
    assert refusal.span is not None
    assert "masters = " in LOOP.replace(old, new).splitlines()[refusal.span.line - 1]
    assert "pass model.parameters() to the optimizer" in refusal.hint
    assert "GradScaler" in refusal.hint


@pytest.mark.parametrize(
    "name", ["network_to_half", "prep_param_lists", "master_params_to_model_params"]
)
def test_helpers_of_apex(name: str) -> None:
    text = f"from apex.fp16_utils import *\nfrom apex.fp16_utils import {name}\nx = {name}(y)\n"
    assert f"{name} of apex" in refused("CM105", text)


@pytest.mark.parametrize(
    "text",
    [
        "model = model.half()\nwith torch.no_grad():\n    model(x.half())\n",
        "from fairseq.optim import FP16_Optimizer\noptimizer = FP16_Optimizer(args)\n",
        "ema = [p.detach().clone() for p in model.parameters()]\nmodel.half()\n",
        "import math\nhalf = math.floor(3).half()\n",
        "# (loss * scale).backward() of model.half()\n",
        "copies = [p.clone().half() for p in model.parameters()]\nx.half()\n",
        LOOP.replace(".half()", ""),
    ],
)
def test_programs_that_stay(text: str) -> None:
    stays("CM105", text)
