"""Programs that read their settings from the configuration files given."""

from __future__ import annotations

from typing import Any

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lift.precedence import settle
from crosscast_reading.sources.grouping import group
from crosscast_reading.sources.subject_builder import subject_of

LOOP = """
optimizer = torch.optim.AdamW(model.parameters(), lr=LR)
scaler = torch.amp.GradScaler(enabled=AMP)
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cuda", enabled=AMP):
        loss = model(x, y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
"""
SETTINGS = "amp: true\noptim:\n  lr: 2e-3\n  steps: 4\n"
HYDRA = """
import hydra
import torch

@hydra.main(config_path="conf", config_name="config", version_base=None)
def main(cfg):
    train(cfg)

def train(cfg):
LOOP
main()
"""
TREE = {
    "conf/config.yaml": "defaults:\n  - optim: adam\n  - _self_\namp: true\n",
    "conf/optim/adam.yaml": "lr: 2e-3\n",
}


def program(head: str, rate: str, amp: str) -> str:
    return f"import torch\n{head}\n" + LOOP.replace("LR", rate).replace("AMP", amp)


def hydra(rate: str = "cfg.optim.lr", text: str = HYDRA) -> str:
    loop = LOOP.replace("LR", rate).replace("AMP", "cfg.amp")
    return text.replace("LOOP", "\n".join(f"    {line}" for line in loop.splitlines()))


def told(files: dict[str, str]) -> dict[str, Any]:
    sources = [Source(name, text) for name, text in files.items()]
    settled = settle(subject_of(sources)[0].profile)
    return {
        field: found.fact.value if found.fact.known else "?"
        for (field, _), found in settled.items()
    }


@pytest.mark.parametrize(
    ("head", "rate"),
    [
        ('import yaml\ncfg = yaml.safe_load(open("a.yaml"))', 'float(cfg["optim"]["lr"])'),
        (
            'import yaml\nwith open("a.yaml") as f:\n    cfg = yaml.load(f, Loader=yaml.Loader)',
            'float(cfg["optim"]["lr"])',
        ),
        ('from omegaconf import OmegaConf\ncfg = OmegaConf.load("a.yaml")', "cfg.optim.lr"),
        ('from omegaconf import OmegaConf\ncfg = OmegaConf.load("a.yaml")', 'cfg.optim["lr"]'),
        (
            "import argparse, yaml\np = argparse.ArgumentParser()\n"
            'p.add_argument("--config", default="conf/a.yaml")\nargs = p.parse_args()\n'
            "cfg = yaml.safe_load(open(args.config))",
            'float(cfg["optim"]["lr"])',
        ),
    ],
)
def test_loaded_files(head: str, rate: str) -> None:
    amp = "cfg.amp" if "Omega" in head else 'cfg["amp"]'
    found = told({"train.py": program(head, rate, amp), "conf/a.yaml": SETTINGS})
    assert found["optimizer.learning_rate"] == 2e-3
    assert found["precision.compute_dtype"] == "float16"
    assert found["precision.enabled"] == "config"


@pytest.mark.parametrize(
    ("head", "rate"),
    [
        ('cfg = load("a.yaml")', "cfg.optim.lr"),
        ('import yaml\ncfg = yaml.safe_load(open("b.yaml"))', 'cfg["optim"]["lr"]'),
        ("import yaml\ncfg = yaml.safe_load(open(path))", 'cfg["optim"]["lr"]'),
        ('import yaml\ncfg = yaml.safe_load(open("a.yaml"))', 'cfg["optim"]["rate"]'),
        ('import yaml\ncfg = yaml.safe_load(open("a.yaml"))', 'cfg["optim"]'),
        ('import yaml\ncfg = yaml.safe_load(open("a.yaml"))', "cfg[name]"),
        ('import yaml\ncfg = yaml.safe_load(open("a.yaml"))', 'cfg["optim"]["lr"]'),
    ],
)
def test_what_is_not_known_stays_so(head: str, rate: str) -> None:
    """Other loaders, files and keys; the last one: PyYAML reads 2e-3 as text."""
    found = told({"train.py": program(head, rate, "True"), "a.yaml": SETTINGS})
    assert not isinstance(found.get("optimizer.learning_rate"), float)


def test_hydra_gives_its_configuration_to_main() -> None:
    found = told({"train.py": hydra(), **TREE})
    assert found["optimizer.learning_rate"] == 2e-3
    assert found["precision.compute_dtype"] == "float16"


def test_hydra_without_the_file_or_with_overrides() -> None:
    assert told({"train.py": hydra()})["optimizer.learning_rate"] == "?"
    launch = {"run.sh": "python train.py optim.lr=0.1\n"}
    assert told({"train.py": hydra(), **TREE, **launch})["optimizer.learning_rate"] == "?"
    plain = {"run.sh": "X=1 python train.py --multirun\n"}
    assert told({"train.py": hydra(), **TREE, **plain})["optimizer.learning_rate"] == 2e-3
    other = hydra(text=HYDRA.replace("hydra.main", "mine.main"))
    assert told({"train.py": other, **TREE})["optimizer.learning_rate"] == "?"


def test_an_entry_that_the_program_changes() -> None:
    text = hydra().replace("    train(cfg)", "    cfg.optim.lr = 0.5\n    train(cfg)")
    assert told({"train.py": text, **TREE})["optimizer.learning_rate"] == 0.5


def test_the_tree_belongs_to_the_program() -> None:
    sources = [Source(name, text) for name, text in {**TREE, "train.py": hydra()}.items()]
    assert [[s.name for s in members] for members in group(sources)] == [["train.py", *TREE]]
