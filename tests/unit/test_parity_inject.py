"""Fault injection: from outside, into the one micro-batch that was named."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from crosscast.messages.diagnostics import DiagnosticError
from crosscast_parity.inside.inject import LAST, Fault, make_injector, parse_fault, poisoned_inputs
from crosscast_parity.planning.contestants import check_names, of_targets
from crosscast_parity.planning.options import choose_reference_name, make_options, read_interpreters
from crosscast_parity.planning.overflows import choose_faults
from crosscast_parity.recipes.window_rows import expected_counts
from crosscast_parity.runs.workspace import place_runner
from parity_fakes import make_recipe


def test_faults_are_read_and_written() -> None:
    assert parse_fault("2:1=inf") == Fault(2, 1, "inf")
    for text in ("5:0=nan", "5:0=-inf", "0:3=inf@bert.*.bias", "1:0=nan@input:pixel*"):
        assert str(parse_fault(text)) == text
    assert parse_fault("5:0=-inf@a.b*") == Fault(5, 0, "-inf", "a.b*")
    assert parse_fault("3:last=nan") == Fault(3, LAST, "nan")
    assert str(Fault(3, LAST, "nan")) == "3:last=nan"


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_last_micro_batch_is_that_of_the_window(count: int) -> None:
    faults = [Fault(0, LAST, "inf"), Fault(0, 2, "inf", "")]
    seen: list[float] = []
    module = SimpleNamespace(
        micro_batch_loss=lambda batch: batch,
        train_window=lambda state, batches, fn: seen.extend(map(fn, batches)),
    )
    injector = make_injector("", faults)
    injector.install(module)
    state = SimpleNamespace(windows=0)
    module.train_window(state, [1.0] * count, module.micro_batch_loss)
    assert seen == [1.0] * (count - 1) + [math.inf]
    assert injector.applied == set(faults if count == 3 else faults[:1])


@pytest.mark.parametrize("tail", ["flush", "flush_renormalized", "drop", "carry"])
@pytest.mark.parametrize("rest", [1, 4, 7, 9])
def test_the_usual_faults_all_lie_in_micro_batches_that_exist(tail: str, rest: int) -> None:
    """Window 3 is short where tails are flushed."""
    recipe = make_recipe(
        batch={"micro_batch_size": 4, "global_batch_size": 16},
        accumulation={"steps": 4, "tail": tail},
        data={"train_rows": 48 + rest},
    )
    counts = [n for n, _ in islice(expected_counts(recipe, 48 + rest), 7)]
    faults = choose_faults(recipe, None)
    assert [fault.place(counts[fault.window]) is not None for fault in faults] == [True] * 3
    assert str(faults[1]) == "3:last=nan"
    (last,) = choose_faults(recipe, (Fault(3, counts[3] - 1, "nan"),))
    assert last.place(counts[3]) == counts[3] - 1
    with pytest.raises(
        DiagnosticError, match=f"window 3 has the micro-batches 0 to {counts[3] - 1}"
    ):
        choose_faults(recipe, (Fault(3, counts[3], "nan"),))


@pytest.mark.parametrize(
    "text",
    [
        *("", "2=inf", "2:1", "2:1=0", "2:1=+inf", "2:1=-nan", "-2:1=inf", "2:1=inf ", "2:1=inf\n"),
        *("٢:1=inf", "2:1=inf@", "2:1=inf@a b", "2:1=inf@a\n", "2:1=inf@input:", "2:1=infa"),
    ],
)
def test_other_texts_are_no_fault(text: str) -> None:
    with pytest.raises(ValueError, match="is not WINDOW:MICRO"):
        parse_fault(text)


def losses(faults: Sequence[Fault], windows: int, start: int = 0) -> list[list[float]]:
    """The losses a script would see, per window; it looks at the micro-batches twice."""
    seen: list[list[float]] = []

    def train_window(state: Any, micro_batches: Sequence[float], loss_fn: Any) -> int:
        assert len(micro_batches) == 3
        assert sum(micro_batches) == 6.0
        assert micro_batches[-1] == 3.0
        seen.append([loss_fn(batch) for batch in micro_batches])
        state.windows += 1
        return 7

    module = SimpleNamespace(micro_batch_loss=lambda batch: batch * 1.5, train_window=train_window)
    make_injector("", faults).install(module)
    state = SimpleNamespace(windows=start)
    for _ in range(windows):
        assert module.train_window(state, [1.0, 2.0, 3.0], module.micro_batch_loss) == 7
        assert module.micro_batch_loss(1.0) == 1.5  # as in an evaluation between windows
    return seen


def test_only_the_named_micro_batch_is_poisoned() -> None:
    clean = [1.5, 3.0, 4.5]
    found = losses([Fault(1, 2, "inf"), Fault(2, 0, "nan")], 4)
    assert found[0] == found[3] == clean
    assert found[1] == [1.5, 3.0, math.inf]
    assert math.isnan(found[2][0])
    assert found[2][1:] == clean[1:]
    assert losses([], 1) == [clean]


def test_a_pattern_chooses_names_as_a_shell_does() -> None:
    names = ["a.weight", "a.bias", "A.bias", "b[0]"]
    assert Fault(0, 0, "inf", "a.*").chooses(names) == ["a.weight", "a.bias"]
    assert Fault(0, 0, "inf", "[ab].bias").chooses(names) == ["a.bias"]
    assert Fault(0, 0, "inf", "input:a.w*").chooses(names) == ["a.weight"]
    assert Fault(0, 0, "inf", "weight").chooses(names) == []


def test_the_data_of_one_micro_batch_is_poisoned_in_a_copy() -> None:
    pixels, ids = np.ones((2, 2), np.float32), np.ones(2, np.int64)
    given = {"pixels": pixels, "labels": ids}
    found = poisoned_inputs(Fault(0, 0, "-inf", "input:*"), given)
    assert found["pixels"].tolist() == [[-math.inf, 1.0], [1.0, 1.0]]
    assert found["labels"] is ids
    assert given["pixels"] is pixels
    assert pixels.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    with pytest.raises(SystemExit) as caught:
        poisoned_inputs(Fault(0, 0, "nan", "input:labels"), given)
    assert caught.value.code == 2


def test_windows_count_from_where_the_run_starts() -> None:
    found = losses([Fault(11, 0, "inf")], 3, start=10)
    assert [math.isinf(window[0]) for window in found] == [False, True, False]


def test_the_factor_is_one_again_after_an_error() -> None:
    def train_window(state: Any, micro_batches: Sequence[float]) -> None:
        for _ in micro_batches:
            raise RuntimeError

    module = SimpleNamespace(micro_batch_loss=lambda batch: batch, train_window=train_window)
    make_injector("", [Fault(0, 0, "inf")]).install(module)
    with pytest.raises(RuntimeError):
        module.train_window(SimpleNamespace(windows=0), [1.0])
    assert module.micro_batch_loss(2.0) == 2.0


SCRIPT = """
import sys
from helper import NAME
from types import SimpleNamespace

