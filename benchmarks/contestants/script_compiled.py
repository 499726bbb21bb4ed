"""The emitted train.py with the framework's compiler switched on in the recipe."""

from __future__ import annotations

from functools import partial

from contestants import script

train = partial(script.train, form="compiled")
