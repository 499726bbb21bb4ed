"""No field with an effect is without a line, and no line of the training step without a field.

A line without a field needs a reason: it is in a table (`dark_lines.REASONS`), and a line that no
row of the table explains fails here.
"""

from __future__ import annotations

import ast
import re

import pytest

from crosscast.emit.compiler import compile_recipe
from crosscast.emit.frame import recipe_hash
from crosscast.explore.dark_lines import DESCRIPTION, FILE, REASONS, SIGNATURE, STEP, dark_lines
from crosscast.explore.script_lines import ScriptLines
from crosscast.messages.diagnostics import DiagnosticError
from crosscast.recipe.document import Recipe
from explored_recipes import DIALECTS, NAMES, SCRIPTS, explored, others_of
from tiers import cases, exhaustive

QUICK = [("bert-small", "torch"), ("gpt", "tensorflow"), ("gpt", "paddle"), ("gpt", "jax")]
SCRIPT = cases(SCRIPTS, QUICK, "every example for every framework")


@pytest.mark.parametrize(("name", "target"), SCRIPT)
def test_every_line_of_the_step_has_a_field_or_a_reason(name: str, target: str) -> None:
    found = explored(name, target)
    if found is None:
        assert name == "data-parallel-from-scratch" or (name, target) == ("apex-o1", "jax")
        return
    compiled, lines = found
    text = compiled.files[FILE].text
    dark = dark_lines(text, lines)
    assert [text.split("\n")[number - 1] for number, why in dark.items() if not why] == []
    told = sum(why in (SIGNATURE, DESCRIPTION) for why in dark.values())
    assert len(dark) - told < _length_of_step(text) / 2


def _length_of_step(text: str) -> int:
    functions = (node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef))
    steps = [node for node in functions if node.name in STEP]
    return sum((step.end_lineno or 0) - step.lineno + 1 for step in steps)


@exhaustive("the API generations besides the newest ones")
@pytest.mark.parametrize("target", DIALECTS)
@pytest.mark.parametrize("name", NAMES)
def test_dialects(name: str, target: str) -> None:
    if (found := explored(name, target)) is not None:
        dark = dark_lines(found[0].files[FILE].text, found[1])
        assert all(dark.values())


@exhaustive("needs the scripts of all dialects")
def test_every_reason_is_needed() -> None:
    dark = set()
    for name in ("bert-small", "resnet-cifar"):
        for target in DIALECTS:
            if (found := explored(name, target)) is not None:
                lines = found[0].files[FILE].text.split("\n")
                dark |= {lines[n - 1].strip() for n in dark_lines("\n".join(lines), found[1])}
    unused = [row.pattern for row in REASONS if not any(re.fullmatch(row.pattern, d) for d in dark)]
    assert unused == []


TEXT = """\
def train_window(
    state: TrainState, micro_batches: Sequence[dict[str, Any]], loss_fn: LossFunction
) -> dict[str, Any]:
    \"\"\"Make one step.

    In one go.
    \"\"\"
    state.windows += 1
    state.surprise()
"""


def test_a_new_dark_line_has_no_reason() -> None:
    dark = dark_lines(TEXT, ScriptLines({}, {}))
    assert [number for number, why in dark.items() if not why] == [9]
    assert sorted(dark) == [1, 2, 3, 4, 6, 7, 8, 9]


def test_the_operation_is_the_reason() -> None:
    lines = ScriptLines({}, {"zero": frozenset({(FILE, 9)})})
    assert "Clear the window's gradients" in dark_lines(TEXT, lines)[9]


@pytest.mark.parametrize("text", ["", "def other(): pass\n", "this is not Python"])
def test_texts_without_a_step(text: str) -> None:
    assert dark_lines(text, ScriptLines({}, {})) == {}


@pytest.mark.parametrize(("name", "target"), cases(SCRIPTS, QUICK[:1], "every example"))
def test_every_field_with_an_effect_has_a_line(name: str, target: str) -> None:
    """The scripts of all other recipes are compared here, not only of those that suffice."""
    found = explored(name, target)
    if found is None:
        return
    _, lines = found
    base = _text(others_of(name).recipe, target)
    for path, own in lines.fields.items():
        if not (own.own or own.related or own.gaps):
            same = [_text(other, target) in ("", base) for other in others_of(name).of(path)]
            assert all(same), path


def _text(recipe: Recipe, target: str) -> str:
    """Return all files without the fingerprint of the recipe; empty if they cannot be emitted."""
    try:
        (compiled,) = compile_recipe(recipe, [target])
    except DiagnosticError:
        return ""
    files = (f"{path}\n{file.text}" for path, file in compiled.files.items())
    return "\n".join(files).replace(recipe_hash(recipe), "")


@pytest.mark.parametrize(("name", "target"), SCRIPT)
def test_the_three_degrees_are_apart(name: str, target: str) -> None:
    found = explored(name, target)
    for lines in found[1].fields.values() if found is not None else ():
        assert not lines.own & lines.related
        assert not lines.gaps & (lines.own | lines.related)


CLIP = {
    "torch": "clip_grad_norm_",
    **dict.fromkeys(("tensorflow", "paddle", "jax"), "coefficient = "),
}


@pytest.mark.parametrize(("name", "target"), SCRIPT)
def test_what_a_reader_looks_for(name: str, target: str) -> None:
    """The rate and the limit of clipping are followed from their constants into the step."""
    found = explored(name, target)
    if found is None or name not in ("bert-small", "gpt", "paddle-xnli"):
        return
    compiled, lines = found
    text = compiled.files[FILE].text.split("\n")
    for path, part in (
        ("optimizer.learning_rate", "lr = learning_rate("),
        ("optimizer.learning_rate", '"lr": lr'),
        ("clipping.max_norm", CLIP[target]),
    ):
        lit = [text[n - 1] for file, n in lines.fields[path].related if file == FILE]
        assert any(part in line for line in lit), (path, part)
