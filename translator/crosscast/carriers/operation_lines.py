"""The emitted lines of each operation of the Plan, which has its own template."""

from __future__ import annotations

from crosscast.carriers.text_changes import Line
from crosscast.emit.compiler import compile_recipe
from crosscast.emit.lowering import MARK, MARKED
from crosscast.recipe.document import Recipe


def operation_lines(recipe: Recipe, target: str) -> dict[str, tuple[Line, ...]]:
    """Return the emitted lines of every kind of operation.

    A target without templates, whose operations are performed by a library, has none.
    """
    token = MARKED.set(True)
    try:
        (marked,) = compile_recipe(recipe, [target])
    finally:
        MARKED.reset(token)
    by_kind: dict[str, list[Line]] = {}
    for path, file in marked.files.items():
        number, kind = 0, ""
        for text in file.text.split("\n"):
            if text.lstrip().startswith(MARK.rstrip()):
                kind = text.lstrip().removeprefix(MARK.rstrip()).strip()
                continue
            number += 1
            if kind and text.strip():
                by_kind.setdefault(kind, []).append(Line(path, number, text))
    return {kind: tuple(lines) for kind, lines in by_kind.items()}
