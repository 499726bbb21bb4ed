"""CL920: flags that bash loses, and the joined form."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources
from crosscast_reading.lint.fix import repair
from crosscast_reading.lint.options import Options
from crosscast_reading.lint.result import Result

ONLY = Options(codes=frozenset({"CL920"}))


def look(text: str) -> list[Result]:
    results = lint_sources([Source("run.sh", text)], ONLY)
    assert all(result.is_finding for result in results)
    return results


def repaired(text: str) -> str:
    source = Source("run.sh", text)
    return repair([source], lambda s: lint_sources(s, ONLY)).texts.get("run.sh", text)


def arguments(script: str, folder: Path) -> list[str]:
    """Return what bash really passes to the program `python`."""
    fake = folder / "python"
    fake.write_text('#!/bin/bash\nprintf "%s\\n" "$@"\n')
    fake.chmod(0o755)
    done = subprocess.run(
        ["bash", "-c", script],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": f"{folder}:/usr/bin:/bin"},
    )
    return done.stdout.splitlines()


BROKEN = [
    "python train.py \\\n  --fp16 true \\ # half\n  --lr 0.1\n",
    "python train.py \\\n  --fp16 true \\ \n  --lr 0.1\n",
    "python train.py \\\n  --fp16 true\n  --lr 0.1 \\\n  --epochs 3\n",
    "python train.py \\\n  # half\n  --fp16 true \\\n  --lr 0.1\n",
    "set -e\n  python train.py --a 1 \\  # one\n    --b 2 \\  # two\n    --c 3\necho done\n",
]


@pytest.mark.parametrize("text", BROKEN)
def test_broken_lines_are_found_and_joined(text: str, tmp_path: Path) -> None:
    found = look(text)
    assert len(found) >= 1
    assert found[0].edits
    fixed = repaired(text)
    assert look(fixed) == []
    assert repaired(fixed) == fixed
    flags = [word for word in shlex.split(text, comments=True) if word.startswith("--")]
    passed = arguments(fixed, tmp_path)
    assert passed[0] == "train.py"
    assert [word for word in passed if word.startswith("--")] == flags
    before = [word for word in arguments(text, tmp_path) if word.startswith("--")]
    assert len(before) < len(flags)
    for comment in ("# half", "# one", "# two"):
        assert (comment in text) == (comment in fixed)


def test_the_rest_of_the_script_stays() -> None:
    assert repaired(BROKEN[-1]) == (
        "set -e\n  # one\n  # two\n  python train.py --a 1 \\\n    --b 2 \\\n    --c 3\necho done\n"
    )


@pytest.mark.parametrize(
    "text",
    [
        "python train.py \\\n  --fp16 true \\\n  --lr 0.1\n",
        "python train.py --fp16 true  # half\n",
        "ls \\ # not a training\n  --color\n",
        "python manage.py serve \\ # a server\n  --port 80\n",
        "cat <<EOF\npython train.py \\ # text\n  --lr 0.1\nEOF\n",
        "# python train.py \\ # a comment\n#  --lr 0.1\npython train.py\n",
        "python train.py 'a \\ # b\n --c'\n",
    ],
)
def test_scripts_without_the_mistake(text: str) -> None:
    assert look(text) == []
    assert repaired(text) == text
