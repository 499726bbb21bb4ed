"""Reading YAML: what is understood, and what is refused where."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpu_cost import cpu_seconds
from crosscast.messages.diagnostics import Diagnostic, DiagnosticError, render
from crosscast.recipe.yaml_source import (
    MAX_DEPTH,
    MAX_NODES,
    MAX_NUMBER_LENGTH,
    YamlDocument,
    free_keys,
    parse,
)
from property_settings import examples


def refused(text: str) -> tuple[Diagnostic, ...]:
    with pytest.raises(DiagnosticError) as caught:
        parse(text, "f")
    return caught.value.diagnostics


def places(text: str) -> list[str]:
    """Return `CODE line:column-end` of every diagnostic of a text."""
    result = []
    for diagnostic in refused(text):
        span = diagnostic.span
        end = f"-{span.end_column}" if span and span.end_column else ""
        result.append(
            f"{diagnostic.code} {span.line}:{span.column}{end}" if span else diagnostic.code
        )
    return result


READINGS = {
    "no": "no",
    "yes": "yes",
    "on": "on",
    "y": "y",
    "true": True,
    "True": True,
    "FALSE": False,
    "tRUE": "tRUE",
    "null": None,
    "~": None,
    "": None,
    "nUll": "nUll",
    "'null'": "null",
    '""': "",
    "5e-5": 5e-5,
    "1e5": 1e5,
    "1E+3": 1000.0,
    "1.": 1.0,
    ".5": 0.5,
    "-.5": -0.5,
    "1e-320": 1e-320,
    "0e-999": 0.0,
    "-0.0": 0.0,
    "017": 17,
    "0o17": 15,
    "0x1F": 31,
    "-0x1F": "-0x1F",
    "0b11": "0b11",
    "0o8": "0o8",
    "0x": "0x",
    "+1": 1,
    "-0": 0,
    "1_000": "1_000",
    "1_000.5": "1_000.5",
    "1:30": "1:30",
    "12e": "12e",
    ".": ".",
    "e5": "e5",
    "nan": "nan",
    "inf": "inf",
    "2001-01-01": "2001-01-01",
    "=": "=",
    "١٢": "١٢",
    "1 # one": 1,
    "'it''s'": "it's",
    '"\\u00e9\\n"': "é\n",
    "x\u2028y": "x\u2028y",
    "|\n  a\n  b\n": "a\nb\n",
    "[1, [], {}]": (1, (), {}),
    "{b: {c: 1}}": {"b": {"c": 1}},
    str(2**63 - 1): 2**63 - 1,
    str(1 - 2**63): 1 - 2**63,
}


@pytest.mark.parametrize(("text", "value"), READINGS.items(), ids=map(repr, READINGS))
def test_values_are_read_by_the_core_schema_of_yaml_1_2(text: str, value: object) -> None:
    data = parse(f"a: {text}", "f").data
    assert data == {"a": value}
    assert type(data["a"]) is type(value)
    assert str(data["a"]) == str(value)  # -0.0 == 0.0, but only one of them is written 0.0


REFUSED = {
    # CC006: not well-formed
    "a: b: c": ["CC006 1:5"],
    "a:\n\tb: 1": ["CC006 2:1"],
    "\ta: 1": ["CC006 1:1"],
    "a:\tb\n\tc: 1": ["CC006 1:3"],
    'a: "x': ["CC006 1:6"],
    "a: @x": ["CC006 1:4"],
    "a: `x`": ["CC006 1:4"],
    "a: [1\nb: 2": ["CC006 2:2"],
    "...": ["CC006 1:1"],
    "%TAG\n---\na: 1": ["CC006 1:5"],
    "%YAML 1.1\n---\na: no": ["CC006 2:1-4"],
    "%YAML 1.3\n---\na: no": ["CC006"],
    "%YAML 2.0\n---\na: no": ["CC006 1:1"],
    '"\\UFFFFFFFF"': ["CC006"],
    f"{'k' * 2000}: 1": ["CC006 1:2001"],
    # CC007: duplicate keys
    "a: 1\nb: 2\na: 3\n": ["CC007 3:1-2"],
    'a: {b: 1, "b": 2, c: {b: 1}}': ["CC007 1:11-14"],
    "a: 1\r\nb: 2\r\nb: 3\r\n": ["CC007 3:1-2"],
    "a: 1\rb: 2\rb: 3\r": ["CC007 3:1-2"],
    "a: é\u2028\U0001f600\na: 2": ["CC007 2:1-2"],
    "a: {a: 1}\na: {a: 1, a: 2}": ["CC007 2:1-2", "CC007 2:11-12"],
    # CC008: limits
    "[" * 3000: [f"CC008 1:{MAX_DEPTH + 2}-{MAX_DEPTH + 3}"],
    "{a: " * 40: ["CC008 1:133-134"],
    "- " * 40 + "x": [f"CC008 1:{2 * MAX_DEPTH + 3}-{2 * MAX_DEPTH + 3}"],
    "\n".join(" " * i + "a:" for i in range(40)): ["CC008 34:34-34"],
    "a: [" + "1," * 15_000 + "]": [f"CC008 1:{2 * MAX_NODES - 1}-{2 * MAX_NODES}"],
    # CC009: tags
    "a: !!python/object:os.system x": ["CC009 1:4-31"],
    "a: !foo 1": ["CC009 1:4-10"],
    "a: !!binary aGk=": ["CC009 1:4-17"],
    "a: !!set {b}": ["CC009 1:4-11"],
    "a: !!omap [b: 1]": ["CC009 1:4-12"],
    'a: !!int "1"': ["CC009 1:4-13"],
    "a: !!bool x": ["CC009 1:4-12"],
    "a: !!str 1": ["CC009 1:4-11"],
    "a: !<x> 1": ["CC009 1:4-10"],
    "!!map {a: 1}": ["CC009 1:1-8"],
    "%TAG ! tag:x,2000:\n---\na: !foo 1": ["CC009 3:4-10"],
    # CC010: anchors, aliases, merge keys
    "a: &x 1": ["CC010 1:4-8"],
    "a: *b": ["CC010 1:4-6"],
    "a: &a [*a]": ["CC010 1:4-8", "CC010 1:8-10"],
    "a: {<<: {b: 1}}": ["CC010 1:5-7"],
    "a: &x {b: 1}\nc:\n  <<: *x": ["CC010 1:4-8", "CC010 3:3-5", "CC010 3:7-9"],
    # CC011: several documents
    "a: 1\n---\nb: 2": ["CC011 2:1-4"],
    "a: 1\n...\nb: 2": ["CC011 3:1-1"],
    "---\n---\n": ["CC011 2:1-4"],
    # CC012: keys
    "1: 2": ["CC012 1:1-2"],
    "true: 1": ["CC012 1:1-5"],
    "~: 1": ["CC012 1:1-2"],
    "1.5: 1": ["CC012 1:1-4"],
    ".inf: 1": ["CC012 1:1-5"],
    ": 1": ["CC012 1:1-1"],
    "[a]: 1": ["CC012 1:1-2"],
    "? {a: b}\n: 1": ["CC012 1:3-4"],
    "&k a: 1": ["CC012 1:1-5", "CC010 1:1-5"],
    "!x a: 1": ["CC012 1:1-5", "CC009 1:1-5"],
    # CC013: numbers
    "a: .nan": ["CC013 1:4-8"],
    "a: .inf": ["CC013 1:4-8"],
    "a: -.INF": ["CC013 1:4-9"],
    "a: +.inf": ["CC013 1:4-9"],
    "a: 1e999": ["CC013 1:4-9"],
    "a: -1e999": ["CC013 1:4-10"],
    "a: 1e-400": ["CC013 1:4-10"],
    f"a: {2**63}": ["CC013 1:4-23"],
    f"a: {-(2**63)}": ["CC013 1:4-24"],
    f"a: {'9' * 5000}": ["CC013 1:4-5004"],
    f"a: 0.{'1' * MAX_NUMBER_LENGTH}": ["CC013 1:4-106"],
    # CC014: characters
    "a: \x00": ["CC014 1:4"],
    "a: 1\nb: x\x07y": ["CC014 2:5"],
    "a: 1\r\rb: x\x07y": ["CC014 3:5"],
    "a: \x7f": ["CC014 1:4"],
    "a: x\x0cy": ["CC014 1:5"],
    "a: \ud800": ["CC014 1:4"],
    'a: "\\ud800"': ["CC014 1:4-12"],
    '"\\udfff": 1': ["CC014 1:1-9"],
    # CC015: nothing
    "": ["CC015"],
    "# only this\n": ["CC015"],
    "---\n": ["CC015"],
    " \n\n": ["CC015"],
    "null": ["CC015"],
    # several at once, in the order of the text
    "a: .nan\n1: x\nb: !t y\nb: *z\n": [
        *("CC013 1:4-8", "CC012 2:1-2", "CC009 3:4-8", "CC007 4:1-2", "CC010 4:4-6")
    ],
}


@pytest.mark.parametrize(
    ("text", "expected"), REFUSED.items(), ids=[repr(text[:30]) for text in REFUSED]
)
def test_refused_with_code_and_place(text: str, expected: list[str]) -> None:
    assert places(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "a: &a [x, x]\n" + "".join(f"{c}: &{c} [*a, *a, *a]\n" for c in "bcdefgh"),
        "[" * 200_000,
        "a: [" + "1," * 100_000,
        "? " * 100_000,
        "a: " + "1" * 200_000,
        "---\n" * 50_000,
        "a: 1\n" * 50_000,
    ],
    ids=lambda text: repr(text[:12]),
)
def test_hostile_documents_are_dealt_with_quickly(text: str) -> None:
    def read() -> None:
        try:
            parse(text, "f")
        except DiagnosticError as error:
            render(error.diagnostics)

    assert cpu_seconds(read) < 2


def test_spans_of_keys_and_values() -> None:
    document = parse("a: 1\nb:\n  c: [x, 'y']\n", "f")
    spans = {path: str(span) for path, span in document.values.items()}
    assert spans == {
        (): "f:1:1",
        ("a",): "f:1:4",
        ("b",): "f:3:3",
        ("b", "c"): "f:3:6",
        ("b", "c", 0): "f:3:7",
        ("b", "c", 1): "f:3:10",
    }
    assert {path: str(span) for path, span in document.keys.items()} == {
        ("a",): "f:1:1",
        ("b",): "f:2:1",
        ("b", "c"): "f:3:3",
    }
    span = document.values[("b", "c", 1)]
    assert (span.end_column, span.text) == (13, "  c: [x, 'y']")


def test_the_span_of_something_missing_is_that_of_its_nearest_parent() -> None:
    document = parse("a: 1\nb: {c: 2}\n", "f")
    assert str(document.span(("b", "x", "y"))) == "f:2:1"
    assert str(document.span(("b", "c"), of_key=True)) == "f:2:5"
    assert str(document.span(("zzz",))) == "f:1:1"
    assert YamlDocument("f", None).span(("a",)) is None


def test_limits_are_not_reached_by_what_they_allow() -> None:
    parse("a: [" + "1," * (MAX_NODES - 3) + "]", "f")
    parse("[" * MAX_DEPTH + "[]" + "]" * MAX_DEPTH, "f")
    parse("a: 0." + "1" * (MAX_NUMBER_LENGTH - 2), "f")


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    assert parse("\ufeffa: 1", "f").data == {"a": 1}


def test_free_keys_are_left_out() -> None:
    assert free_keys({"x-note": 1, "x": 2, "X-b": 3}) == {"x": 2, "X-b": 3}


def only_a_diagnostic(text: str) -> None:
    def read() -> None:
        try:
            parse(text, "f")
            found: tuple[Diagnostic, ...] = ()
        except DiagnosticError as error:
            without = (Diagnostic(code="none", message="an error without one\0"),)
            found = error.diagnostics or without
        assert all(c.isprintable() or c == "\n" for c in render(found))

    assert cpu_seconds(read) < 2


@settings(max_examples=examples(100))
@given(st.text(max_size=60))
def test_any_text_gives_data_or_diagnostics(text: str) -> None:
    only_a_diagnostic(text)


YAML_PIECES = (
    *"[]{}:,-?#&*!|>'\"%@` \n\t\r~a1é\u2028\x85",
    *("b: ", "- ", "? ", "---\n", "...\n", "&a ", "*a", "!!int ", "!t ", "<<: ", "0x", "\\x"),
    *("%YAML 1.2\n", "|2-\n"),
)


@settings(max_examples=examples(150))
@given(st.lists(st.sampled_from(YAML_PIECES), max_size=25).map("".join))
def test_any_almost_yaml_gives_data_or_diagnostics(text: str) -> None:
    only_a_diagnostic(text)
