"""The executed proof of migrations in place, for real: planted mistakes are found, by name."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from crosscast_parity.side_by_side.running import Limits
from frameworks.subprocesses import TESTS, require, warm
from side_by_side import Bench, migrated
from tiers import cases, exhaustive

pytestmark = pytest.mark.torch

PEERS = TESTS.parent / "benchmarks" / "migrate_peers"
OLD = """\
import torch
from torch.cuda.amp import GradScaler, autocast

torch.manual_seed(3)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 4))
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.1)
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: min(1.0, (n + 1) / 4))
scaler = GradScaler(init_scale=1024.0)
rows = torch.randn(96, 8)
labels = torch.randint(0, 4, (96,))
for number in range(24):
    part = slice(4 * number, 4 * number + 4)
    with autocast():
        loss = torch.nn.functional.cross_entropy(model(rows[part]), labels[part]) / 2
    scaler.scale(loss).backward()
    if number % 2:
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.3)
        scaler.step(optimizer)
        scaler.update()
        schedule.step()
        optimizer.zero_grad()
"""
STEP = "        scaler.step(optimizer)\n        scaler.update()\n"
UNSCALE = "        scaler.unscale_(optimizer)\n"
CLIP = "        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.3)\n"
NO_SKIP = "        optimizer.step()\n        scaler.update()\n"
SKIPS_NONE = """for one in scaler._per_optimizer_states[id(optimizer)].values():
            for found in one.values() if isinstance(one, dict) else ():
                found.zero_()
        scaler.step(optimizer)
"""
PLANTED = {
    "rate": ("lr=3e-3", "lr=3.1e-3", "rate", "optimizer.learning_rate", 1),
    "decay": ("weight_decay=0.1", "weight_decay=0.01", "weight_decay", None, 1),
    "default decay": ("AdamW(", "Adam(", "changes", "", 1),
    "no clip": (CLIP, "", "clipping", "clipping.kind", 1),
    "clip by hand gone": ("_(model.parameters(), 0.3)", "_([], 0.3)", "norm", "", 1),
    "no unscale": (UNSCALE, "", "norm", "", 1),
    "no division": (", labels[part]) / 2", ", labels[part])", "norm", "", 1),
    "no accumulation": ("if number % 2:", "if True:", "backwards", "accumulation.steps", 1),
    "no zeroing": ("        optimizer.zero_grad()\n", "        pass\n", "norm", "", 2),
    "another scale": ("init_scale=1024.0", "init_scale=512.0", "scale", None, 1),
    "no skip": (STEP, NO_SKIP, "skips", "loss_scaling.mode", 1),
    "never skips": ("scaler.step(optimizer)\n", SKIPS_NONE, "skips", "loss_scaling.mode", 3),
    "fewer updates": ("range(24)", "range(20)", "updates", "", 11),
    "other weights": ("seed(3)", "seed(4)", "norm", "", 1),
    "dies": ("range(24)", "[*range(8), None]", "ended", "", 5),
    "changed outside": ("rows = torch", "model[0].bias.data += 1\nrows = torch", None, "", 1),
}


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    require("torch")
    folder = tmp_path_factory.mktemp("own")
    (folder / "train.py").write_text("raise SystemExit('the copy was not written over')\n")
    return Bench(folder, "torch", Limits(seconds=300.0), warm("torch"))


def test_a_migration_trains_the_same(bench: Bench) -> None:
    found = bench.prove(OLD, migrated(OLD))
    assert found.outcome == "same", found.wording
    assert found.exact
    assert found.updates == 12
    assert found.shown["clipping.max_norm"].startswith("global_norm 0.3 on both sides; it cut")
    assert found.shown["schedule.name"] == "the same rates on both sides, 0.00075 to 0.003, " + (
        "in 12 updates"
    )
    assert found.shown["loss_scaling.init_scale"] == "1024 at the first update on both sides"
    assert found.shown["loss_scaling.backoff_factor"].startswith("the scale falls from 1024 to 512")
    assert found.shown["optimizer.weight_decay"] == "both optimizers received 0.1"
    assert found.shown["accumulation.steps"].startswith("2 backward passes")
    assert "loss_scaling.growth_interval" not in found.shown
    assert "precision.mode" not in found.shown
    assert "half precision was not verified" in found.notes[0]
    assert "was enabled on the CPU" in found.notes[1]


@pytest.mark.parametrize(
    "name", cases(PLANTED, quick=[], reason="planted mistakes; with stand-ins in `make test`")
)
def test_a_planted_mistake_is_found(bench: Bench, name: str) -> None:
    old, new, what, field, update = PLANTED[name]
    right = migrated(OLD)
    assert old in right
    found = bench.prove(OLD, right.replace(old, new))
    assert found.outcome == "different", found.wording
    assert found.difference is not None
    if what:
        assert found.difference.what == what, found.wording
    assert found.difference.update == update, found.wording
    if field is not None:
        assert found.differs == field


SAME = {
    "another order of the sum": (
        "cross_entropy(model(rows[part]), labels[part]) / 2",
        "cross_entropy(model(rows[part].flip(0)), labels[part].flip(0)) / 2",
    ),
    "sums by hand": (
        "torch.nn.functional.cross_entropy(model(rows[part]), labels[part]) / 2",
        "-torch.log_softmax(model(rows[part]), 1)[range(4), labels[part]].sum() / 8",
    ),
    "fused": ("lr=3e-3,", "lr=3e-3, foreach=False,"),
}


@pytest.mark.parametrize("name", cases(SAME, quick=[], reason="changes that only round otherwise"))
def test_what_only_rounds_otherwise_is_the_same(bench: Bench, name: str) -> None:
    old, new = SAME[name]
    right = migrated(OLD)
    assert old in right
    found = bench.prove(OLD, right.replace(old, new))
    assert found.outcome == "same", found.wording
    assert found.updates == 12


DRAWS = "rows = torch.randn(96, 8, generator=torch.Generator().manual_seed({}))"


@exhaustive("an original that is not repeatable")
def test_an_original_with_a_randomness_of_its_own_proves_nothing(tmp_path: Path) -> None:
    require("torch")
    own = "import time\n" + OLD.replace("rows = torch.randn(96, 8)", DRAWS.format("time.time_ns()"))
    bench = Fresh(tmp_path, "torch", Limits(seconds=300.0), warm("torch"))
    found = bench.prove(own, migrated(own))
    assert found.outcome == "cannot be verified here"
    assert found.wording.startswith("two runs of the original differ: update 1: ")
    assert bench.names == ["original", "original again"]


@exhaustive("a new script that is not repeatable")
def test_a_new_script_with_a_randomness_of_its_own_is_not_accused(tmp_path: Path) -> None:
    require("torch")
    new = migrated(OLD).replace(
        "rows = torch.randn(96, 8)", DRAWS.format("__import__('time').time_ns()")
    )
    found = Fresh(tmp_path, "torch", Limits(seconds=300.0), warm("torch")).prove(OLD, new)
    assert found.outcome == "cannot be verified here"
    assert found.wording.startswith("two runs of the migrated script differ: update 1:")


class Fresh(Bench):
    """Makes every run, also of equal texts."""

    def run(self, *args: Any, **how: Any) -> Any:
        self._made.clear()
        return super().run(*args, **how)


UNREACHED = """\
import torch
from torch.cuda.amp import GradScaler

