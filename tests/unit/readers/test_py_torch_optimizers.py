"""Optimizers of PyTorch programs."""

from __future__ import annotations

import pytest

from crosscast_torch.reading.optimizers import READER
from reading_helpers.torch_programs import STEP, facts_of, read_by

ARGS = """
import argparse
import torch
parser = argparse.ArgumentParser()
parser.add_argument("--lr", default=3e-4, type=float)
parser.add_argument("--optim", default="adam")
parser.add_argument("--fused", action="store_true")
args = parser.parse_args()
"""


@pytest.mark.parametrize(
    ("call", "family", "decay"),
    [
        ("apex.optimizers.FusedAdam(p, adam_w_mode=False, weight_decay=0.1)", "adamw", "l2"),
        ("transformers.Adafactor(p, weight_decay=0.1)", "adafactor", "weight_decay"),
        ("torch.optim.adam.Adam(p, weight_decay=0.1)", "adam", "l2"),
        ("helpers.RAdam(p, weight_decay=0.1)", "radam", "l2"),
        ("helpers.Novograd(p, weight_decay=0.1)", "novograd", "weight_decay"),
    ],
)
def test_families(call: str, family: str, decay: str) -> None:
    text = f"import {call.partition('(')[0].rpartition('.')[0].partition('.')[0]}\nopt = {call}\n"
    found = read_by(READER, text + STEP)
    assert found["optimizer.name of opt"] == family
    assert found[f"optimizer.{decay} of opt"] == 0.1


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


def test_decay_given_to_a_helper() -> None:
    text = (
        "import torch\nfrom helpers import add_weight_decay\n"
        "groups = add_weight_decay(model, weight_decay=0.05)\n"
        "optimizer = torch.optim.AdamW(groups, lr=1e-3)\n"
    )
    found = read_by(READER, text + STEP)
    assert found["optimizer.weight_decay of optimizer"] == 0.05
    assert found["optimizer.no_decay of optimizer"] == "yes"


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
