"""The rows of `rows.txt`: names whose arguments at most move, and what they are in Paddle 3.

A section for each kind of program, a row in each line that is not indented:

- `old = new`, `old | helper`, or both; several old names, or names in braces (`layers.{exp tanh} =
  paddle.{}`), of which one may have another new name (`{where>nonzero}`). `F.` is
  `paddle.nn.functional.`;
- `(a b / b a)`: the positional parameters, and in which order they are now;
- `a:b`: renamed; `a=text`: the old default, written out; `a{old>new,...}`: values;
- `-a`: dropped, or `-a[None|False]`: dropped at these values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, cast

from crosscast_paddle.migration.experimental.paddle_names.row import Mode, NameRow

_FILE = Path(__file__).with_name("rows.txt")
_FUNCTIONAL = "paddle.nn.functional."
_LINE = re.compile(
    r"(?P<old>[^=|]+?)(?: = (?P<new>\S+))?(?: \| (?P<helper>\S+))?(?:  (?P<more>.*))?"
)
_NAMES = re.compile(r"(?P<before>[\w.]*+)\{(?P<names>[^{}]*+)\}")
_MORE = re.compile(
    r"\((?P<order>[^/()]*+)(?:/ (?P<new_order>[^()]*+))?\)"
    r"|(?<!\w)(?P<renamed>\w++):(?P<to>\w++)"
    r"|(?<!\w)(?P<written>\w++)=(?P<text>\S++)"
    r"|-(?P<dropped>\w++)(?:\[(?P<at>[^][]*+)\])?"
    r"|(?<!\w)(?P<valued>\w++)\{(?P<values>[^{}]*+)\}"
)


@cache
def written_rows() -> tuple[NameRow, ...]:
    """Return the rows of the file."""
    text = _FILE.read_text(encoding="utf-8").replace("\n    ", " ").replace("F.", _FUNCTIONAL)
    mode, rows = "both", list[NameRow]()
    for line in text.splitlines():
        if line.startswith("["):
            mode = line.strip("[]")
            continue
        match = _LINE.fullmatch(line)
        assert match is not None, line
        more = _fields(match["more"] or "")
        for old, name in _old_names(match["old"]):
            new, helper = ((match[part] or "").replace("{}", name) for part in ("new", "helper"))
            rows.append(NameRow(old=old, mode=cast(Mode, mode), new=new, helper=helper, **more))
    return tuple(rows)


def _old_names(text: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the old names of each row of a line, and what stands for `{}` in its new one."""
    match = _NAMES.fullmatch(text)
    if match is None:
        yield tuple(text.split()), ""
        return
    for word in match["names"].split():
        old, _, new = word.partition(">")
        yield (f"{match['before']}{old}",), new or old


def _fields(text: str) -> dict[str, Any]:
    """Return the fields of rows that have the same ones."""
    fields: dict[str, Any] = {"renamed": {}, "dropped": {}, "written": {}, "values": {}}
    for match in _MORE.finditer(text):
        if match["renamed"]:
            fields["renamed"][match["renamed"]] = match["to"]
        elif match["written"]:
            fields["written"][match["written"]] = match["text"]
        elif match["dropped"]:
            fields["dropped"][match["dropped"]] = tuple((match["at"] or "*").split("|"))
        elif match["valued"]:
            pairs = (pair.split(">") for pair in match["values"].split(","))
            fields["values"][match["valued"]] = dict(pairs)
        else:
            fields |= {"order": match["order"].strip(), "new_order": match["new_order"] or ""}
    return fields