def micro_batch_loss(batch):
    return batch

def train_window(state, micro_batches):
    return [micro_batch_loss(b) for b in micro_batches]

def main(argv=None):
    print(NAME, argv, train_window(SimpleNamespace(windows=0), [1.0, 2.0]))
    return 3

if __name__ == "__main__":
    sys.exit("the main part must not run")
"""


def runner(tmp_path: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    """Run the copied runner in an interpreter that sees nothing else of crosscast."""
    script = tmp_path / "target" / "train.py"
    script.parent.mkdir(exist_ok=True)
    script.write_text(SCRIPT)
    (script.parent / "helper.py").write_text("NAME = 'mine'\n")
    place_runner(tmp_path)
    command = [
        sys.executable,
        "-S",
        "-m",
        "crosscast_parity.inside.runner",
        "--script",
        str(script),
        *flags,
    ]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(tmp_path / "runner")},
        cwd=tmp_path,
        timeout=30,
    )


def test_runner_calls_main_of_the_unchanged_script(tmp_path: Path) -> None:
    flags = ("--inside", "crosscast_torch.inside", "--fault", "0:1=inf")
    done = runner(tmp_path, *flags, "--", "--windows", "4", "--resume")
    assert done.stderr == ""
    assert done.stdout == "mine ['--windows', '4', '--resume'] [1.0, inf]\n"
    assert done.returncode == 3


def test_runner_refuses_what_it_does_not_understand(tmp_path: Path) -> None:
    done = runner(tmp_path, "--inside", "crosscast_torch.inside", "--fault", "0:1=7")
    assert done.returncode == 2
    assert "WINDOW:MICRO" in done.stderr
    assert runner(tmp_path, "--inside", "abacus").returncode == 2


def refused(**options: Any) -> str:
    with pytest.raises(DiagnosticError) as caught:
        make_options(Path("x"), **options)
    return caught.value.diagnostics[0].code


@pytest.mark.parametrize(
    "bad",
    [
        {"memory": math.nan},
        {"memory": math.inf},
        {"windows": 0},
        {"threads": 0},
        {"jobs": 0},
        {"twins": -1},
        {"timeout": 0.0},
        {"timeout": math.nan},
        {"memory": -1.0},
        {"half": "emulated", "device": "gpu"},
    ],
)
def test_options_that_make_no_sense_are_refused(bad: dict[str, Any]) -> None:
    assert refused(**bad) == "CC707"


@pytest.mark.parametrize("names", [[], ["torch", "torch"]])
def test_targets_are_named_once_and_at_least_one(names: list[str]) -> None:
    with pytest.raises(DiagnosticError) as caught:
        check_names(of_targets(names, make_recipe(), {}))
    assert caught.value.diagnostics[0].code == "CC707"


@pytest.mark.parametrize("text", ["torch", "torch=", "tensorflow=/bin/python"])
def test_interpreters_that_make_no_sense_are_refused(text: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        read_interpreters([text], ["torch", "paddle"])
    assert caught.value.diagnostics[0].code == "CC707"


def test_a_reference_that_does_not_take_part_is_refused() -> None:
    with pytest.raises(DiagnosticError) as caught:
        choose_reference_name(["torch", "paddle"], "tensorflow")
    assert caught.value.diagnostics[0].code == "CC707"


def test_faults_on_the_command_line() -> None:
    assert refused(faults=["1:1=big"]) == "CC705"
    assert refused(faults=["none", "1:1=inf"]) == "CC705"
    assert refused(faults=["9999:1=inf"]) == "CC705"
    assert refused(faults=["1:1=inf@"]) == "CC705"
    given = make_options(Path("x"), faults=["1:1=inf"])
    assert given.faults == (Fault(1, 1, "inf"),)
    both = ["1:1=-inf@*.bias", "1:1=nan@input:x"]
    assert make_options(Path("x"), faults=both).faults == (
        Fault(1, 1, "-inf", "*.bias"),
        Fault(1, 1, "nan", "input:x"),
    )
    assert make_options(Path("x"), faults=["none"]).faults == ()
    assert make_options(Path("x")).faults is None


def test_options_are_completed() -> None:
    found = make_options(Path("x"), threads=1000)
    assert found.workdir.is_absolute()
    assert found.jobs == 1
    assert choose_reference_name(["paddle", "torch"], found.reference) == "torch"
    assert choose_reference_name(["paddle"], found.reference) == "paddle"


def test_interpreters_are_found_from_here_or_on_the_path() -> None:
    targets = ["paddle", "torch"]
    python = read_interpreters(["paddle=some/python"], targets)
    paddle, torch = of_targets(targets, make_recipe(), python)
    assert paddle.python == str(Path.cwd() / "some/python")
    assert torch.python == sys.executable
    assert read_interpreters(["torch=py3"], targets) == {"torch": "py3"}
