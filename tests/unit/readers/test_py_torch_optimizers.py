"""Optimizers of PyTorch programs."""

from __future__ import annotations

import pytest

from crosscast_torch.reading.optimizers import READER
from reading_helpers.torch_programs import STEP, facts_of, lines, read_by

ARGS = """
import argparse
import torch
parser = argparse.ArgumentParser()
parser.add_argument("--lr", default=3e-4, type=float)
parser.add_argument("--optim", default="adam")
parser.add_argument("--fused", action="store_true")
args = parser.parse_args()
"""


def test_arguments_by_place_and_by_name() -> None:
    text = ARGS + (
        "optimizer = torch.optim.AdamW(model.parameters(), args.lr, (0.9, 0.95), eps=1e-6,\n"
        "                              weight_decay=0.1)\n"
    )
    found = read_by(READER, text + STEP)
    assert found["optimizer.name of optimizer"] == "adamw"
    assert found["optimizer.source_name of optimizer"] == "AdamW"
    assert found["optimizer.learning_rate of optimizer"] == 3e-4
    assert found["optimizer.betas.0 of optimizer"] == 0.9
    assert found["optimizer.betas.1 of optimizer"] == 0.95
    assert found["optimizer.eps of optimizer"] == 1e-6
    assert found["optimizer.weight_decay of optimizer"] == 0.1
    assert 9 in lines(facts_of(READER, text + STEP), "optimizer.learning_rate")


@pytest.mark.parametrize(
    ("call", "family", "decay"),
    [
        ("torch.optim.Adam(p, weight_decay=0.1)", "adam", "l2"),
        ("torch.optim.SGD(p, 0.1, 0.9, weight_decay=0.1)", "sgd", "l2"),
        ("torch.optim.RMSprop(p, weight_decay=0.1)", "rmsprop", "l2"),
        ("apex.optimizers.FusedAdam(p, weight_decay=0.1)", "adamw", "weight_decay"),
        ("apex.optimizers.FusedAdam(p, adam_w_mode=False, weight_decay=0.1)", "adamw", "l2"),
        ("apex.optimizers.FusedLAMB(p, weight_decay=0.1)", "lamb", "weight_decay"),
        ("transformers.AdamW(p, weight_decay=0.1)", "adamw", "weight_decay"),
        ("transformers.Adafactor(p, weight_decay=0.1)", "adafactor", "weight_decay"),
        ("bitsandbytes.optim.AdamW8bit(p, weight_decay=0.1)", "adamw", "weight_decay"),
        ("bitsandbytes.optim.PagedAdamW(p, weight_decay=0.1)", "adamw", "weight_decay"),
        ("bitsandbytes.optim.Lion8bit(p, weight_decay=0.1)", "lion", "weight_decay"),
        ("torch.optim.adam.Adam(p, weight_decay=0.1)", "adam", "l2"),
        ("helpers.BertAdam(p, weight_decay=0.1)", "adamw", "weight_decay"),
        ("helpers.RAdam(p, weight_decay=0.1)", "radam", "l2"),
        ("helpers.Novograd(p, weight_decay=0.1)", "novograd", "weight_decay"),
    ],
)
def test_families(call: str, family: str, decay: str) -> None:
    text = f"import {call.partition('(')[0].rpartition('.')[0].partition('.')[0]}\nopt = {call}\n"
    found = read_by(READER, text + STEP)
    assert found["optimizer.name of opt"] == family
    assert found[f"optimizer.{decay} of opt"] == 0.1


def test_groups_without_decay() -> None:
    text = """
    import torch
    def build(model):
        spared = ["bias", "norm"]
        groups = [
            {"params": [p for n, p in model.named_parameters() if not any(s in n for s in spared)],
             "weight_decay": 0.05, "lr": 1e-3},
            {"params": [p for n, p in model.named_parameters() if any(s in n for s in spared)],
             "weight_decay": 0.0},
        ]
        return torch.optim.AdamW(groups)
    optimizer = build(model)
    for x in loader:
        model(x).backward()
        optimizer.step()
    """
    found = read_by(READER, text)
    assert found["optimizer.no_decay of build"] == "yes"
    assert found["optimizer.weight_decay of build"] == 0.05
    assert found["optimizer.learning_rate of build"] == 1e-3


