"""Limits of a recipe's numbers are told with few digits, and with the reason."""

from __future__ import annotations

import annotated_types
import pytest

from crosscast.recipe import section
from crosscast.recipe.bounds import bound_text
from recipe_texts import build, problems_of, text_of

SMALL = "smaller numbers are 0 in float32"
LARGE = "what is computed with larger numbers does not fit into float32"
ONE = "larger numbers are rounded to 1 in float32"
POSITIVE = "must be above 0 (at least 1.18e-38)"
ROOT = "must be above 0 (at least 1.09e-19)"
PRODUCTS = "squares and products of smaller numbers are 0 in float32"
BELOW = "must be below 1 (at most 0.99999994)"
ADAM = "{name: adam, learning_rate: 1, "


@pytest.mark.parametrize(
    ("field", "text", "message", "hint"),
    [
        ("optimizer", "{name: sgd, learning_rate: 0}", f"{POSITIVE}, got 0", SMALL),
        ("optimizer", "{name: sgd, learning_rate: 1e-40}", f"{POSITIVE}, got 1e-40", SMALL),
        ("optimizer", "{name: sgd, learning_rate: -1}", f"{POSITIVE}, got -1", ""),
        (
            "optimizer",
            "{name: sgd, learning_rate: 1e10}",
            "must be less than or equal to 4294967296, got 10000000000.0",
            LARGE,
        ),
        (
            "optimizer",
            f"{ADAM}eps: 0}}",
            f"{POSITIVE}, got 0",
            f"{SMALL}: weights without a gradient would become nan",
        ),
        ("optimizer", f"{ADAM}betas: [0.9, 1.0]}}", f"{BELOW}, got 1.0", ONE),
        ("optimizer", f"{ADAM}betas: [0.9, 2.0]}}", f"{BELOW}, got 2.0", ""),
        ("optimizer", f"{ADAM}betas: [0, 0.9]}}", f"{ROOT}, got 0", PRODUCTS),
        (
            "optimizer",
            "{name: adafactor, learning_rate: 1, eps: [1e-30, 1e-3]}",
            f"{ROOT}, got 1e-30",
            PRODUCTS,
        ),
        ("clipping", "{kind: global_norm, max_norm: 0}", f"{POSITIVE}, got 0", SMALL),
        (
            "loss_scaling",
            "{mode: dynamic, init_scale: 1e39}",
            "must be less than or equal to 8.5e+37, got 1e+39",
            LARGE,
        ),
        (
            "loss_scaling",
            "{mode: dynamic, backoff_factor: 0}",
            "must be greater than or equal to 1.53e-05, got 0",
            "",
        ),
        ("seed", "-1", "must be greater than or equal to 0, got -1", ""),
        ("seed", "2147483648", "must be less than or equal to 2147483647, got 2147483648", ""),
    ],
)
def test_limits_are_short_and_say_why(field: str, text: str, message: str, hint: str) -> None:
    (found,) = problems_of(text_of(**{field: text}))
    assert (found.code, found.message, found.hint) == ("CC104", message, hint)


@pytest.mark.parametrize("rate", ["1.18e-38", "4294967296"])
def test_a_limit_is_allowed_as_it_is_shown(rate: str) -> None:
    build(text_of(optimizer=f"{{name: sgd, learning_rate: {rate}}}"))


def test_every_limit_is_short_and_allowed() -> None:
    bounds = {
        (limit, isinstance(bound, annotated_types.Ge))
        for kind in vars(section).values()
        for field in getattr(kind, "__metadata__", ())
        for bound in getattr(field, "metadata", ())
        for limit in (getattr(bound, "ge", None), getattr(bound, "le", None))
        if limit is not None
    }
    assert len(bounds) > 5
    for limit, lower in (*bounds, (2.0**-63, True), (2.0**-16, True), (2.0**63, False)):
        shown = bound_text(limit, lower=lower)
        assert len(shown) <= 10
        assert float(shown) >= limit if lower else float(shown) <= limit
