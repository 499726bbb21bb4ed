"""Processes: every way to end is reported, and nothing is left behind."""

from __future__ import annotations

import os
import signal
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from crosscast_parity.processes import process
from crosscast_parity.processes.process import (
    Job,
    Outcome,
    Running,
    child_environment,
    judge_exit,
    log_tail,
    read_job_status,
    start,
)
from crosscast_parity.processes.run_cache import Store
from crosscast_parity.processes.sessions import (
    EventKind,
    Finished,
    Limits,
    OnEvent,
    SessionJob,
    SessionPool,
    SessionRun,
    ignore,
)
from ended_processes import comes, gone

STATUS = "import json, pathlib; pathlib.Path('status.json').write_text(json.dumps({'status': %r}))"


def begin(folder: Path, code: str) -> Running:
    output = folder / "run"
    output.mkdir()
    job = Job(
        name="run",
        command=(sys.executable, "-c", code),
        folder=output,
        output=output,
        timeout=30.0,
        environment=child_environment(threads=1, device="cpu"),
    )
    running = start(job)
    assert isinstance(running, Running)
    return running


def run_one(folder: Path, code: str) -> Outcome:
    """Run a program to its end, and judge that."""
    child = begin(folder, code)
    exit_code = child.process.wait(child.job.timeout)
    child.kill()
    tail = log_tail(child.job.log)
    kind, message = judge_exit(exit_code, *read_job_status(child.job.output), tail)
    return Outcome(kind=kind, message=message, exit_code=exit_code, log_tail=tail)


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        ("finished", 0, "finished"),
        ("stopped", 1, "stopped"),
        ("failed", 1, "failed"),
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
    assert "contradicts" not in outcome.message


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
    job = Job(
        name="run",
        command=("/nowhere/python", "x"),
        folder=tmp_path,
        output=tmp_path,
        timeout=9,
        environment={},
    )
    outcome = start(job)
    assert isinstance(outcome, Outcome)
    assert (outcome.kind, outcome.exit_code) == ("cannot_run", None)
    assert "/nowhere/python" in outcome.message


SPAWN = """
import pathlib, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
pathlib.Path("partial").write_text(str(child.pid))
pathlib.Path("partial").rename("child")
"""


def test_the_whole_group_is_ended(tmp_path: Path) -> None:
    running = begin(tmp_path, "print('started', flush=True)" + SPAWN + "time.sleep(60)")
    assert comes((tmp_path / "run" / "child").exists)
    running.kill()
    assert running.process.returncode == -signal.SIGTERM
    assert "started" in log_tail(running.job.log)
    assert gone(int((tmp_path / "run" / "child").read_text()))


def test_a_script_that_ignores_the_request_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "GRACE_SECONDS", 0.2)
    ignoring = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)"
    running = begin(tmp_path, ignoring + SPAWN + "time.sleep(60)")
    assert comes((tmp_path / "run" / "child").exists)
    running.kill()
    assert running.process.returncode == -signal.SIGKILL
    assert gone(int((tmp_path / "run" / "child").read_text()))


def test_an_interrupt_while_it_waits_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "GRACE_SECONDS", 60)
    ignoring = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)"
    running = begin(tmp_path, ignoring + SPAWN + "time.sleep(60)")
    assert comes((tmp_path / "run" / "child").exists)
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        running.kill()
    timer.join()
    assert running.process.returncode == -signal.SIGKILL
    assert gone(int((tmp_path / "run" / "child").read_text()))


def test_workers_left_behind_by_a_clean_end_are_ended(tmp_path: Path) -> None:
    assert run_one(tmp_path, SPAWN + STATUS % "finished").kind == "finished"
    assert gone(int((tmp_path / "run" / "child").read_text()))


def run_sessions(folder: Path, code: str, count: int, on_event: OnEvent = ignore) -> list[Finished]:
    """Make runs of a script in as many processes, at most two of them at a time."""
    script = folder / "train.py"
    script.write_text(f"def main(argv):\n{textwrap.indent(code, '    ')}")
    jobs = [
        SessionJob(
            name=str(n),
            python=sys.executable,
            inside="",
            emulate=False,
            environment=child_environment(threads=1, device="cpu"),
            runs=(SessionRun(key=str(n), title="", spec={"script": str(script), "arguments": []}),),
        )
        for n in range(count)
    ]
    (folder / "runs").mkdir()
    pool = SessionPool(
        Store(folder / "runs"), folder, jobs=2, limits=Limits(60.0), on_event=on_event
    )
    finished = pool.run(jobs)
    return [finished[str(n)] for n in range(count)]