def test_branches_are_two_optimizers() -> None:
    text = ARGS + (
        "if args.optim == 'adam':\n"
        "    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)\n"
        "else:\n"
        "    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, nesterov=True)\n"
    )
    found = read_by(READER, text + STEP)
    assert found["optimizer.name of optimizer"] == "adam"
    assert found["optimizer.name of optimizer (SGD)"] == "sgd"
    assert found["optimizer.nesterov of optimizer (SGD)"] == "yes"
    conditions = {f.under for f in facts_of(READER, text + STEP) if f.field == "optimizer.name"}
    assert len(conditions) == 2


def test_two_parts_of_a_model() -> None:
    text = (
        "import torch\n"
        "class Trainer:\n"
        "    def __init__(self, netG, netD):\n"
        "        self.opt_g = torch.optim.Adam(netG.parameters(), lr=2e-4, betas=(0.5, 0.999))\n"
        "        self.opt_d = torch.optim.Adam(netD.parameters(), lr=4e-4, betas=(0.5, 0.999))\n"
        "    def step(self, loss):\n"
        "        loss.backward()\n"
    )
    found = read_by(READER, text)
    assert found["optimizer.role of self.opt_g"] == "generator"
    assert found["optimizer.role of self.opt_d"] == "discriminator"
    assert found["optimizer.learning_rate of self.opt_d"] == 4e-4


@pytest.mark.parametrize(
    "code",
    [
        "optimizer = getattr(torch.optim, args.optim)(model.parameters(), lr=args.lr)\n",
        "kind = getattr(torch.optim, args.optim)\noptimizer = kind(model.parameters(), args.lr)\n",
        "kinds = {'adam': torch.optim.Adam, 'sgd': torch.optim.SGD}\n"
        "optimizer = kinds[name_of()](model.parameters(), lr=args.lr)\n",
        "from timm.optim import create_optimizer_v2\noptimizer = create_optimizer_v2(model)\n",
    ],
)
def test_chosen_by_a_name(code: str) -> None:
    found = read_by(READER, ARGS + code + STEP)
    assert found["optimizer.name of optimizer"] == "selectable"


def test_the_rate_of_timms_factory_is_that_of_its_flag() -> None:
    code = "from timm.optim import create_optimizer_v2\noptimizer = create_optimizer_v2(model)\n"
    assert read_by(READER, ARGS + code + STEP)["optimizer.learning_rate of optimizer"] == 3e-4


def test_made_elsewhere_or_by_the_caller() -> None:
    text = "import torch\nfrom optimizers import build_optimizer\n"
    found = read_by(READER, text + "optimizer = build_optimizer(config, model)\n" + STEP)
    assert found["optimizer.name of optimizer"] == "elsewhere"
    text = (
        "def fit(model, loader, optimizer):\n"
        "    for x in loader:\n        optimizer.zero_grad()\n"
        "        model(x).backward()\n        optimizer.step()\n"
    )
    found = read_by(READER, "import torch\n" + text)
    assert found["optimizer.name of optimizer"] == "caller"


def test_the_factory_in_another_file() -> None:
    factory = (
        "import torch\ndef build_optimizer(config, model):\n"
        "    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)\n"
    )
    text = "from factory import build_optimizer\noptimizer = build_optimizer(config, model)\n"
    found = read_by(READER, text + STEP, ("factory.py", factory))
    assert found["optimizer.name of build_optimizer"] == "sgd"
    assert found["optimizer.momentum of build_optimizer"] == 0.9


def test_wrapped_classes() -> None:
    text = (
        "import torch\nfrom torch.distributed.optim import ZeroRedundancyOptimizer\n"
        "optimizer = ZeroRedundancyOptimizer(model.parameters(),"
        " optimizer_class=torch.optim.AdamW, lr=1e-3)\n"
    )
    found = read_by(READER, text + STEP)
    assert found["optimizer.name of optimizer"] == "adamw"
    assert found["optimizer.learning_rate of optimizer"] == 1e-3


def test_a_keyword_dictionary() -> None:
    text = ARGS + (
        "settings = dict(lr=args.lr, betas=[0.9, 0.98], eps=1e-9)\n"
        "optimizer = torch.optim.Adam(model.parameters(), **settings)\n"
    )
    found = read_by(READER, text + STEP)
    assert found["optimizer.learning_rate of optimizer"] == 3e-4
    assert found["optimizer.betas.1 of optimizer"] == 0.98


