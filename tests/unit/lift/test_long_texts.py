"""Time to find what belongs to a file grows in proportion to its length, not faster."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cpu_cost import cpu_seconds
from crosscast.messages.source import Source
from crosscast_reading.lift.related_files import with_nearby
from crosscast_reading.sources.file_names import FileNames
from crosscast_reading.sources.grouping import group

SHORT = 20_000
TEXTS: dict[str, Callable[[int], str]] = {
    "hexadecimal": lambda n: "python train.py " + "0a" * n,
    "folders": lambda n: "python " + "a/" * n,
    "dots": lambda n: "python " + "a." * n,
    "braces": lambda n: "python " + "${A}/" * (n // 4),
    "modules": lambda n: "python -m a" * (n // 4),
    "open imports": lambda n: "from a import (b,\n" * (n // 8),
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("kind", ["py", "sh", "yaml"])
def test_a_long_word_costs_time_in_proportion(name: str, kind: str, tmp_path: Path) -> None:
    file = str(tmp_path / f"train.{kind}")

    def seconds(length: int) -> float:
        source = Source(file, TEXTS[name](length))
        return cpu_seconds(lambda: (with_nearby([source], [file]), group([source])))

    short = seconds(SHORT)
    assert seconds(4 * SHORT) < 10 * max(short, 0.05)


def test_names_of_files_are_words_up_to_their_last_ending() -> None:
    names = FileNames(r"\w.$/{}-", "py")
    text = "python a/b.py --x=${DIR}/c.py d.pyc .py e.py.bak f.py,g.py"
    assert [*names.find(text)] == ["a/b.py", "${DIR}/c.py", "e.py", "f.py", "g.py"]
