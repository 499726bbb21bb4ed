"""A script whose syntax takes too long is told of, and does not hold up anything."""

from __future__ import annotations

import pytest

from cpu_cost import cpu_seconds
from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources
from crosscast_reading.lint.options import Options
from crosscast_reading.readers.shell import reader

BRACKETS = Source("train.sh", "python train.py --lr 0.1\n" + " + (1" * 30_000)


def test_it_is_told_in_bounded_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "SECONDS", 0.2)
    found: list[str] = []

    def read() -> None:
        found.extend(d.message for d in reader.read_script(BRACKETS).diagnostics)
        lint_sources([BRACKETS], Options())

    assert cpu_seconds(read) < 5.0
    assert found == ["train.sh: its syntax takes over 0.2 seconds to find"]


def test_a_long_script_is_read() -> None:
    text = "torchrun --nproc_per_node 2 train.py --lr 0.1\n" * 6_000
    read = reader.read_script(Source("train.sh", text))
    assert {command.program for command in read.commands} == {"train.py"}
    assert not read.diagnostics
