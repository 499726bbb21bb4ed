"""The scoring of a labelled corpus, on a corpus of one made-up file."""

from __future__ import annotations

import copy
import io
import json
import runpy
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "lift_corpus"
SCRIPT = """\
import torch

optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step, (x, y) in enumerate(loader):
    loss = torch.nn.functional.cross_entropy(model(x), y) / 4
    loss.backward()
    if (step + 1) % 4 == 0:
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
"""
ENTRY: dict[str, Any] = {
    "id": "x-1",
    "repo": "some/one",
    "path": "train.py",
    "commit": "0123456789" * 4,
    "category": "plain",
    "difficulty": "plain",
    "companions": [],
    "bugs": [],
    "tolerated": ["TAIL_LEAK", "TAIL_CARRY"],
    "labels": {
        "framework": "pytorch",
        "api": ["none"],
        "precision": {"enabled": "never", "dtypes": ["fp32"], "default_dtype": "fp32", "lines": []},
        "loss_scaling": {"mode": "none", "lines": []},
        "accumulation": {
            "present": True,
            "steps": 4,
            "default": 4,
            "effective_default": 4,
            "source": "literal",
            "loss_divided": "yes",
            "tail": "dropped",
            "no_sync": "n/a",
            "lines": [7],
        },
        "zero_grad": {"where": "after_step", "lines": [10]},
        "clip": {
            "kind": "global_norm",
            "value": 1.0,
            "source": "literal",
            "unscaled_first": "n/a",
            "per": "step",
            "lines": [8],
        },
        "scaler_update": {"status": "n/a", "lines": []},
        "optimizers": [{"family": "sgd", "name": "SGD", "lr": 0.1, "lines": [3]}],
        "schedule": {
            "decay": "none",
            "warmup": None,
            "has_warmup": False,
            "stepped_per": "n/a",
            "on_skip": "n/a",
            "lines": [],
        },
        "activation_checkpointing": {"mode": "none"},
        "parallel": {"kind": ["none"], "backend": None, "world_size": None, "lines": []},
    },
}


ALONE = {"train.py": SCRIPT}


Start = Callable[[list[str]], str]
"""Run the benchmark with arguments, and return what it prints."""


