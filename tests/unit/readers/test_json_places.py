"""JSON with places, forgiving what people write by hand."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosscast.messages.source import Source
from crosscast_reading.readers.config.json_places import read_json
from crosscast_reading.readers.tree import Tree


def plain(tree: Tree | None) -> object:
    if tree is None:
        return None
    if tree.keys is not None:
        return {name: plain(key) for name, key in tree.keys.items()}
    return [plain(item) for item in tree.items] if tree.items is not None else tree.value


_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(value=_VALUES, indent=st.sampled_from([None, 1, "\t"]))
def test_strict_json_is_read_as_json_does(value: object, indent: int | str | None) -> None:
    text = json.dumps(value, indent=indent)
    found = read_json(Source("c.json", text))
    assert not found.diagnostics
    assert plain(found.tree) == json.loads(text)


@given(st.text(max_size=60))
def test_any_text_gives_a_tree_or_a_diagnostic(text: str) -> None:
    found = read_json(Source("c.json", text))
    assert found.tree is not None or found.diagnostics


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('{"a": 1, // one\n "b": 2}', "comment"),
        ('{"a": 1,}', "comma"),
        ("{'a': 1}", "single quotes"),
        ('{"a": True}', "True"),
    ],
)
def test_oddities_are_read_and_told(text: str, what: str) -> None:
    found = read_json(Source("c.json", text))
    assert found.tree is not None
    assert found.tree.get("a") is not None
    assert [d.code for d in found.diagnostics] == ["CC922"]
    assert what in found.diagnostics[0].message


@pytest.mark.parametrize(
    "text",
    [
        *(
            '{"a" 1}',
            '{"a": }',
            "[1 2]",
            '{"a": "b',
            "{,}",
            "nope",
            "{}{}",
            "[" * 1000,
            '{"a": 1e',
            "",
        ),
        *('"\\u12"', "9" * 200, "[" + "1," * 60_000 + "1]", '{"a": -}', "{a: 1}"),
        *('{"a"=1}', " " * (1 << 20) + "1"),
    ],
)
def test_malformed(text: str) -> None:
    found = read_json(Source("c.json", text))
    assert found.tree is None
    assert found.diagnostics[0].code == "CC921"


def test_places_of_keys_and_values() -> None:
    tree = read_json(Source("c.json", '{\n  "a": {"b": [1,\n 22]}\n}')).tree
    assert tree is not None
    found = tree.get("a", "b", 1)
    assert found is not None
    assert (found.span.line, found.span.column, found.span.end_column) == (3, 2, 4)
    assert tree.span.end_column is None
    assert tree.get("a").key.text == '  "a": {"b": [1,'  # type: ignore[union-attr]


def test_a_key_given_twice() -> None:
    found = read_json(Source("c.json", '{"a": 1, "a": 2}'))
    assert plain(found.tree) == {"a": 2}
    assert [d.code for d in found.diagnostics] == ["CC923"]
