"""Loops that codemods wrote train in half precision as in float32, and skip what overflows."""

from __future__ import annotations

import json
from math import isfinite
from statistics import fmean
from typing import Any

import pytest

from crosscast.messages.source import Source
from crosscast_migrate.in_place import migrate_in_place
from crosscast_migrate.registry import all_codemods
from crosscast_torch.migration.experimental.apex.uses import HALF_ANYWAY
from crosscast_torch.migration.experimental.codemods_cuda_amp.torch_cuda_amp import (
    CODEMOD as CUDA_AMP,
)
from frameworks.subprocesses import TESTS, run_python

pytestmark = pytest.mark.torch

START = float(2**16)
LOOP = """\
import torch
from apex import amp

model = torch.nn.Linear(4, 2).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model, optimizer = amp.initialize(model, optimizer, opt_level="{level}"{more})
for step, (inputs, targets) in enumerate(loader):
    loss = torch.nn.functional.cross_entropy(model(inputs), targets) / {window}
    with amp.scale_loss(loss, optimizer) as scaled_loss:
        scaled_loss.backward()
    if (step + 1) % {window} == 0:
        torch.nn.utils.clip_grad_norm_(amp.master_params(optimizer), 0.5)
        optimizer.step()
        optimizer.zero_grad()
"""
TWO = """\
import torch
from apex import amp

model, other = torch.nn.Linear(4, 4), torch.nn.Linear(4, 2)
one = torch.optim.SGD(model.parameters(), lr=0.1)
two = torch.optim.SGD(other.parameters(), lr=0.1)
[model, other], [one, two] = amp.initialize([model, other], [one, two], num_losses=2)
for inputs, targets in loader:
    one.zero_grad()
    two.zero_grad()
    hidden = model(inputs)
    first = torch.nn.functional.cross_entropy(hidden, targets)
    with amp.scale_loss(first, one, loss_id=0) as scaled:
        scaled.backward()
    one.step()
    second = torch.nn.functional.cross_entropy(other(inputs), targets)
    with amp.scale_loss(second, two, loss_id=1) as scaled:
        scaled.backward()
    two.step()
"""
ENDS = {"run constant": 512.0}
"""The scales that one overflow leaves, where it is not half of the first one of apex."""
CALL = """
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 100)
train(args, model, optimizer, scheduler, loader)
"""
FUSED = LOOP.replace("torch.optim.SGD", "FusedSGD").replace(
    "from apex import amp", "from apex import amp\nfrom apex.optimizers import FusedSGD"
)


def programs() -> dict[str, dict[str, Any]]:
    """The old programs, by name."""
    examples = all_codemods()["CM102"].examples
    branched = examples[1].before
    found: dict[str, dict[str, Any]] = {
        "example": {"text": examples[0].before},
        "window": {"text": LOOP.format(level="O1", more="", window=4), "window": 4},
        "O2": {"text": LOOP.format(level="O2", more="", window=1)},
        "constant": {"text": LOOP.format(level="O1", more=", loss_scale=65536.0", window=1)},
        "two": {"text": TWO},
        "fused": {"text": FUSED.format(level="O1", more="", window=1)},
    }
    for name, kind in {"run dynamic": "None", "run constant": '"1024.0"'}.items():
        text = LOOP.format(level="O1", more=", loss_scale=kind", window=1)
        found[name] = {"text": text.replace("model = ", f"kind = {kind}\nmodel = ", 1)}
    for name, flags in {
        "flag": ["--fp16"],
        "O0": ["--fp16", "--opt_level", "O0"],
        "off": [],
    }.items():
        found[name] = {"text": branched, "flags": flags, "then": CALL, "window": 4}
    return found


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """What became of the migrated programs: with half precision and without, by name."""
    named = programs()
    for entry in named.values():
        found = migrate_in_place(
            [Source("train.py", entry["text"])], tuple(all_codemods().values())
        )
        assert not found.refusals
        assert "apex" not in found.texts["train.py"].replace("install apex", "")
        entry["text"] = found.texts["train.py"]
    file = tmp_path_factory.mktemp("migrated") / "programs.json"
    file.write_text(json.dumps(list(named.values())))
    found = run_python(TESTS / "frameworks/run_migrated_torch.py", "torch", file)
    return dict(zip(named, found, strict=True))


NAMES = list(programs())
OFF = ("O0", "off")


@pytest.mark.parametrize("name", NAMES)
def test_it_trains(runs: dict[str, list[dict[str, Any]]], name: str) -> None:
    for run in runs[name]:
        assert run["types"] == ["torch.float32"]
        losses = [loss for loss in run["loss"] if isfinite(loss) and loss < 100]
        assert fmean(losses[-8:]) < fmean(losses[:8])


@pytest.mark.parametrize("name", [name for name in NAMES if name not in OFF])
def test_what_overflows_is_skipped_and_halves_the_scale(
    runs: dict[str, list[dict[str, Any]]], name: str
) -> None:
    half, full = runs[name]
    assert half["scales"] == [ENDS.get(name, START / 2)]
    assert half["weights"] == pytest.approx(full["weights"], abs=2e-3)
    assert half["weights"] != full["weights"]


@pytest.mark.parametrize("name", OFF)
def test_nothing_is_scaled_where_it_is_switched_off(
    runs: dict[str, list[dict[str, Any]]], name: str
) -> None:
    assert runs[name][0]["scales"] == [1.0] * (name == "O0")


def test_what_was_registered_as_half_is_half_under_autocast() -> None:
    file = TESTS / "frameworks/run_half_anyway.py"
    types = run_python(file, "torch")
    assert types.keys() == HALF_ANYWAY
    assert set(types.values()) == {"torch.float16"}


def test_names_of_torch_amp_mean_what_those_of_torch_cuda_amp_meant() -> None:
    programs = [example for example in CUDA_AMP.examples if "class Square" in example.before]
    texts = [text for example in programs for text in (example.before, example.after)]
    facts = run_python(TESTS / "frameworks/run_torch_amp_names.py", "torch", json.dumps(texts))
    assert facts["squares"] == [[9.0, 6.0]] * len(texts) != []
    assert facts["subclasses"] == [True, True], "isinstance asks for the new class"
    assert facts["first"] == ["device_type", "device"]
    given = {word for words in facts["old"].values() for word in words}
    assert not given & {"device", "device_type"}, "**options cannot contain the new argument"
    assert facts["old"]["autocast"] == ["enabled", "dtype", "cache_enabled"]
