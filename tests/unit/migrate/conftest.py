"""Many tests migrate to the same recipe: which lines carry its fields is worked out once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import pytest

from crosscast.carriers.field_lines import carriers
from crosscast.carriers.operation_lines import operation_lines
from crosscast.carriers.text_changes import Line
from crosscast.recipe.document import Recipe

Lines = Mapping[str, tuple[Line, ...]]


def once_a_recipe(of: Callable[[Recipe, str], Lines]) -> Callable[[Recipe, str], Lines]:
    """Keep the lines by the recipe's text: to find those of a field compiles other recipes."""
    kept: dict[tuple[str, str], Lines] = {}

    def lines(recipe: Recipe, target: str) -> Lines:
        key = (recipe.model_dump_json(), target)
        if key not in kept:
            kept[key] = of(recipe, target)
        return kept[key]

    return lines


@pytest.fixture(scope="session", autouse=True)
def _lines_are_found_once() -> Iterator[None]:
    """The lines depend on nothing but the recipe and the target."""
    place = "crosscast_migrate.across_frameworks"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"{place}.carriers", once_a_recipe(carriers))
        patch.setattr(f"{place}.operation_lines", once_a_recipe(operation_lines))
        yield
