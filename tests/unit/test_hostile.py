"""A hostile recipe produces an error or a constant, never code.

Every place where a recipe holds free text is filled with values that end strings, comments,
docstrings, templates or shell words. What is emitted then must be the program of a harmless recipe
but for that one constant.
"""

from __future__ import annotations

import ast
import json
import shlex
import subprocess
from collections.abc import Mapping
from functools import cache

import pytest

from crosscast.emit.compiler import check_all_overrides, compile_recipe
from crosscast.emit.frame import recipe_hash
from crosscast.emit.render import py_literal
from crosscast.messages.diagnostics import DiagnosticError, render
from crosscast.recipe.document import Recipe
from crosscast.recipe.yaml_text import recipe_text
from crosscast.targets.backend import Form
from recipe_strategies import TARGETS
from recipe_texts import build, text_of

HARMLESS = ("harmless_train", "harmless_eval")
HOSTILE = (
    *("'", '"', "'''", '"""', "\\", "\\'", '\\"', "a\\", "\\n", "\\N{BULLET}", "\\x00"),
    *('"; import os; os.system("touch x") #', "'''\nimport os\n'''", '"""\nimport os\n"""'),
    *("a\nimport os", "a\r\nimport os", "a\rb", "\n", "\t", "a\x0cb", "a\x0bb", "\0", "a\x1b[31m"),
    *("a\x85b", "a\u2028import os", "a\u2029b", "\u202eabc", "\ufeff", "\ud800", "é", "\U0001f600"),
    *("`touch x`", "$(touch x)", "${HOME}", "$HOME", "; touch x", "| touch x", "> x", "& x", "!x"),
    *("{{ 7 * 7 }}", "{% raw %}", "{% include 'x' %}", "{# x", "{", "}", "{0}", "%s", "%(x)s"),
    *("#", "# x", " # x", "-rf", "--output=/", "../../etc/passwd", "/etc/passwd", "~root", "*"),
    *("", " ", "a b", "C:\\x\\", "con", "x" * 300, "'" * 200, "null", "yes", "1"),
)


@cache
def harmless(target: str, form: Form) -> tuple[str, dict[str, str]]:
    recipe = build(recipe_source(data=HARMLESS))
    return recipe_hash(recipe), emitted(recipe, target, form)


def recipe_source(
    name: str = "toy",
    data: tuple[str, str] | None = None,
    factory: str = "",
    override: str = "",
    key: str = "",
) -> str:
    """Return a recipe's text with free text at one place, written as a JSON string."""
    changes: dict[str, str | None] = {"name": json.dumps(name)}
    if data:
        train, evaluate = map(json.dumps, data)
        changes["data"] = f"{{source: npz, train: {train}, eval: {evaluate}}}"
    if factory:
        named = ", ".join(f"{target}: {json.dumps(factory)}" for target in TARGETS)
        changes["model"] = f"{{kind: custom, factory: {{{named}}}}}"
        changes["data"] = "{source: npz, train: a, eval: b}"
    if override:
        changes["overrides"] = f"{{torch: {{compile: {json.dumps(override)}}}}}"
    if key:
        changes[f'"x-{json.dumps(key)[1:-1]}"'] = json.dumps(key)
    return text_of(**changes)


def emitted(recipe: Recipe, target: str, form: Form) -> dict[str, str]:
    (compiled,) = compile_recipe(recipe, [target], form=form)
    return {path: file.text for path, file in compiled.files.items()}


@cache
def accepted(source: str) -> Recipe | None:
    """Return the recipe, None if it is refused with diagnostics that can be printed anywhere."""
    try:
        recipe = build(source)
        check_all_overrides(recipe)
    except DiagnosticError as error:
        text = render(error.diagnostics)
        assert all(c.isprintable() or c == "\n" for c in text)
        return None
    return recipe


