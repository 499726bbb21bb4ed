"""A script that asks for a GPU is redirected where there is none, and the proof says so."""

from __future__ import annotations

from dataclasses import replace

from crosscast_parity.inside import updates
from crosscast_parity.side_by_side import on_cpu
from crosscast_parity.side_by_side.on_cpu import NOTE
from crosscast_parity.side_by_side.proof import prove
from crosscast_parity.side_by_side.recording import Recording
from crosscast_parity.side_by_side.running import Limits, Ran
from proven_runs import NEW, PROGRAM, OnCpu
from recorded_runs import off, times

NO_GPU = Ran(
    recording=Recording(error="AssertionError: Torch not compiled with CUDA enabled"),
    problem="it ended with exit code 1: AssertionError: Torch not compiled with CUDA enabled",
)


def test_a_script_that_asks_for_a_gpu_is_kept_on_the_cpu() -> None:
    runs = OnCpu(old=[NO_GPU, times(3), times(3)], new=[times(3)])
    found = prove(PROGRAM, NEW, Limits(), run=runs)
    assert found.outcome == "same"
    assert NOTE in found.notes
    assert runs.requests == ["given", "kept", "kept", "kept"]


def test_only_a_script_that_fails_for_want_of_a_gpu_is_kept_on_the_cpu() -> None:
    for gone in (
        Ran(recording=Recording(), problem="it ended with exit code 1: ValueError: augpus"),
        replace(NO_GPU, problem=""),
    ):
        runs = OnCpu(old=[gone, *([] if gone.problem else [gone])], new=[times(3)])
        found = prove(PROGRAM, NEW, Limits(), run=runs)
        assert set(runs.requests) == {"given"}
        assert NOTE not in found.notes
    runs = OnCpu(old=[NO_GPU], new=[times(3)])
    gpu = replace(PROGRAM, device="gpu")
    assert prove(gpu, replace(NEW, device="gpu"), Limits(), run=runs).outcome != "same"
    assert runs.requests == ["given", "given"]


def test_a_migrated_script_alone_is_kept_on_the_cpu_too() -> None:
    gone = Ran(recording=Recording(), problem="it ended with exit code 1: x", missing="horovod")
    runs = OnCpu(old=[gone], new=[NO_GPU, times(3)])
    found = prove(PROGRAM, NEW, Limits(), run=runs)
    assert (found.alone, found.notes) == (3, (NOTE,))
    assert runs.requests == ["given", "given", "kept"]


def test_whatever_comes_of_runs_on_the_cpu_says_so() -> None:
    other = times(3, backwards=1)
    runs = OnCpu(old=[NO_GPU, times(3), times(3), times(3)], new=[other, other])
    found = prove(PROGRAM, NEW, Limits(), run=runs)
    assert (found.outcome, found.notes) == ("different", (NOTE,))
    gone = Ran(recording=Recording(), problem="it ended with exit code 1: RuntimeError: streams")
    runs = OnCpu(old=[NO_GPU, gone], new=[times(3)])
    found = prove(PROGRAM, NEW, Limits(), run=runs)
    assert found.wording.startswith("the original: it ended with exit code 1: RuntimeError")
    assert found.notes == (NOTE,)
    runs = OnCpu(old=[NO_GPU, times(3), times(3, **off(1e-9))], new=[])
    found = prove(PROGRAM, NEW, Limits(), run=runs)
    assert (found.outcome, found.notes) == ("cannot be verified here", (NOTE,))


def test_both_ends_know_one_variable() -> None:
    assert on_cpu.STAYS_ON_CPU == updates.STAYS_ON_CPU


def test_what_errors_say_without_naming_a_gpu_is_a_property_of_the_backend() -> None:
    gone = Ran(recording=Recording(), problem="ValueError: No available device found.")
    paddle = replace(PROGRAM, framework="paddle")
    assert on_cpu.asked_for_gpu(paddle, gone)
    assert not on_cpu.asked_for_gpu(PROGRAM, gone)


def test_where_the_cpu_does_not_help_the_first_run_counts() -> None:
    runs = OnCpu(old=[NO_GPU, NO_GPU], new=[times(3)])
    found = prove(PROGRAM, NEW, Limits(), run=runs)
    assert "Torch not compiled with CUDA" in found.wording
    assert found.hint.startswith("use --device gpu")
    assert found.notes == ()