torch.manual_seed(3)
model = torch.nn.Linear(8, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for number in range(12):
    loss = model(torch.randn(4, 8)).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


def never():
    return GradScaler()
"""


@exhaustive("lines that no run reaches")
def test_lines_that_are_not_reached_are_told(bench: Bench) -> None:
    both = OLD.replace("scaler = GradScaler", "unused = lambda: 1\nscaler = GradScaler") + (
        "\n\ndef never():\n    return GradScaler()\n"
    )
    found = bench.prove(both, migrated(both))
    assert found.outcome == "same"
    assert any(
        f"not executed: train.py:{len(both.splitlines())}" in note for note in found.notes
    ), found.notes
    found = bench.prove(UNREACHED, migrated(UNREACHED))
    assert found.outcome == "cannot be verified here"
    assert found.wording.startswith("no changed line was executed: train.py:15")


def crosscast(folder: Path, *words: str, **more: str) -> tuple[int, dict[str, Any], str]:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "crosscast",
            "migrate",
            *words,
            "--experimental",
            "--verify",
            "--json",
            "--python",
            warm("torch"),
        ],
        check=False,
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1", **more},
    )
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout), done.stderr


def peer(folder: Path, name: str) -> str:
    text = (PEERS / "inputs" / f"{name}.py").read_text()
    (folder / f"{name}.py").write_text(text)
    return text


ON_GPU = """\
import torch
from torch.cuda.amp import GradScaler

torch.cuda.set_device(0)
model = torch.nn.Linear(8, 4).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
scaler = GradScaler()
for step in range(6):
    inputs = torch.ones(16, 8).to("cuda:0", non_blocking=True)
    labels = torch.zeros(16, dtype=torch.long, device=torch.device("cuda", 0))
    loss = torch.nn.functional.cross_entropy(model(inputs), labels)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
"""


@exhaustive("runs of both sides")
def test_a_script_that_asks_for_a_gpu_is_proven_on_the_cpu(tmp_path: Path) -> None:
    require("torch")
    (tmp_path / "train.py").write_text(ON_GPU)
    code, data, errors = crosscast(tmp_path, "train.py", "--to", "torch.amp", "--run", "train.py")
    assert code == 0, errors
    assert data["execution"]["updates"] == 6
    assert "what the script moves to a GPU stayed on the CPU" in data["execution"]["notes"]
    assert data["summary"]["state"] == "verified"


@exhaustive("the example files of the migration benchmark")
def test_cuda_amp_is_proven(tmp_path: Path) -> None:
    require("torch")
    before = peer(tmp_path, "cuda_amp")
    words = ("cuda_amp.py", "--to", "torch.amp", "--run", "cuda_amp.py")
    code, data, errors = crosscast(tmp_path, *words)
    assert code == 0, errors
    assert data["execution"]["outcome"] == "same"
    assert data["execution"]["exact"]
    assert data["execution"]["updates"] == 64
    evidence = {entry["field"]: entry["evidence"] for entry in data["verification"]}
    assert evidence["optimizer.learning_rate"] == "executed"
    assert evidence["clipping.max_norm"] == "executed"
    assert evidence["precision.mode"] == "read"
    assert (tmp_path / "cuda_amp.py").read_text() == before
    assert {path.name for path in tmp_path.iterdir()} == {"cuda_amp.py"}


@exhaustive("the example files of the migration benchmark")
@pytest.mark.parametrize("name", ["apex_o1", "apex_o2_fused_adam"])
def test_apex_is_proven_where_it_runs(tmp_path: Path, name: str) -> None:
    require("torch")
    peer(tmp_path, name)
    words = (f"{name}.py", "--to", "torch.amp", "--run", f"{name}.py")
    path = os.pathsep.join((str(PEERS / "stand_in"), os.environ.get("PYTHONPATH", "")))
    roots = [str(Path(word).absolute()) for word in path.split(os.pathsep) if word]
    _, data, _ = crosscast(tmp_path, *words, PYTHONPATH=os.pathsep.join(roots))
    assert data["execution"]["outcome"] == "same", data["execution"]
    assert data["execution"]["updates"] == 64


@exhaustive("the example files of the migration benchmark")
def test_where_apex_is_gone_a_stand_in_runs(tmp_path: Path) -> None:
    require("torch")
    peer(tmp_path, "apex_o1")
    words = ("apex_o1.py", "--to", "torch.amp", "--run", "apex_o1.py", "--write")
    _, data, _ = crosscast(tmp_path, *words)
    assert data["execution"]["outcome"] == "same", data["execution"]
    assert data["execution"]["notes"][0].startswith("apex is not installed: a stand-in did")
    assert data["proof"]["level"] == "both sides"
    assert "apex" not in (tmp_path / "apex_o1.py").read_text().replace("apex O1", "")


WRAPPED = """\
import torch
from apex.fp16_utils import FP16_Optimizer

torch.manual_seed(3)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 4))
model = model.half()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
optimizer = FP16_Optimizer(
    optimizer, dynamic_loss_scale=True, dynamic_loss_args={"init_scale": 2**10, "scale_window": 8}
)
rows = torch.randn(96, 8)
labels = torch.randint(0, 4, (96,))
for number in range(24):
    part = slice(4 * number, 4 * number + 4)
    loss = torch.nn.functional.cross_entropy(model(rows[part].half()).float(), labels[part]) / 2
    optimizer.backward(loss, update_master_grads=False)
    if number % 2:
        optimizer.update_master_grads()
        optimizer.clip_master_grads(0.3)
        optimizer.step()
        optimizer.zero_grad()
