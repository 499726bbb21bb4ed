"""A recipe as YAML."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crosscast.messages.diagnostics import Span
    from crosscast.recipe.fill_in import Mark, PathKey


def recipe_text(recipe: Any, marks: Sequence[Mark] = ()) -> str:
    """Return a loaded recipe as YAML with every value written out, in the oldest version that has
    them.

    Args:
        recipe: the recipe.
        marks: the values that are still to be filled in; their comments are kept.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.comments import CommentedSeq
    from ruamel.yaml.scalarstring import SingleQuotedScalarString as quoted

    from crosscast.recipe.versions import as_written

    def plain(value: Any) -> Any:
        if fields := getattr(type(value), "model_fields", None):
            values = {name: getattr(value, name) for name in fields}
            # Without a value it loads as the default again.
            kept = (n for n, field in fields.items() if (values[n], field.default) != (None, None))
            return {name: plain(values[name]) for name in kept}
        if isinstance(value, dict):
            return {name: plain(inner) for name, inner in value.items()}
        if isinstance(value, list | tuple):
            items = CommentedSeq(
                # In brackets, some patterns would be parsed differently.
                quoted(item) if isinstance(item, str) and not item.isidentifier() else plain(item)
                for item in value
            )
            items.fa.set_flow_style()
            return items
        return value

    data = as_written(plain(recipe))
    if not data["overrides"]:
        del data["overrides"]
    if not data["metrics"]["custom"]:
        del data["metrics"]
    if not data["tracking"]:
        del data["tracking"]
    stream = io.StringIO()
    YAML().dump(data, stream)
    text = stream.getvalue()
    if not marks:
        return text
    from crosscast.recipe.fill_in import with_marks
    from crosscast.recipe.yaml_source import parse

    document = parse(text, "")

    def place(path: PathKey) -> Span | None:
        return document.values.get(path) or document.span(path, of_key=True)

    return with_marks(text, marks, place)