@cache
def constants(text: str) -> Mapping[str, object]:
    """Return the constants of a module and of its `SETTINGS` by name."""
    assigned = {
        node.targets[0].id: node.value
        for node in ast.parse(text).body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    told = assigned.get("SETTINGS")
    keywords = told.keywords if isinstance(told, ast.Call) else []
    named = assigned | {str(keyword.arg): keyword.value for keyword in keywords}
    return {name: node.value for name, node in named.items() if isinstance(node, ast.Constant)}


def assert_only_constants_differ(hostile: tuple[str, str], text: str, good: str) -> None:
    """Check that a program is the harmless one but for arguments that are the hostile texts."""
    put_in = dict(zip(HARMLESS, hostile, strict=True))
    expected = {
        name: put_in.get(value, value) if isinstance(value, str) else value
        for name, value in constants(good).items()
    }
    assert constants(text) == expected
    for name, value in constants(good).items():
        if value in put_in:
            hostile_line, line = (
                f"    {name}={py_literal(found)},\n" for found in (put_in[str(value)], value)
            )
            text = text.replace(hostile_line, line)
    assert text == good


def assert_only_words_differ(hostile: tuple[str, str], text: str, good: str) -> None:
    """Check that a shell script is the harmless one but for words that hold a hostile text."""
    words, good_words = (shlex.split(line, comments=True) for line in (text, good))
    for word, good_word in zip(words, good_words, strict=True):
        for harmless_text, hostile_text in zip(HARMLESS, hostile, strict=True):
            good_word = good_word.replace(harmless_text, hostile_text)
        assert word == good_word


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("form", ["script", "step"])
def test_paths_of_data_reach_the_script_as_constants(target: str, form: Form) -> None:
    digest, good = harmless(target, form)
    values = [text for text in HOSTILE if accepted(recipe_source(data=(text, text)))]
    assert len(values) > 40
    values = values if target == "torch" else values[::3]  # the quoting is the same
    for pair in zip(values[::2], values[1::2], strict=False):
        recipe = accepted(recipe_source(data=pair))
        assert recipe is not None
        files = emitted(recipe, target, form)
        assert files.keys() == good.keys()
        for path, text in files.items():
            text = text.replace(recipe_hash(recipe), digest)
            if path.endswith(".py"):
                assert_only_constants_differ(pair, text, good[path])
            elif text != good[path]:
                assert_only_words_differ(pair, text, good[path])


def test_launch_scripts_are_whole() -> None:
    for target in TARGETS:
        text = harmless(target, "script")[1]["launch.sh"]
        done = subprocess.run(
            ["bash", "-n"], input=text, text=True, capture_output=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("value", [text for text in HOSTILE if text not in ("con", "1")], ids=ascii)
def test_names_are_letters_digits_and_few_marks(value: str) -> None:
    name = accepted(recipe_source(name=value))
    assert name is None or value in ("null", "yes")  # as JSON strings, these are just words


@pytest.mark.parametrize("value", HOSTILE, ids=lambda text: ascii(text[:30]))
def test_factories_are_dotted_names(value: str) -> None:
    for text in (value, f"a:{value}", f"{value}:b", f"a.{value}:b", f"a:b{value}"):
        recipe = accepted(recipe_source(factory=text)) if text else None
        if recipe is not None:
            assert text.replace(".", "").replace(":", "").isidentifier()
            assert text.isascii()


@pytest.mark.parametrize("word", ["import", "None", "class", "lambda", "True", "async"])
def test_words_of_python_are_no_factories(word: str) -> None:
    for text in (f"{word}:f", f"a.{word}:f", f"a:{word}"):
        assert accepted(recipe_source(factory=text)) is None


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    "value",
    [
        *("build_model:build_model", "model:main", "np:train_window", "os:system", "m:torch"),
        *("sys:exit", "m:named_parameters", "m:exchange_layout", "m:paddle", "m:keras", "m:tf"),
    ],
)
def test_a_factory_shadows_no_name_of_the_script(target: str, value: str) -> None:
    recipe = accepted(recipe_source(factory=value))
    assert recipe is not None
    tree = ast.parse(emitted(recipe, target, "script")["train.py"])
    function = value.partition(":")[2]
    bound = [
        (alias.asname or alias.name, alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    ]
    defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert ("build_model", function) in bound
    names = [name for name, _ in bound]
    assert names.count("build_model") == 1
    assert not defined & set(names)


@pytest.mark.parametrize("value", HOSTILE, ids=lambda text: ascii(text[:30]))
def test_overrides_are_checked(value: str) -> None:
    assert not value or accepted(recipe_source(override=value)) is None


def test_free_keys_are_nowhere_in_the_output() -> None:
    plain = build(recipe_source())
    keys = [value for value in HOSTILE if value and len(value) < 100]
    seen = 0
    for value in keys:
        recipe = accepted(recipe_source(key=value))
        if recipe is not None:
            seen += 1
            assert recipe == plain
            assert recipe_text(recipe) == recipe_text(plain)
    assert seen > 50
    noted = build(text_of(**{"x-note": '"{{ 7 * 7 }}"'}))
    for target in TARGETS:
        assert emitted(plain, target, "script") == emitted(noted, target, "script")


def test_keys_of_overrides_and_factories_are_backend_names() -> None:
    for value in HOSTILE:
        if not value:
            continue
        text = text_of(overrides=f"{{{json.dumps(value)}: {{}}}}")
        assert accepted(text) is None


@pytest.mark.parametrize("name", ["a", "A.b-c_9", "0", "x" * 64, "con", "import", "a..b"])
def test_good_names_are_fine_everywhere(name: str) -> None:
    recipe = accepted(recipe_source(name=name))
    assert recipe is not None
    for target in TARGETS:
        files = emitted(recipe, target, "script")
        assert name in files["train.py"]
        compile(files["train.py"], "train.py", "exec")