def in_a_process(arguments: list[str]) -> str:
    command = [sys.executable, str(BENCHMARK), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def in_this_process(arguments: list[str]) -> str:
    """Leave no module behind: those of other benchmarks have the same names."""
    names = {path.stem for path in BENCHMARK.glob("*.py")} - {"__main__"}
    held = {name: sys.modules.pop(name) for name in names & sys.modules.keys()}
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(io.StringIO()) as printed:
        patch.setattr(sys, "argv", [str(BENCHMARK), *arguments])
        try:
            runpy.run_path(str(BENCHMARK), run_name="__main__")
        finally:
            for name in names:
                sys.modules.pop(name, None)
            sys.modules.update(held)
    return printed.getvalue()


def run(
    tmp_path: Path,
    entry: dict[str, Any],
    files: Mapping[str, str],
    kind: str = "A",
    start: Start = in_this_process,
) -> tuple[dict[str, Any], str]:
    folder = tmp_path / "files" / "some+one@01234567"
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_text(content)
    labels = tmp_path / "labels.json"
    labels.write_text(json.dumps({"entries": [entry]}))
    told = [str(labels), str(tmp_path / "files"), "--run", kind, "--show", "--json"]
    text, _, data = start(told).partition(f'\n{{\n "{kind}"')
    result: dict[str, Any] = json.loads(f'{{\n "{kind}"' + data)[kind]
    return result, text


def test_right_labels_give_full_marks(tmp_path: Path) -> None:
    result, text = run(tmp_path, ENTRY, ALONE, start=in_a_process)
    assert result["parsed"] == 1.0, text
    assert result["presence_f1"] == 1.0, text
    assert (result["precision"], result["recall"]) == (1.0, 1.0), text
    assert result["false_alarms"] == 0, text


@pytest.mark.parametrize(
    ("section", "field", "value", "shown"),
    [
        ("accumulation", "steps", 8, "accumulation.steps"),
        ("accumulation", "effective_default", 2, "effective_default"),
        ("clip", "kind", "value", "clip.kind"),
        ("clip", "kind", "none", "presence clipping"),
        ("schedule", "decay", "cosine", "presence schedule"),
        ("clip", "kind", "elsewhere", "overclaim clip.kind"),
    ],
)
def test_wrong_labels_are_disagreements_with_their_names(
    tmp_path: Path, section: str, field: str, value: Any, shown: str
) -> None:
    entry = copy.deepcopy(ENTRY)
    entry["labels"][section][field] = value
    result, text = run(tmp_path, entry, ALONE)
    assert shown in text
    worse = result["presence_f1"] < 1 or result["precision"] < 1 or result["overclaims_per_100"]
    assert worse


def test_a_labelled_defect_that_is_not_there_is_missed(tmp_path: Path) -> None:
    entry = copy.deepcopy(ENTRY)
    entry["bugs"] = [{"code": "DOUBLE_STEP", "severity": "error", "lines": [9], "note": "no"}]
    result, text = run(tmp_path, entry, ALONE)
    assert result["defect_recall"] == 0.0
    assert "missed error DOUBLE_STEP" in text


@pytest.mark.parametrize("source", ["literal", "config_external"])
def test_numbers_of_another_file_do_not_count_for_the_file_alone(
    tmp_path: Path, source: str
) -> None:
    entry = copy.deepcopy(ENTRY)
    entry["labels"]["optimizers"] = [{"family": "sgd", "lr": 0.2, "source": source, "lines": [3]}]
    for kind in ("A", "B"):
        _, text = run(tmp_path, entry, ALONE, kind)
        assert ("optimizer.lr" in text) is (source == "literal" or kind == "B"), kind


def test_numbers_are_compared_by_value_name_or_default() -> None:
    sys.path.insert(0, str(BENCHMARK))
    try:
        from numbers_match import judge  # type: ignore[import-not-found]
    finally:
        sys.path.remove(str(BENCHMARK))
    assert judge(1.0, 1, "") == "right"
    assert judge("2**16", 65536.0, "") == "right"
    assert judge(1.0, 2.0, "") == "wrong"
    assert judge(1.0, None, "args.clip") == "missed"
    assert judge("args.clip", None, "flags.clip") == "right"
    assert judge("args.clip", 5.0, "args.other", 5.0) == "right"
    assert judge("args.clip (5.0)", 5.0, "") == "right"
    assert judge("args.clip", 4.0, "args.other", 5.0) == "wrong"
    assert judge("schedule", 0.1, "") == ""


SPLIT = {
    "train.py": SCRIPT.replace(
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n",
        "from helper import build\n\noptimizer = build(model)\n",
    ),
    "helper.py": "import torch\n\n\ndef build(model):\n"
    "    return torch.optim.SGD(model.parameters(), lr=0.1)\n",
}
"""The same program, its optimizer in another file."""


@pytest.mark.parametrize("path", ["train.py", "helper.py"])
def test_what_only_a_companion_says_is_no_claim_about_the_file(tmp_path: Path, path: str) -> None:
    entry = copy.deepcopy(ENTRY)
    entry["path"] = path
    entry["companions"] = [{"path": name} for name in SPLIT if name != path]
    entry["labels"]["optimizers"] = [{"family": "elsewhere", "lines": []}]
    result, text = run(tmp_path, entry, SPLIT, "B")
    assert bool(result["overclaims_per_100"]) is (path == "helper.py"), text
    entry["labels"]["optimizers"] = [{"family": "sgd", "lr": 0.2, "lines": []}]
    result, text = run(tmp_path, entry, SPLIT, "B")
    assert "optimizer.lr" in text


def test_a_schedule_of_another_file_is_missed_not_wrong(tmp_path: Path) -> None:
    entry = copy.deepcopy(ENTRY)
    entry["labels"]["schedule"] |= {"decay": "poly", "has_warmup": True, "stepped_per": "step"}
    text = SCRIPT.replace(
        "for step",
        "from ours import RateScheduler\n\nschedule = RateScheduler(optimizer)\nfor step",
    )
    text = text.replace(
        "        optimizer.zero_grad()\n",
        "        optimizer.zero_grad()\n        schedule.step()\n",
    )
    result, shown = run(tmp_path, entry, {"train.py": text})
    assert result["precision"] == 1.0, shown
    assert result["recall"] < 1.0, shown
