"""Files of changed programs: what is read from them."""

from __future__ import annotations

from pathlib import Path

from changed_programs import Change, changes_in

FILE = """\
Words: field.

## alone | 1
@@ torch
-a = 1
-
-b
+a = 2
@@
- c

# Group

## none | - | x
"""


def test_changes_by_group(tmp_path: Path) -> None:
    path = tmp_path / "some.diff"
    path.write_text(FILE)
    first, second = (changes[0] for changes in changes_in(path).values())
    assert first == Change("alone", ("1",), (("torch", "a = 1\n\nb", "a = 2"), ("", " c", "")))
    assert second.edits == ()
    assert [second.field(number) for number in range(3)] == ["", "x", ""]