@pytest.mark.parametrize(
    "text",
    [
        "import torch\nscheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: 1.0)\n",
        "from torchvision import transforms\nchange = transforms.Lambda(lambda x: x)\n",
        "from torch.optim import Adam\n",
        "import keras\noptimizer = keras.optimizers.Adam(1e-3)\n",
        "class AdamConfig:\n    pass\nconfig = AdamConfig()\n",
        "# optimizer = torch.optim.Adam(model.parameters())\n",
    ],
)
def test_what_is_no_optimizer(text: str) -> None:
    found = read_by(READER, text + "loss.backward()\n")
    assert not [name for name in found if name.startswith("optimizer.name")]


def test_a_file_that_does_not_train() -> None:
    text = "import torch\noptimizer = torch.optim.Adam(model.parameters())\nprint(optimizer)\n"
    assert read_by(READER, text) == {}


def test_decay_given_to_a_helper() -> None:
    text = (
        "import torch\nfrom helpers import add_weight_decay\n"
        "groups = add_weight_decay(model, weight_decay=0.05)\n"
        "optimizer = torch.optim.AdamW(groups, lr=1e-3)\n"
    )
    found = read_by(READER, text + STEP)
    assert found["optimizer.weight_decay of optimizer"] == 0.05
    assert found["optimizer.no_decay of optimizer"] == "yes"


def test_the_same_optimizer_in_two_branches_is_one() -> None:
    text = ARGS + (
        "if args.fused:\n    optimizer = torch.optim.SGD(model.parameters(), 0.1)\n"
        "else:\n    optimizer = torch.optim.SGD(model.parameters(), 0.2)\n"
    )
    found = read_by(READER, text + STEP)
    assert [name for name in found if name.startswith("optimizer.name")] == [
        "optimizer.name of optimizer"
    ]
    assert found["optimizer.learning_rate of optimizer"] == 0.2


def test_a_rate_of_another_file_is_not_known() -> None:
    text = "import torch\nfrom settings import base\n"
    text += "optimizer = torch.optim.SGD(model.parameters(), lr=base.lr)\n"
    assert read_by(READER, text + STEP)["optimizer.learning_rate of optimizer"] == "?"


@pytest.mark.parametrize(
    ("optimizer", "added", "decay", "spared"),
    [
        ("SGD(bare, lr=0.1)", "{'params': rest, 'weight_decay': 5e-4}", ("l2", 5e-4), "yes"),
        ("Adam(rest, weight_decay=0.1)", "{'params': bare, 'weight_decay': 0}", ("l2", 0.1), "yes"),
        (
            "AdamW(rest, weight_decay=0.1)",
            "{'params': bare, 'weight_decay': 0.0}",
            ("weight_decay", 0.1),
            "yes",
        ),
        ("AdamW(rest)", "{'params': bare, 'weight_decay': 0.1}", ("weight_decay", 0.1), None),
        ("SGD(bare, lr=0.1)", "{'params': rest}", ("l2", None), None),
        ("SGD(bare, lr=0.1)", "{'params': rest, 'lr': 1.0}", ("l2", None), None),
    ],
)
def test_groups_that_are_added_later(
    optimizer: str, added: str, decay: tuple[str, float | None], spared: str | None
) -> None:
    text = ARGS + f"optimizer = torch.optim.{optimizer}\noptimizer.add_param_group({added})\n"
    found = read_by(READER, text + STEP)
    assert found.get(f"optimizer.{decay[0]} of optimizer") == decay[1]
    assert found.get("optimizer.no_decay of optimizer") == spared
    other = text.replace("optimizer.add_param_group", "teacher.add_param_group")
    assert "optimizer.no_decay of optimizer" not in read_by(READER, other + STEP)


@pytest.mark.parametrize("name", ["Muon", "MuonAdamW", "DistMuonAdamW", "MuonWithAuxAdam"])
def test_optimizers_that_recipes_do_not_have_are_named(name: str) -> None:
    text = ARGS + f"from optim import {name}\noptimizer = {name}(groups, lr=0.02)\n"
    named = [fact for fact in facts_of(READER, text + STEP) if fact.field == "optimizer.name"]
    assert [(fact.known, fact.expression) for fact in named] == [(False, name)]
