"""The pages of rules, which are where a rule says in words what it is about."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from crosscast.messages.diagnostics import Severity
from crosscast_reading.lint import written_pages
from crosscast_reading.lint.registry import find_rule
from crosscast_reading.lint.written_pages import pages_folder, words_of_page

PAGE = """\
# CL999 planted

*A title*

A reason of
two lines.

And another.

Beside `train.py`:

```python
import torch
```

Wrong:

```bash
python train.py
```

Right:

```bash
python3 train.py
```

Sources: one; two, three

Severity: error. Topic: launch. `--fix` fixes it. To ignore a finding,
add `# crosscast: ignore[CL999]`. [All rules](../lint-rules.md)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(written_pages, "pages_folder", lambda: tmp_path)
    return tmp_path


def test_what_a_page_says(folder: Path) -> None:
    (folder / "CL999.md").write_text(PAGE)
    assert words_of_page("CL999") == {
        "name": "planted",
        "severity": Severity.ERROR,
        "fixable": True,
        "title": "A title",
        "why": "A reason of two lines.\n\nAnd another.",
        "wrong": "python train.py\n",
        "right": "python3 train.py\n",
        "language": "bash",
        "beside": (("train.py", "import torch\n"),),
        "sources": ("one", "two, three"),
    }


@pytest.mark.parametrize(
    ("part", "other"),
    [
        (r"\*A title\*", "A title"),
        ("Severity: ", ""),
        ("Wrong", "False"),
        ("Right:\n", ""),
        ("```\n\nRight", "Right"),
    ],
)
def test_a_page_without_a_part_is_named(folder: Path, part: str, other: str) -> None:
    (folder / "CL999.md").write_text(re.sub(part, other, PAGE))
    with pytest.raises(ValueError, match="the page of CL999 lacks"):
        words_of_page("CL999")


@pytest.mark.parametrize(
    ("part", "other"),
    [
        ("# CL999 planted", "# CL998 planted"),
        (r"ignore\[CL999", "ignore[CL998"),
        ("Right:", "Wrong:\n\n```bash\nls\n```\n\nRight:"),
        ("Right:", "Better:\n\n```bash\nls\n```\n\nRight:"),
        ("Sources:", "Source:"),
        ("`--fix` fixes", "`--fix` repairs"),
        (r"\Z", "\nAnd more.\n"),
    ],
)
def test_what_is_not_read_of_a_page_is_refused(folder: Path, part: str, other: str) -> None:
    """`docs/generate.py` writes pages again from what was read of them."""
    (folder / "CL999.md").write_text(re.sub(part, other, PAGE))
    with pytest.raises(ValueError, match="the page of CL999 lacks"):
        words_of_page("CL999")


def test_a_rule_without_a_page_is_an_error(folder: Path) -> None:
    with pytest.raises(OSError, match="CL999"):
        words_of_page("CL999")


def test_the_words_of_a_rule_are_those_of_its_page() -> None:
    rule = find_rule("clip-before-unscale")
    assert f"*{rule.title}*" in (pages_folder() / "CL301.md").read_text()
    assert rule.topic == "clipping"
