"""What a process of a loader prints of exceptions in its threads."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from row_sources import emitted

PROGRAM = """
import multiprocessing, sys
from runtime.workers import start_worker

def work():
    start_worker(0)
    try:
        raise {error}
    except Exception:
        sys.excepthook(*sys.exc_info())  # as the thread that hands over batches does

worker = multiprocessing.get_context("fork").Process(target=work)
worker.start()
worker.join()
sys.exit(worker.exitcode)
"""


@pytest.mark.parametrize(
    ("error", "heard"),
    [
        ("EOFError", False),
        ("ConnectionResetError('gone')", False),
        ("BrokenPipeError('gone')", False),
        ("OSError('too many open files')", True),
        ("RuntimeError('wrong')", True),
    ],
)
def test_only_the_end_of_the_one_that_trains_is_left_out(
    error: str, heard: bool, tmp_path: Path
) -> None:
    for path, text in emitted().items():
        if path.startswith("runtime/"):
            (tmp_path / path).parent.mkdir(exist_ok=True)
            (tmp_path / path).write_text(text)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(error=error)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert bool(done.stderr) == heard
    assert (error.partition("(")[0] in done.stderr) == heard