def test_an_error_in_the_harness_leaves_no_process_behind(tmp_path: Path) -> None:
    started: list[str] = []

    def explode(kind: EventKind, run: SessionRun, outcome: Outcome | None) -> None:
        started.append(run.key)
        if len(started) == 2:
            assert comes(lambda: len([*tmp_path.glob("pid-*")]) == 2)
            raise RuntimeError("in the callback")

    code = f"import os, pathlib, time\npathlib.Path(f'{tmp_path}/pid-{{os.getpid()}}').touch()\n"
    with pytest.raises(RuntimeError, match="in the callback"):
        run_sessions(tmp_path, code + "time.sleep(60)\n", 2, explode)
    assert all(gone(int(path.name[4:])) for path in tmp_path.glob("pid-*"))


def test_no_more_sessions_than_asked_for_run_side_by_side(tmp_path: Path) -> None:
    code = "import time\nprint(time.monotonic())\ntime.sleep(0.3)\nprint(time.monotonic())\n"
    finished = run_sessions(tmp_path, code, 4)
    spans = [[float(x) for x in run.outcome.log_tail.split()] for run in finished]
    starts = [begun for begun, _ in spans]
    assert all(sum(s <= t < e for s, e in spans) <= 2 for t in starts)
    assert max(starts[:2]) < min(starts[2:])


def touching(folder: Path, name: str, keys: str) -> SessionJob:
    """A session of runs that write a file with their name each."""
    script = folder / "train.py"
    script.write_text("def main(argv):\n    open(argv[0], 'w')\n")
    spec = {"script": str(script)}
    runs = [
        SessionRun(key=k, title="", spec={**spec, "arguments": [str(folder / k)]}) for k in keys
    ]
    return SessionJob(
        name=name,
        python=sys.executable,
        inside="",
        emulate=False,
        environment=child_environment(threads=1, device="cpu"),
        runs=tuple(runs),
    )


def pool_of(folder: Path, on_event: OnEvent) -> SessionPool:
    store = Store(folder / "runs")
    return SessionPool(store, folder, jobs=1, limits=Limits(60.0), on_event=on_event)


def test_the_next_session_begins_before_a_slow_callback_is_called(tmp_path: Path) -> None:
    told: list[str] = []

    def slow(kind: EventKind, run: SessionRun, outcome: Outcome | None) -> None:
        told.append(f"{kind} {run.key}")
        if told[-1] == "ended a":
            assert comes((tmp_path / "b").is_file)
            time.sleep(0.5)  # for the end of the process
        if told[-1] == "ended b":
            assert comes((tmp_path / "c").is_file)

    pool_of(tmp_path, slow).run(
        [touching(tmp_path, "first", "ab"), touching(tmp_path, "next", "c")]
    )
    assert told == [f"{kind} {key}" for key in "abc" for kind in ("started", "ended")]


def test_after_an_interrupt_no_callback_is_called(tmp_path: Path) -> None:
    told: list[str] = []

    def interrupt(kind: EventKind, run: SessionRun, outcome: Outcome | None) -> None:
        told.append(f"{kind} {run.key}")
        assert comes((tmp_path / "b").is_file)
        time.sleep(0.5)  # for more to tell
        raise KeyboardInterrupt

    found = pool_of(tmp_path, interrupt).run([touching(tmp_path, "both", "ab")])
    assert told == ["started a"]
    assert found.keys() == {"a", "b"}


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


def test_processes_are_told_where_to_keep_what_they_compile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = child_environment(threads=1, device="cpu", compiled=Path("compiled"))
    assert found["CROSSCAST_COMPILED"] == str(tmp_path / "compiled")


def test_stdin_is_empty(tmp_path: Path) -> None:
    assert (
        "read ''" in run_one(tmp_path, "import sys; print('read', repr(sys.stdin.read()))").log_tail
    )


def test_log_tail_is_short_printable_text(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"first\n" + b"x" * 50 + b"\r\n\x1b[31mred\x1b[0m\x07\x00 \xff end\n")
    assert log_tail(path, 40) == "red \N{REPLACEMENT CHARACTER} end\n"
    assert log_tail(tmp_path / "absent") == ""
