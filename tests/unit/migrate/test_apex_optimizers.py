"""CM103: optimizers and layers of apex that torch has, too, and those that it has not."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_migrate.in_place import migrate_in_place
from crosscast_migrate.registry import codemods_to
from unit.migrate.migrating import changed, migrate, refused, stays

HEAD = "import torch\nfrom apex.optimizers import FusedAdam, FusedSGD\n\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("FusedAdam(p)", "torch.optim.AdamW(p, weight_decay=0.0)"),
        ("FusedAdam(p, 1e-3)", "torch.optim.AdamW(p, 1e-3, weight_decay=0.0)"),
        ("FusedAdam(p, weight_decay=wd)", "torch.optim.AdamW(p, weight_decay=wd)"),
        (
            "FusedAdam(p, lr=1e-3, betas=(0.9, 0.98), eps=1e-6, weight_decay=0.01)",
            "torch.optim.AdamW(p, lr=1e-3, betas=(0.9, 0.98), eps=1e-6, weight_decay=0.01)",
        ),
        ("FusedAdam(p, adam_w_mode=False, lr=2)", "torch.optim.Adam(p, lr=2)"),
        (
            "FusedAdam(params=p, bias_correction=True, amsgrad=False)",
            "torch.optim.AdamW(params=p, weight_decay=0.0)",
        ),
        ("FusedAdam(p, lr=a,)", "torch.optim.AdamW(p, lr=a, weight_decay=0.0,)"),
        ("FusedSGD(p, lr=0.1, momentum=0.9)", "torch.optim.SGD(p, lr=0.1, momentum=0.9)"),
        ("FusedSGD(p, 0.1, nesterov=True)", "torch.optim.SGD(p, 0.1, nesterov=True)"),
    ],
)
def test_optimizers_of_torch(before: str, after: str) -> None:
    text = changed("CM103", f"{HEAD}optimizer = {before}\n").replace("import torch\n", "")
    assert text.replace("from apex.optimizers import FusedAdam, FusedSGD\n", "").strip() == (
        f"optimizer = {after}"
    )


@pytest.mark.parametrize(
    ("before", "message"),
    [
        ("FusedAdam(p, bias_correction=False)", "bias_correction=False"),
        ("FusedAdam(p, bias_correction=flag)", "bias_correction=flag"),
        ("FusedAdam(p, adam_w_mode=args.decoupled)", "adam_w_mode=args.decoupled"),
        ("FusedAdam(p, amsgrad=True)", "amsgrad=True"),
        ("FusedAdam(p, max_grad_norm=1.0)", "max_grad_norm"),
        ("FusedAdam(p, eps_inside_sqrt=True)", "eps_inside_sqrt"),
        ("FusedAdam(p, set_grad_none=False)", "set_grad_none"),
        ("FusedAdam(p, 1e-3, True)", "not all arguments"),
        ("FusedAdam(p, **options)", "not all arguments"),
        ("FusedAdam(*groups)", "not all arguments"),
        ("FusedSGD(p, lr=1, wd_after_momentum=True)", "wd_after_momentum"),
        ("FusedSGD(p, lr=1, materialize_master_grads=False)", "materialize_master_grads"),
        ("{'adam': FusedAdam}", "used as a value"),
        ("[FusedAdam(p, adam_w_mode=False), FusedAdam(p)]", "adam_w_mode differs"),
    ],
)
def test_what_has_no_exact_form(before: str, message: str) -> None:
    assert message in refused("CM103", f"{HEAD}optimizer = {before}\n")


@pytest.mark.parametrize("name", ["FusedLAMB", "FusedNovoGrad", "FusedAdagrad", "FusedNew"])
def test_optimizers_that_torch_has_not(name: str) -> None:
    refused("CM103", f"from apex.optimizers import {name}\noptimizer = {name}(p, lr=1e-3)\n")


def test_one_goes_and_the_other_stays() -> None:
    head = "import torch\nfrom apex.optimizers import FusedAdam, FusedLAMB\n"
    found = migrate("CM103", f"{head}one = FusedAdam(p)\ntwo = FusedLAMB(p)\n")
    assert "from apex.optimizers import FusedLAMB\n" in found.texts["train.py"]
    assert len(found.refusals) == 1


def test_an_import_that_gives_up_goes_with_its_message() -> None:
    text = (
        "import torch\n\nif args.fp16:\n    try:\n        from apex.optimizers import FusedAdam\n"
        "    except ImportError:\n        raise ImportError('apex')\n    optimizer = FusedAdam(p)\n"
    )
    after = changed("CM103", text)
    assert after == (
        "import torch\n\nif args.fp16:\n    optimizer = torch.optim.AdamW(p, weight_decay=0.0)\n"
    )


def test_torch_is_imported_once() -> None:
    text = "from apex.optimizers import FusedAdam as A\nfrom apex.optimizers import FusedSGD as S\n"
    after = changed("CM103", f"{text}one, two = A(p), S(p, lr=1)\n")
    assert after.count("import torch\n") == 1


def test_layers() -> None:
    head = "import torch\nfrom apex.normalization.fused_layer_norm import FusedLayerNorm as Norm\n"
    assert changed("CM103", f"{head}norm = Norm(768, eps=1e-12)\n") == (
        "import torch\nnorm = torch.nn.LayerNorm(768, eps=1e-12)\n"
    )
    assert "memory_efficient" in refused("CM103", f"{head}n = Norm(768, memory_efficient=True)\n")
    assert "used as a value" in refused("CM103", f"{head}class Mine(Norm):\n    pass\n")


def test_a_dotted_name() -> None:
    text = "import torch\nimport apex\noptimizer = apex.optimizers.FusedSGD(p, lr=0.1)\n"
    assert "torch.optim.SGD(p, lr=0.1)" in changed("CM103", text)


@pytest.mark.parametrize(
    "text",
    [
        "from deepspeed.ops.adam import FusedAdam\noptimizer = FusedAdam(p)\n",
        "from torch.optim import AdamW as FusedAdam\noptimizer = FusedAdam(p)\n",
        "try:\n    from apex.optimizers import FusedAdam\nexcept ImportError:\n"
        "    from torch.optim import Adam as FusedAdam\noptimizer = FusedAdam(p)\n",
        "try:\n    from apex.optimizers import FusedAdam\nexcept ImportError:\n"
        "    FusedAdam = None\n"
        "optimizer = FusedAdam(p) if FusedAdam else make(p)\n",
        "if fast:\n    from apex.optimizers import FusedAdam as Adam\nelse:\n"
        "    from torch.optim import Adam\noptimizer = Adam(p)\n",
        "# from apex.optimizers import FusedAdam\nprint('FusedAdam(apex)')\n",
        "from apex.optimizers import FusedAdam\n",
        "def make(FusedAdam):\n    return FusedAdam(p)\nfrom apex.optimizers import FusedAdam\n",
        "import apex\n\nclass apex_optimizers:\n    FusedAdam = 1\n",
    ],
)
def test_programs_that_stay(text: str) -> None:
    stays("CM103", text)


def test_comments_between_arguments_are_kept() -> None:
    text = (
        f"{HEAD}optimizer = FusedAdam(\n    p,  # all\n    adam_w_mode=False,  # as in the paper\n"
        "    # the rate\n    lr=0.1,\n)\n"
    )
    after = changed("CM103", text)
    assert "    p,  # all\n    # as in the paper\n    # the rate\n    lr=0.1,\n" in after


def test_a_name_that_another_file_takes_stays() -> None:
    text = "import torch\nfrom apex.normalization import FusedLayerNorm as Norm\nnorm = Norm(4)\n"
    loop = "for x in data:\n    loss = Norm(x)\n    loss.backward()\n    optimizer.step()\n"
    start = f"import torch\nfrom layers import Norm\n{loop}"
    assert "another file imports" in refused("CM103", start, layers=text)
    found = migrate("CM103", start.replace("Norm", "norm"), layers=text)
    assert "torch.nn." in found.texts["layers.py"]


def test_a_fused_optimizer_under_another_name() -> None:
    text = """\
import torch
try:
    from apex.fp16_utils import *
    from apex.optimizers import FusedSGD
except ImportError:
    print("install apex for FusedSGD")
kind = torch.optim.SGD
if args.fused:
    kind = FusedSGD
optimizer = kind(weights, lr=0.1, momentum=0.9, nesterov=True)
"""
    source = Source("train.py", text)
    [after] = migrate_in_place([source], codemods_to("torch.amp")).texts.values()
    assert "apex." not in after
    assert "    kind = torch.optim.SGD\n" in after
    line = text.replace("nesterov", "wd_after_momentum")
    assert "used as a value" in refused("CM103", line)


def test_imports_of_one_try_go_one_after_the_other() -> None:
    text = """\
import torch
try:
    from apex.optimizers import FusedAdam
    from apex.parallel import DistributedDataParallel as DDP
except ImportError:
    raise ImportError("install apex")
model = DDP(model)
optimizer = FusedAdam(model.parameters(), lr=0.1)
"""
    source = Source("train.py", text)
    [after] = migrate_in_place([source], codemods_to("torch.amp")).texts.values()
    assert "apex" not in after
