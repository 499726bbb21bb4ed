"""The installed releases show what was observed in them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from crosscast.drift.changes import observed
from crosscast.drift.observations import by_release
from drift.environments import observe
from drift.releases import Environment
from frameworks.subprocesses import require
from probes.default_values import installed
from tiers import exhaustive

PACKAGES = [
    pytest.param(("torch",), marks=pytest.mark.torch),
    pytest.param(("tensorflow", "keras"), marks=pytest.mark.tensorflow),
    pytest.param(("paddle",), marks=pytest.mark.paddle),
    pytest.param(("jax", "flax", "optax"), marks=pytest.mark.jax),
]


@exhaustive("all facts and names once more")
@pytest.mark.parametrize("names", PACKAGES)
def test_the_installed_release_is_as_observed(names: tuple[str, ...]) -> None:
    for name in names:
        require(name)
    releases = {name: installed(name)[name].partition("+")[0] for name in names}
    here = observe(Environment(names[0], (*releases.items(),)), Path(sys.executable))
    for name, release in releases.items():
        kept = by_release(observed(name))
        if release not in kept:
            pytest.skip(f"{name} {release} was not observed; make drift")
        assert here[name] == kept[release]
