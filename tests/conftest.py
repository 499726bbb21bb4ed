"""Settings that hold for every test."""

from __future__ import annotations

import signal

from hypothesis import settings

# A busy machine is no failure: how long something may take is what a few tests measure themselves.
settings.register_profile("crosscast", deadline=None)
settings.load_profile("crosscast")

# A shell starts what runs in its background with Ctrl-C ignored, and every program of a test would
# inherit that: those that are interrupted would never end.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
