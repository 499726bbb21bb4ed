"""Whatever a file holds, the answer is a recipe or diagnostics."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from crosscast.emit.compiler import check_all_overrides
from crosscast.messages.diagnostics import DiagnosticError, render
from crosscast.recipe.document import Recipe
from crosscast.recipe.schema import recipe_schema
from crosscast.recipe.validate import build_recipe
from crosscast.recipe.yaml_source import YamlDocument, parse
from property_settings import examples
from recipe_texts import text_of

DEFINITIONS = recipe_schema()["$defs"].values()
FIELDS = sorted({name for definition in DEFINITIONS for name in definition["properties"]})
TAGS = ("bert", "custom", "synthetic", "npz", "dynamic", "static", "none", "value", "global_norm")
WORDS = (*TAGS, "sgd", "adam", "adamw", "linear", "tiny", "float16", "mixed", "torch", "bias", "lr")
GOOD = parse(text_of(), "f").data

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(WORDS)
    | st.text(max_size=5)
)
keys = st.sampled_from((*FIELDS, *WORDS, "x-note", "")) | st.text(max_size=5)
junk = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3).map(tuple) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=8,
)


@st.composite
def documents(draw: st.DrawFn) -> Any:
    """A good recipe's data with junk in some places."""
    data = {name: dict(part) if isinstance(part, dict) else part for name, part in GOOD.items()}
    for _ in range(draw(st.integers(1, 4))):
        section = draw(st.sampled_from((*Recipe.model_fields, "lr")))
        part = data.get(section)
        if isinstance(part, dict) and draw(st.booleans()):
            data[section] = part | {draw(keys): draw(junk)}
        else:
            data[section] = draw(junk)
    return data


@settings(max_examples=examples(120))
@given(documents() | junk)
def test_any_data_gives_a_recipe_or_diagnostics(data: Any) -> None:
    try:
        recipe = build_recipe(YamlDocument("f", data))
        check_all_overrides(recipe)
    except DiagnosticError as error:
        text = render(error.diagnostics)
    else:
        text = render([])
        assert Recipe.model_validate(recipe.model_dump()) == recipe
    assert all(c.isprintable() or c == "\n" for c in text)
