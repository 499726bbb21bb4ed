"""A recipe as YAML."""

from __future__ import annotations

import io
from typing import Any


def recipe_text(recipe: Any) -> str:
    """Return a loaded recipe as YAML with every value written out."""
    from ruamel.yaml import YAML
    from ruamel.yaml.comments import CommentedSeq
    from ruamel.yaml.scalarstring import SingleQuotedScalarString as quoted

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

    data = plain(recipe)
    if not data["overrides"]:
        del data["overrides"]
    if not data["metrics"]["custom"]:
        del data["metrics"]
    stream = io.StringIO()
    YAML().dump(data, stream)
    return stream.getvalue()
