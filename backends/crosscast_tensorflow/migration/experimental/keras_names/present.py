"""The names, arguments and members of the present Keras, as data.

`present.json` is what `tests/frameworks/run_keras_present.py` prints where Keras 3.15 is installed
beside tf_keras; a test compares both.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_Words = Mapping[str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class Present:
    """What Keras 3 has where Keras 2 had something of the same kind."""

    public: _Words
    """Module to its names, in `tensorflow.keras` or in `keras`."""
    of_tensorflow: _Words
    """Module to the names that only `tensorflow.keras` has."""
    arguments: _Words
    """Function or class to all arguments that it takes; it is missing if others are taken, too."""
    methods: _Words
    """Method of a model to its arguments."""
    gone: _Words
    """Kind of object to the members that Keras 2 had and Keras 3 does not have."""


@cache
def present() -> Present:
    """Return the data."""
    text = Path(__file__).with_name("present.json").read_text(encoding="utf-8")
    data = json.loads(text)
    return Present(
        public={home: _words(" ".join(parts)) for home, parts in data["names"].items()},
        of_tensorflow={home: _words(parts[1]) for home, parts in data["names"].items()},
        arguments=_all(data["arguments"]),
        methods=_all(data["methods"]),
        gone=_all(data["gone"]),
    )


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _all(texts: Mapping[str, str]) -> _Words:
    return {name: _words(text) for name, text in texts.items()}
