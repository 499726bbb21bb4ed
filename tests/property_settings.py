"""What property tests draw: two profiles of hypothesis.

`same` is the default: the same examples on every machine, so a green run is green everywhere.
`fresh` draws other examples in every run and more of them; choose it with
`--hypothesis-profile fresh`, and repeat a run with `--hypothesis-seed`.
"""

from __future__ import annotations

import math

from hypothesis import HealthCheck, settings

FRESH = "fresh"
DEFAULT_EXAMPLES = 100
SAME_SHARE, FRESH_FACTOR = 0.25, 2
"""How many times as many examples as a test asks for the profiles draw."""


def register_profiles() -> None:
    """Register both profiles and load `same`.

    There are no deadlines and no health checks about speed or luck: a busy machine and an unlucky
    draw are not failures. There is no database: a failure in `fresh` prints a blob that reproduces
    it, and does not fail later runs of `same`.
    """
    common = settings(
        deadline=None,
        database=None,
        suppress_health_check=[
            HealthCheck.too_slow,
            HealthCheck.data_too_large,
            HealthCheck.filter_too_much,
        ],
    )
    settings.register_profile(
        "same", common, derandomize=True, max_examples=_share(DEFAULT_EXAMPLES)
    )
    settings.register_profile(
        FRESH,
        common,
        derandomize=False,
        print_blob=True,
        max_examples=DEFAULT_EXAMPLES * FRESH_FACTOR,
    )
    settings.load_profile("same")


def examples(count: int, fresh: int | None = None) -> int:
    """Return how many examples a test draws that asks for `count`.

    Args:
        count: a quarter as many in the profile `same`, twice as many in `fresh`.
        fresh: how many in `fresh`; then there are `count` in `same`. Of examples that take long,
            `make test` draws a small part.
    """
    if settings.get_current_profile_name() == FRESH:
        return count * FRESH_FACTOR if fresh is None else fresh
    return _share(count) if fresh is None else count


def _share(count: int) -> int:
    return math.ceil(count * SAME_SHARE)
