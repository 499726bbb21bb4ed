"""Quoting: whatever a recipe says reaches Python and shell as one harmless constant."""

from __future__ import annotations

import ast
import json
import math
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jinja2 import UndefinedError

from crosscast.emit.render import environment, py_literal, render, shell_word, template_root
from property_settings import examples

STRINGS = (
    *("", "x", "it's", 'say "hi"', 'it\'s "one"', 'two "" and one \'', "''\"", "'\"'\"'\""),
    *("\\", "\\\\", "\\'", '\\"', "\\'\"", '\'\\\\""', "a\\", "\\n", "\\N{DASH}", "\\x41"),
    *("\n", "\r\n", "\t", "\0", "\x7f", "\x85", "\u2028\u2029", "\ufeff", "\u202e", "a\nb\n"),
    *("é", "\U0001f600", "\ud800", "\udfff\ud800", "ﬀ", "\u0301"),
    *("{{ x }}", "{% raw %}", "{# c #}", "{x}", "${HOME}", "$(touch x)", "`x`", "%s", "%%"),
    *(
        "'''",
        '"""',
        "'''\"\"\"",
        '"""\nimport os\n"""',
        "# x",
        "; x",
        "x" * 200,
        '"' * 90,
        "'" * 90,
    ),
)
NUMBERS = (0, -1, 2**63, True, False, None, 0.0, 1.0, 1e-3, 5e-5, 1e16, 1e22, 1e-320, 0.1 + 0.2)
TUPLES = ((), (1,), (0.9, 0.999), ("a", 'b"'), ((), (None, True)))
VALUES: tuple[object, ...] = (*STRINGS, *NUMBERS, *TUPLES)


@pytest.mark.parametrize("value", VALUES, ids=ascii)
def test_a_literal_evaluates_to_its_value(value: object) -> None:
    literal = py_literal(value)
    assert literal.isascii()
    assert literal.isprintable()
    again = ast.literal_eval(literal)
    assert (again, type(again)) == (value, type(value))


@given(st.text(st.characters(exclude_categories=())) | st.text("'\"\\ab{}$\n\u2028\ud800"))
def test_any_string_is_one_constant(text: str) -> None:
    literal = py_literal(text)
    assert ast.literal_eval(literal) == text
    assert literal.isascii()
    assert literal.isprintable()
    tree = ast.parse(f"NAME = {literal}")
    (statement,) = tree.body
    assert isinstance(statement, ast.Assign)
    assert isinstance(statement.value, ast.Constant)
    assert statement.value.value == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_any_finite_float_is_exact(value: float) -> None:
    again = ast.literal_eval(py_literal(value))
    assert again == value
    assert math.copysign(1, again) == math.copysign(1, value)


@pytest.mark.parametrize(
    "value", [math.inf, -math.inf, math.nan, (1.0, math.inf), [1], {}, b"x", {1}, object(), ...]
)
def test_what_has_no_literal_is_a_fault_of_the_caller(value: object) -> None:
    with pytest.raises(TypeError, match="no literal for"):
        py_literal(value)


def test_the_quotes_are_the_ones_a_formatter_chooses() -> None:
    assert py_literal("a") == '"a"'
    assert py_literal("it's") == '"it\'s"'
    assert py_literal('say "hi"') == "'say \"hi\"'"
    assert py_literal("'\"") == '"\'\\""'
    assert py_literal('\'""') == "'\\'\"\"'"


def test_arguments_are_as_a_formatter_writes_them(tmp_path: Path) -> None:
    values = [*VALUES, *("x" * length for length in range(60, 100)), "q\"'" * 25, "\u2028" * 13]
    lines = [f"    name_{number}={py_literal(value)}," for number, value in enumerate(values)]
    path = tmp_path / "literals.py"
    path.write_text("\n".join(("SETTINGS = Settings(", *lines, ")")) + "\n")
    command = [sys.executable, "-m", "ruff", "format", "--isolated", "--no-cache", "--diff"]
    done = subprocess.run([*command, path], capture_output=True, text=True, check=False)
    assert done.stdout == ""
    assert done.returncode == 0, done.stderr


def test_shell_words_come_through_bash_unchanged() -> None:
    words = [
        text.replace("\0", "")
        for text in STRINGS
        if not any(0xD800 <= ord(c) < 0xE000 for c in text)
    ]
    script = "printf '%s\\0' " + " ".join(map(shell_word, words))
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=True)
    assert done.stdout.decode().split("\0")[:-1] == words


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0")))
def test_any_text_is_one_shell_word(text: str) -> None:
    assert shlex.split(shell_word(text)) == [text]


def test_numbers_are_shell_words() -> None:
    assert shell_word(4) == "4"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {
        "literal.j2": "A = {{ view.a | py }}\nB = {{ view.b | py }}\n",
        "shell.j2": "echo {{ view.a | sh }}\n",
        "missing.j2": "{{ view.nothing }}\n",
        "deep.j2": "{{ view.a.b.c }}\n",
        "blocks.j2": "{% if view.a %}\n  {% set x = 1 %}\nyes\n{% endif %}\n",
        "raw.j2": "{{ view.a }}\n",
    }.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_templates_quote_by_filters(folder: Path) -> None:
    hostile = '"\nimport os\n{{ view }}'
    text = render(folder, "literal.j2", {"view": {"a": hostile, "b": "$(x)"}})
    assert [ast.literal_eval(line.partition(" = ")[2]) for line in text.splitlines()] == [
        hostile,
        "$(x)",
    ]
    text = render(folder, "shell.j2", {"view": {"a": "$(touch x); y"}})
    assert shlex.split(text) == ["echo", "$(touch x); y"]


@pytest.mark.parametrize("template", ["missing.j2", "deep.j2"])
def test_a_template_cannot_print_what_is_not_there(folder: Path, template: str) -> None:
    with pytest.raises(UndefinedError):
        render(folder, template, {"view": {"a": {}}})


def test_block_tags_leave_no_lines(folder: Path) -> None:
    assert render(folder, "blocks.j2", {"view": {"a": 1}}) == "yes\n"


def test_values_are_not_templates(folder: Path) -> None:
    text = render(folder, "raw.j2", {"view": {"a": "{{ 7 * 7 }}{% raw %}"}})
    assert text == "{{ 7 * 7 }}{% raw %}\n"


def test_the_shared_templates_are_behind_those_of_a_folder(folder: Path) -> None:
    env = environment(folder)
    assert env.get_template("_shared/header.j2")
    assert (template_root() / "_shared").is_dir()


@settings(max_examples=examples(30))
@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=5))
def test_tuples_of_plain_values(value: object) -> None:
    def tuples(node: object) -> object:
        return tuple(map(tuples, node)) if isinstance(node, list) else node

    plain = tuples(value)
    assert ast.literal_eval(py_literal(plain)) == plain
    assert json.dumps(ast.literal_eval(py_literal(plain))) == json.dumps(plain)
