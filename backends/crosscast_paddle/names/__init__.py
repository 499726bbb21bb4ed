"""The public names of Paddle, as `make index` finds them in the installed release."""

from __future__ import annotations

from pathlib import Path

from crosscast_migrate.binding.index import PublicNames

_OTHER_NAMES = ("paddle.argsort", "paddle.concat", "paddle.stack", "paddle.sum")
"""Their decorators take other names of arguments (`dim`) than the signature that Python tells."""
NAMES = PublicNames(
    file=Path(__file__).with_name("index.json.xz"),
    past=Path(__file__).with_name("past.json.xz"),
    signatures=dict.fromkeys(_OTHER_NAMES, ("*args **kwargs",)),
)
