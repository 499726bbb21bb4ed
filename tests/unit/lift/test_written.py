from __future__ import annotations

from typing import Any

import pytest

from crosscast.messages.diagnostics import Span
from crosscast.recipe.yaml_source import parse
from crosscast_reading.lift.annotated_yaml import comment, recipe_yaml, scalar
from crosscast_reading.lift.recipe_draft import Filled, nested

VALUES: tuple[Any, ...] = (
    *(1, 0, 2**31, 1.0, 1e-6, 2e-5, 65536.0, 1e22, 0.1, True, False, "none", "adamw"),
    *("data/train.npz", "a:b", "null", "yes", "1e5", "0x1f", "# x", "", " lead", "é", "a b", "-x"),
    *([1.0, 2.0], ["bias", "*.weight"], []),
)


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_are_read_back_as_they_were(value: Any) -> None:
    data = parse(f"x: {scalar(value)}\n", "t").data["x"]
    assert (list(data) if isinstance(data, tuple) else data) == value
    assert isinstance(data, tuple) or type(data) is type(value)


def test_numbers_in_paths_make_items() -> None:
    fields = {"a.0.b": 1, "a.0.c": 2, "a.1.b": 3, "d": 4}
    assert nested(fields) == {"a": [{"b": 1, "c": 2}, {"b": 3}], "d": 4}


def test_the_text_is_in_the_order_of_a_recipe_and_reads_back() -> None:
    fields = {
        "optimizer.name": Filled(value="sgd"),
        "optimizer.groups.0.parameters": Filled(value=["*.bias"]),
        "optimizer.groups.0.rate_factor": Filled(value=2.0, note="twice"),
        "version": Filled(value=1),
    }
    text = recipe_yaml(fields, ["a.py", "b\n.py"])
    assert parse(text, "t").data == {
        "version": 1,
        "optimizer": {"name": "sgd", "groups": ({"parameters": ("*.bias",), "rate_factor": 2.0},)},
    }
    assert text.index("version:") < text.index("optimizer:")
    assert text.startswith("# Lifted by crosscast")


def test_a_comment_names_places_notes_and_doubt() -> None:
    places = tuple(Span("a.py", line, 1) for line in (1, 2, 3, 4))
    filled = Filled(value=1, places=places, confidence="likely", note="args.n")
    assert comment(filled) == "a.py:1, a.py:2, a.py:3, ... (args.n) likely"
    assert comment(Filled(value=1, how="assumed", note="not in the source")).startswith("FILL IN:")
    assert comment(Filled(value=1, how="assumed")) == "FILL IN"
    assert comment(Filled(value=1)) == ""
