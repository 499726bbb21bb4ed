"""The checksums of the compiled examples, which a minor version keeps."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from crosscast import __version__

ROOT = Path(__file__).resolve().parents[1]


def kept_path() -> Path:
    """Return the file with the checksums of this minor version."""
    minor = ".".join(__version__.split(".")[:2])
    return ROOT / "tests" / "package" / f"emitted-{minor}.json"


def checksums() -> dict[str, str]:
    """Return path to SHA-256 of every emitted file of the examples."""
    return {
        path.relative_to(ROOT).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(ROOT.glob("examples/*/after/**/*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


def is_released() -> bool:
    """Whether the first release of this minor version was made, as the changelog says."""
    minor = re.escape(kept_path().stem.removeprefix("emitted-"))
    heading = re.search(rf"(?m)^## {minor}\.0\b(.*)$", (ROOT / "CHANGELOG.md").read_text())
    return heading is not None and "unreleased" not in heading[1]


def undeclared(kept: Mapping[str, str], now: Mapping[str, str], changelog: str) -> list[str]:
    """Return the files that differ from what is kept, and that no later release declares.

    Args:
        kept: file to checksum, of the first release of the minor version.
        now: the same of today.
        changelog: its text; the sections before that of the first release declare changes.
    """
    newer = re.split(r"(?m)^## \d+\.\d+\.0\b", changelog)[0]
    patterns = re.findall(r"`(examples/[^`]+)`", newer)
    return [
        name
        for name, checksum in kept.items()
        if now.get(name) != checksum and not any(fnmatchcase(name, p) for p in patterns)
    ]
