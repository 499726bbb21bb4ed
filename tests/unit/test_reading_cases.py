"""Files of readings: cases, their variations, and writing what is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from crosscast.messages.source import Source
from reading_cases.changes import Hunk, applied
from reading_cases.files import accept, cases_of

TEXT = "a\nb\nc\nb\nd\n"


@pytest.mark.parametrize(
    ("hunks", "text", "lines"),
    [
        ([("-a", "+A")], "A\nb\nc\nb\nd\n", {1: 1, 2: 2, 3: 3, 4: 4, 5: 5}),
        ([(" c", "+new")], "a\nb\nc\nnew\nb\nd\n", {1: 1, 2: 2, 3: 3, 4: 5, 5: 6}),
        ([("-c",)], "a\nb\nb\nd\n", {1: 1, 2: 2, 4: 3, 5: 4}),
        ([("-b", "-c", "+x")], "a\nx\nb\nd\n", {1: 1, 4: 3, 5: 4}),
        ([("-d", "+D"), ("-a",)], "b\nc\nb\nD\n", {2: 1, 3: 2, 4: 3, 5: 4}),
    ],
)
def test_a_change_and_where_lines_are_after_it(
    hunks: list[tuple[str, ...]], text: str, lines: dict[int, int]
) -> None:
    (changed,), moved = applied([Hunk(each) for each in hunks], [Source("f", TEXT)])
    assert changed.text == text
    assert moved == {("f", before): after for before, after in lines.items()}


@pytest.mark.parametrize("hunk", [("-b", "+x"), ("-z", "+x"), ("+x",)])
def test_a_change_that_has_not_one_place(hunk: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="places for"):
        applied([Hunk(hunk)], [Source("f", TEXT)])


FILE = """\
# Steps

## A step

Some words.

```python train.py
import torch

optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x in loader:
    model(x).mean().backward()
    optimizer.step()
```

```text
```

```diff
@@ cleared
# The usual place.
     optimizer.step()
+    optimizer.zero_grad()
! something else
@@ as above, with another rate
-import torch
+import torch  # cleared: optimizer.zero_grad()
@@
-optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
+optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
```
"""


def test_what_is_said_is_written(tmp_path: Path) -> None:
    path = tmp_path / "steps.md"
    path.write_text(FILE, encoding="utf-8")
    (case,) = cases_of(path)
    for variation in (None, *case.variations):
        accept(path, case.title, variation.title if variation else None, case.said_now(variation))
    (case,) = cases_of(path)
    assert case.said.startswith("6 CL107 error: ")
    assert case.said == case.said_now()
    cleared, other = case.variations
    assert cleared.said.splitlines() == [
        "zero_grad.where = 'after_step' | presence | 7",
        "no longer 6 CL107",
    ]
    assert other.said == "optimizer.learning_rate[optimizer] = 0.2 | literal | 3, 3\n"
    for variation in case.variations:
        assert variation.said == case.said_now(variation)