"""


def test_a_wrapped_optimizer_makes_the_same_updates(tmp_path: Path) -> None:
    require("torch")
    (tmp_path / "train.py").write_text(WRAPPED)
    _, data, errors = crosscast(
        tmp_path, "train.py", "--to", "torch.amp", "--run", "train.py", "--updates", "12"
    )
    assert not data["refusals"], errors
    assert data["execution"]["outcome"] == "same", data["execution"]
    assert data["execution"]["updates"] == 12
    assert "an injected overflow is skipped by both" in data["execution"]["wording"]


PAGE = TESTS.parent / "docs" / "reference" / "migrating.md"
SHOWN = "$ crosscast migrate cuda_amp.py "


@exhaustive("the documented session, as printed")
def test_the_page_shows_what_is_printed(tmp_path: Path) -> None:
    """CROSSCAST_WRITE_GOLDENS=1 rewrites the page."""
    require("torch")
    peer(tmp_path, "cuda_amp")
    text = PAGE.read_text(encoding="utf-8")
    start = text.index(SHOWN)
    end = text.index("```", start)
    command = text[start:end].splitlines()[0]
    done = subprocess.run(
        [sys.executable, "-m", *command.removeprefix("$ ").split()],
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    printed = f"{command}\n{done.stdout}"
    if "CROSSCAST_WRITE_GOLDENS" in os.environ:
        PAGE.write_text(text[:start] + printed + text[end:], encoding="utf-8")
    else:
        assert text[start:end] == printed
