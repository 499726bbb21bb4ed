"""Files of changed programs: what is read from them, and that nothing is left out in silence."""

from __future__ import annotations

from pathlib import Path

import pytest

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


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("## alone", "### alone"),
        ("## alone", "##alone"),
        ("@@ torch\n", ""),
        ("@@ torch\n", "@ torch\n"),
        ("-a = 1\n-\n-b\n", ""),
        ("+a = 2", "a = 2"),
        ("-b\n+a = 2", "+a = 2\n-b"),
        ("+a = 2", "+a = 2\n-b"),
        ("## none | - | x\n", "Nothing.\n"),
        ("## none | - | x", "## none\n\n## none"),
        ("# Group\n", "# Group\n\n## one\n\n# Group\n"),
        (FILE, ""),
        (FILE, "Words: field.\n"),
    ],
)
def test_a_change_with_a_mistake_is_refused(tmp_path: Path, old: str, new: str) -> None:
    assert old in FILE
    path = tmp_path / "some.diff"
    path.write_text(FILE.replace(old, new))
    with pytest.raises(ValueError, match=r"some\.diff"):
        changes_in(path)
