"""YAML as other tools' loaders read it."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.readers.config.foreign_yaml import Loader, plain_value, read_yaml
from crosscast_reading.readers.config.yaml_format import resolve_references, top_keys


@pytest.mark.parametrize(
    ("text", "pyyaml", "numbers"),
    [
        ("1e-6", "1e-6", 1e-6),
        ("1.0e-6", 1e-6, 1e-6),
        ("1.0e6", "1.0e6", 1e6),
        ("1.5", 1.5, 1.5),
        (".5", 0.5, 0.5),
        ("no", False, False),
        ("On", True, True),
        ("~", None, None),
        ("", None, None),
        ("010", 8, 8),
        ("0x10", 16, 16),
        ("1_000", 1000, 1000),
        ("-3", -3, -3),
        ("bf16-mixed", "bf16-mixed", "bf16-mixed"),
        (".inf", ".inf", ".inf"),
        ("12:30", "12:30", "12:30"),
        ("9" * 200, "9" * 200, "9" * 200),
    ],
)
def test_plain_scalars(text: str, pyyaml: object, numbers: object) -> None:
    loaders: tuple[tuple[Loader, object], ...] = (("pyyaml", pyyaml), ("numbers", numbers))
    for loader, expected in loaders:
        found = plain_value(text, loader)
        assert found == expected
        assert type(found) is type(expected)


def test_a_number_that_is_text_is_reported() -> None:
    found = read_yaml(Source("c.yaml", "a: 1\nlr: 2e-5\nq: '2e-5'\n"), "pyyaml")
    assert [(d.code, d.hint) for d in found.diagnostics] == [("CC924", "write 2.0e-5")]
    assert not read_yaml(Source("c.yaml", "lr: 2e-5\n"), "numbers").diagnostics


def test_duplicate_keys_keep_the_later_one() -> None:
    found = read_yaml(Source("c.yaml", "a: 1\na: 2\n"))
    assert found.tree is not None
    assert found.tree.setting("a").value == 2  # type: ignore[union-attr]
    assert [d.code for d in found.diagnostics] == ["CC923"]


def test_tags_stay_words_and_anchors_are_followed() -> None:
    text = "base: &b\n  x: 1\n  y: 2\nuse:\n  <<: *b\n  y: 3\n"
    text += "run: !!python/object/apply:os.system [x]\n"
    tree = read_yaml(Source("c.yaml", text)).tree
    assert tree is not None
    assert tree.get("use", "x").value == 1  # type: ignore[union-attr]
    assert tree.get("use", "y").value == 3  # type: ignore[union-attr]
    assert "os.system" in tree.get("run").tag  # type: ignore[union-attr]


def test_places() -> None:
    tree = read_yaml(Source("c.yaml", "a:\n  b: 5\n")).tree
    assert tree is not None
    setting = tree.setting("a", "b")
    assert setting is not None
    assert [(p.line, p.column) for p in setting.places] == [(2, 3), (2, 6)]


@pytest.mark.parametrize(
    "text",
    [
        *("a: [1, 2", "a: *nothing", "\t- x: {", "a: b: c", "%YAML 9.9\n---\na: 1", "&a *a"),
        *("- " * 500, "[" * 5000, "a: " + "{b: " * 200, "x" * (1 << 21), "\x00\x01", "? [1\n"),
        *("a: &x [*x]", "a: " + ", ".join(["&b 1"] * 3), "!!binary ']'", "'\ud800'"),
    ],
)
def test_bad_text_is_a_diagnostic(text: str) -> None:
    found = read_yaml(Source("c.yaml", text))
    assert found.tree is not None or found.diagnostics


def test_references() -> None:
    text = "n: 4\nm:\n  a: ${n}\n  b: ${m.a}\n  c: ${z.n}\n  d: ${gone}\n  e: ${oc.env:X}\n"
    tree = read_yaml(Source("c.yaml", text)).tree
    assert tree is not None
    resolve_references(tree)
    assert [tree.get("m", k).value for k in "abc"] == [4, 4, 4]  # type: ignore[union-attr]
    assert "gone" in tree.get("m", "d").reason  # type: ignore[union-attr]
    assert tree.get("m", "e").reason  # type: ignore[union-attr]


def test_outermost_keys_without_parsing() -> None:
    text = "# c: 1\na: 1\n'b-c':\n  d: 2\n{\n"
    assert top_keys(Source("c.yaml", text)) == {"a", "b_c"}
    assert top_keys(Source("c.py", text)) == frozenset()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: *x", "the alias *x is not defined"),
        ("a: 1\nb: *None", "the alias *None is not defined"),
        ("[" * 60, "nested deeper than 48 levels"),
        ("[" + "1," * 20_001 + "]", "more than 20000 values"),
        ("#" * ((1 << 20) + 1), "more than 1048576 characters"),
    ],
)
def test_what_is_not_read_is_said(text: str, message: str) -> None:
    document = read_yaml(Source("c.yaml", text))
    assert document.tree is None
    assert message in document.diagnostics[0].message


def test_a_key_in_quotes_merges_nothing() -> None:
    tree = read_yaml(Source("c.yaml", "a: &x {b: 1}\nc: {'<<': *x}\n")).tree
    assert tree is not None
    assert tree.section("c").names() == {"<<"}


def test_a_reference_to_a_section_or_in_a_circle_stays_a_text() -> None:
    tree = read_yaml(Source("c.yaml", "a: ${b}\nb: {c: 1}\nd: ${e}\ne: ${d}\n")).tree
    assert tree is not None
    resolve_references(tree)
    assert (tree.keys or {})["a"].value == "${b}"
    assert "not in this file" in (tree.keys or {})["d"].reason
