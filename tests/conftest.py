"""Settings that hold for every test."""

from __future__ import annotations

from hypothesis import settings

# A busy machine is no failure: how long something may take is what a few tests measure themselves.
settings.register_profile("crosscast", deadline=None)
settings.load_profile("crosscast")
