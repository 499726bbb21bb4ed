"""Processes: how each end is told, and that nothing is left behind."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from crosscast_parity import process
from crosscast_parity.process import Job, Outcome, child_environment, log_tail, run_jobs

STATUS = "import json, pathlib; pathlib.Path('status.json').write_text(json.dumps({'status': %r}))"


def make_job(
    folder: Path,
    code: str,
    *,
    name: str = "run",
    timeout: float = 30.0,
    environment: Mapping[str, str] | None = None,
) -> Job:
    output = folder / name
    output.mkdir()
    return Job(
        name=name,
        command=(sys.executable, "-c", code),
        folder=output,
        output=output,
        timeout=timeout,
        environment=child_environment(threads=1, device="cpu") | dict(environment or {}),
    )


def run_one(folder: Path, code: str, timeout: float = 30.0) -> Outcome:
    return run_jobs([make_job(folder, code, timeout=timeout)], limit=1)[0]


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        ("finished", 0, "finished"),
        ("stopped", 1, "stopped"),
        ("failed", 2, "failed"),
        ("cannot_run", 3, "cannot_run"),
        ("stopped", 130, "interrupted"),
        ("failed", 77, "failed"),
    ],
)
def test_exit_code_and_status_together_say_the_end(
    tmp_path: Path, status: str, code: int, kind: str
) -> None:
    outcome = run_one(tmp_path, f"{STATUS % status}; raise SystemExit({code})")
    assert (outcome.kind, outcome.exit_code) == (kind, code)


@pytest.mark.parametrize(("status", "code"), [("finished", 1), ("stopped", 0), ("finished", 3)])
def test_a_contradiction_is_a_failure(tmp_path: Path, status: str, code: int) -> None:
    outcome = run_one(tmp_path, f"{STATUS % status}; raise SystemExit({code})")
    assert outcome.kind == "failed"
    assert "contradicts" in outcome.message


def test_an_end_without_status_is_a_failure_with_its_log(tmp_path: Path) -> None:
    outcome = run_one(tmp_path, "raise ValueError('the reason')")
    assert (outcome.kind, outcome.exit_code) == ("failed", 1)
    assert "ValueError: the reason" in outcome.log_tail
    assert run_one(tmp_path / "run", "print('nothing')").kind == "failed"


def test_a_missing_package_cannot_run(tmp_path: Path) -> None:
    outcome = run_one(tmp_path, "import package_of_nobody.part")
    assert outcome.kind == "cannot_run"
    assert "package_of_nobody" in outcome.message


def test_a_signal_is_named(tmp_path: Path) -> None:
    outcome = run_one(tmp_path, "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    assert (outcome.kind, outcome.message) == ("failed", "ended by SIGSEGV")


def test_an_interpreter_that_is_not_there_cannot_run(tmp_path: Path) -> None:
    job = make_job(tmp_path, "")
    absent = Job(
        name="run",
        command=("/nowhere/python", "x"),
        folder=job.folder,
        output=job.output,
        timeout=9,
        environment={},
    )
    good = make_job(tmp_path, STATUS % "finished", name="good")
    first, second = run_jobs([absent, good], limit=1)
    assert (first.kind, first.exit_code) == ("cannot_run", None)
    assert "/nowhere/python" in first.message
    assert second.kind == "finished"


def alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def gone(pid: int) -> bool:
    end = time.monotonic() + 5
    while alive(pid) and time.monotonic() < end:
        time.sleep(0.02)
    return not alive(pid)


SPAWN = """
import pathlib, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
pathlib.Path("child").write_text(str(child.pid))
"""


def test_a_timeout_ends_the_whole_group(tmp_path: Path) -> None:
    outcome = run_one(tmp_path, SPAWN + "print('started', flush=True); time.sleep(60)", timeout=1.0)
    assert outcome.kind == "timeout"
    assert outcome.message == "killed after 1 s"
    assert "started" in outcome.log_tail
    assert gone(int((tmp_path / "run" / "child").read_text()))


def test_a_script_that_ignores_the_request_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "GRACE_SECONDS", 0.2)
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"
    started = time.monotonic()
    assert run_one(tmp_path, code, timeout=0.5).kind == "timeout"
    assert time.monotonic() - started < 10


def test_workers_left_behind_by_a_clean_end_are_ended(tmp_path: Path) -> None:
    assert run_one(tmp_path, SPAWN + STATUS % "finished").kind == "finished"
    assert gone(int((tmp_path / "run" / "child").read_text()))


def test_interrupt_ends_all_and_says_so(tmp_path: Path) -> None:
    quick = make_job(tmp_path, STATUS % "finished", name="quick")
    slow = make_job(tmp_path, SPAWN + "time.sleep(60)", name="slow")
    never = make_job(tmp_path, STATUS % "finished", name="never")

    def interrupt(job: Job, outcome: Outcome) -> None:
        if job.name == "quick":
            while not (tmp_path / "slow" / "child").exists():
                time.sleep(0.02)
            time.sleep(0.1)
            raise KeyboardInterrupt

    outcomes = run_jobs([quick, slow, never], limit=2, on_end=interrupt)
    assert [outcome.kind for outcome in outcomes] == ["finished", "interrupted", "interrupted"]
    assert "not started" in outcomes[2].message
    assert gone(int((tmp_path / "slow" / "child").read_text()))


def test_another_error_leaves_no_process_behind(tmp_path: Path) -> None:
    quick = make_job(tmp_path, "", name="quick")
    slow = make_job(tmp_path, SPAWN + "time.sleep(60)", name="slow")

    def explode(job: Job, outcome: Outcome) -> None:
        while not (tmp_path / "slow" / "child").exists():
            time.sleep(0.02)
        time.sleep(0.1)
        raise RuntimeError("in the callback")

    with pytest.raises(RuntimeError, match="in the callback"):
        run_jobs([quick, slow], limit=2, on_end=explode)
    assert gone(int((tmp_path / "slow" / "child").read_text()))


def test_at_most_limit_run_at_a_time_and_order_is_kept(tmp_path: Path) -> None:
    code = "import pathlib, time; print(time.monotonic()); time.sleep(0.3); print(time.monotonic())"
    jobs = [make_job(tmp_path, code, name=str(n)) for n in range(4)]
    ended: list[str] = []
    outcomes = run_jobs(jobs, limit=2, on_end=lambda job, _: ended.append(job.name))
    spans = [[float(x) for x in outcome.log_tail.split()] for outcome in outcomes]
    starts = [start for start, _ in spans]
    assert max(sum(s <= t < e for s, e in spans) for t in starts) == 2
    assert max(starts[:2]) < min(starts[2:])
    assert sorted(ended) == ["0", "1", "2", "3"]


def test_environment_is_fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CROSSCAST_ANYTHING", "1")
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(("/somewhere", "near")))
    found = child_environment(threads=2, device="cpu", extra={"MORE": "x"})
    assert not any(name.startswith("CROSSCAST") for name in found)
    assert {found[f"{n}_NUM_THREADS"] for n in ("OMP", "MKL", "OPENBLAS")} == {"2"}
    assert found["TF_NUM_INTRAOP_THREADS"] == "2"
    assert found["PYTHONPATH"] == os.pathsep.join(("/somewhere", str(Path("near").absolute())))
    assert found["TF_ENABLE_ONEDNN_OPTS"] == "0"
    assert (found["PYTHONHASHSEED"], found["CUDA_VISIBLE_DEVICES"], found["MORE"]) == ("0", "", "x")
    assert child_environment(threads=1, device="gpu")["CUDA_VISIBLE_DEVICES"] == "0"
    assert os.environ["OMP_NUM_THREADS"] == "7"


def test_stdin_is_empty(tmp_path: Path) -> None:
    assert (
        "read ''" in run_one(tmp_path, "import sys; print('read', repr(sys.stdin.read()))").log_tail
    )


def test_log_tail_is_short_printable_text(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"first\n" + b"x" * 50 + b"\r\n\x1b[31mred\x1b[0m\x07\x00 \xff end\n")
    assert log_tail(path, 40) == "red \N{REPLACEMENT CHARACTER} end\n"
    assert log_tail(tmp_path / "absent") == ""
