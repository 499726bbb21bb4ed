"""`weights.yaml`: written, read, edited and damaged."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from crosscast.messages.diagnostics import DiagnosticError
from crosscast.weights.document import Entry, Place, WeightsMap
from crosscast.weights.layout import Layout
from crosscast.weights.reader import check_against, read_weights
from crosscast.weights.writer import text_of

TEXT = """\
version: 1
frameworks: [one, two]
tensors:
  - name: fc.weight
    shape: [4, 3]
    one: fc.weight
    two: {name: net/fc/kernel, axes: [1, 0]}
    proved: true
  - name: qkv.0
    shape: [2, 3]
    one: {name: qkv, part: [0, 2]}
    two: q
  - name: qkv.1
    shape: [2, 3]
    one: {name: qkv, part: [1, 2]}
    two: {name: v, also: [tied]}
left:
  one: [counter]
"""
SHAPES = {"fc.weight": (4, 3), "qkv": (4, 3), "counter": ()}


def read(folder: Path, text: str) -> WeightsMap:
    (folder / "weights.yaml").write_text(text)
    return read_weights(str(folder / "weights.yaml"))


def test_what_is_written_is_read(tmp_path: Path) -> None:
    known = read(tmp_path, TEXT)
    assert read(tmp_path, text_of(known)) == known
    assert known.entries[0].places["two"].layout == Layout(axes=(1, 0))
    assert known.left == {"one": ("counter",)}


@pytest.mark.parametrize(
    "name", ["a: b", "true", "1", "a#b", "- x", "µ", "a\\b", '"', "[x]", "~", "😀"]
)
def test_names_of_any_kind_are_written(tmp_path: Path, name: str) -> None:
    places = {"one": Place(name=name, also=(name + "x",)), "two": Place(name=name)}
    entry = Entry(name=name, shape=(2,), places=places)
    known = WeightsMap(frameworks=("one", "two"), entries=(entry,))
    assert read(tmp_path, text_of(known)).entries == (entry,)


DAMAGES = {
    "version": ("version: 1", "version: 2", "version must be 1"),
    "no version": ("version: 1\n", "", "version must be 1"),
    "one framework": ("[one, two]", "[one]", "two or more"),
    "a framework twice": ("[one, two]", "[one, one]", "two or more"),
    "unknown key": ("left:", "rest: 1\nleft:", "unknown key 'rest'"),
    "unknown key of a tensor": ("proved: true", "prove: true", "unknown key 'prove'"),
    "unknown key of a place": ("axes: [1, 0]", "axis: [1, 0]", "unknown key 'axis'"),
    "shape": ("[4, 3]", "[4, -3]", "positive integers"),
    "huge": ("[4, 3]", "[1099511627776, 3]", "positive integers"),
    "text as a shape": ("[4, 3]", "4x3", "positive integers"),
    "axes twice": ("[1, 0]", "[1, 1]", "order of the numbers"),
    "too many axes": ("[1, 0]", "[2, 1, 0]", "needs its shape"),
    "frozen": ("also: [tied]", "frozen: 1", "frozen must be"),
    "proved": ("proved: true", "proved: 1", "true or false"),
    "only one place": ("    two: q\n", "", "a place in two frameworks"),
    "name": ("one: fc.weight", "one: 3", "needs the name of a tensor"),
    "empty name": ("one: fc.weight", 'one: ""', "needs the name of a tensor"),
    "control character": ("one: fc.weight", 'one: "a\\nb"', "needs the name of a tensor"),
    "a part is missing": ("part: [1, 2]", "part: [1, 3]", "has the shapes"),
    "a part twice": ("part: [1, 2]", "part: [0, 2]", "as a part"),
    "part out of range": ("part: [1, 2]", "part: [2, 2]", "k from 0"),
    "part and term": ("part: [1, 2]", "part: [1, 2], term: [0, 2]", "exclude"),
    "used twice": ("two: q", "two: net/fc/kernel", "'net/fc/kernel' has the shapes"),
    "named twice": ("name: qkv.1", "name: qkv.0", "'qkv.0' is there twice"),
    "tied to another": ("also: [tied]", "also: [q]", "'q' is a name of 'q'|a name of 'v'"),
    "left and used": ("[counter]", "[qkv]", "listed as left"),
    "left of nobody": ("  one: [counter]", "  three: [counter]", "a framework and a list"),
    "no tensors": (TEXT[TEXT.index("tensors") :], "tensors: []", "must be a list"),
}


@pytest.mark.parametrize(("old", "new", "message"), DAMAGES.values(), ids=DAMAGES)
def test_damages_are_found(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in TEXT
    with pytest.raises(DiagnosticError) as caught:
        read(tmp_path, TEXT.replace(old, new, 1))
    found = caught.value.diagnostics
    assert {diagnostic.code for diagnostic in found} == {"CC763"}
    assert any(re.search(message, diagnostic.message) for diagnostic in found), found
    assert all(diagnostic.span for diagnostic in found)


@pytest.mark.parametrize("text", ["", "3", "[]", "a: &x 1", "a: !!python/name:os.system x"])
def test_what_is_no_map_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(DiagnosticError):
        read(tmp_path, text)


MISFITS = {
    "unknown tensor": (SHAPES | {"fc": (4, 3)}, "'fc' of the model is missing in the file"),
    "another shape": (SHAPES | {"qkv": (4, 5)}, r"'qkv' has the shape \[4, 5\], not \[4, 3\]"),
    "no such tensor": ({"qkv": (4, 3), "counter": ()}, "has no tensor 'fc.weight'"),
    "nothing left": ({"qkv": (4, 3), "fc.weight": (4, 3)}, "has no tensor 'counter'"),
}


@pytest.mark.parametrize(("shapes", "message"), MISFITS.values(), ids=MISFITS)
def test_a_file_of_another_model_is_refused(
    tmp_path: Path, shapes: dict[str, tuple[int, ...]], message: str
) -> None:
    known = read(tmp_path, TEXT)
    check_against(known, "one", SHAPES, set())
    with pytest.raises(DiagnosticError, match=message):
        check_against(known, "one", shapes, set())


def test_what_the_model_fills_itself_need_not_be_there(tmp_path: Path) -> None:
    check_against(read(tmp_path, TEXT), "one", SHAPES | {"mask": (9,)}, {"mask"})
