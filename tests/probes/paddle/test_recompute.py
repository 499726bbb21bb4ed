"""What stock recompute() does with dropout on a CPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from frameworks.subprocesses import paddle_2, start

pytestmark = pytest.mark.paddle

PROGRAM = """
import paddle
from paddle.distributed.fleet.utils import recompute

x = paddle.ones([4], "float32")
x.stop_gradient = False
recompute(lambda x: paddle.nn.functional.dropout(x, 0.5), x, use_reentrant=False).sum().backward()
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def test_paddle_3_recomputes_dropout_on_cpu(program: Path) -> None:
    done = start(program, "paddle")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("target", paddle_2())
def test_paddle_2_recomputes_no_dropout_on_cpu(program: Path, target: str) -> None:
    done = start(program, target)
    assert done.returncode == 1
    assert "Recompute with RNG perserve is not support current device: cpu" in done.stderr
