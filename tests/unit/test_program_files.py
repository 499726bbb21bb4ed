"""Files of programs: what is read from them, and that nothing in them is left out in silence."""

from __future__ import annotations

from pathlib import Path

import pytest

from program_files import Entry, entries_of, files_in

ENTRIES = """\
# Programs

Some words.

## a fit

```python torch
# a comment
a = 1
```

- optimizer.momentum: 0.8
- optimizer.betas: [0.9, 0.99]

## another

```python jax
b = 2
```
"""
FILES = """\
# A program

Its network:

```python network.py
a = 1
```

## How it is started

```bash run.sh
python network.py
```
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "programs.md"
    path.write_text(text)
    return path


def test_entries(tmp_path: Path) -> None:
    values = {"optimizer.momentum": 0.8, "optimizer.betas": (0.9, 0.99)}
    assert entries_of(written(tmp_path, ENTRIES)) == [
        Entry("a fit", "torch", "# a comment\na = 1\n", values),
        Entry("another", "jax", "b = 2\n", {}),
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("## a fit", "### a fit"),
        ("## another\n", "## another\nof its kind\n"),
        ("```python torch", "```python"),
        ("```python jax", "``python jax"),
        ("b = 2\n```", "b = 2"),
        (": 0.8", " 0.8"),
        ("0.8", "zero"),
        (".betas", ".momentum"),
        ("- optimizer.betas", "optimizer.betas"),
        ("another", "a fit"),
        (ENTRIES, ""),
        (ENTRIES, "# Programs\n"),
    ],
)
def test_an_entry_with_a_mistake_is_refused(tmp_path: Path, old: str, new: str) -> None:
    assert old in ENTRIES
    with pytest.raises(ValueError, match=r"programs\.md|Expecting value"):
        entries_of(written(tmp_path, ENTRIES.replace(old, new)))


def test_files(tmp_path: Path) -> None:
    files = {"network.py": "a = 1\n", "run.sh": "python network.py\n"}
    assert files_in(written(tmp_path, FILES)) == files


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("python network.py\na", "python\na"),
        ("bash run.sh", "bash network.py"),
        ("python network.py\n```", "python network.py"),
        (FILES, ""),
        (FILES, "# A program\n"),
    ],
)
def test_a_file_with_a_mistake_is_refused(tmp_path: Path, old: str, new: str) -> None:
    assert old in FILES
    with pytest.raises(ValueError, match=r"programs\.md"):
        files_in(written(tmp_path, FILES.replace(old, new)))
