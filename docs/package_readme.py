"""The text that a package index shows: README.md without links to files of the repository.

They and images would lead nowhere there. hatchling imports this file when it builds wheel or sdist.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_TARGET = r"\((?!\w+:)[^)\s]+\)"
_ASIDE = re.compile(rf" \(\[docs\]{_TARGET}\)")
_IMAGE = re.compile(rf"!\[[^\]]*\]{_TARGET}")
_LINK = re.compile(rf"\[([^\]]*)\]{_TARGET}")


def package_readme(text: str) -> str:
    """Return a page of Markdown without its relative images and links.

    The words of links stay, except for "([docs](...))".
    """
    return _LINK.sub(r"\1", _IMAGE.sub("", _ASIDE.sub("", text)))


class PackageReadme(MetadataHookInterface):
    """Sets the text from README.md."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the text to what pyproject.toml says."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": package_readme(text)}
