"""Files that a function made and that are not on disk yet."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from crosscast.api import html
from crosscast.api.calls import (
    public,
)

if TYPE_CHECKING:
    from crosscast.messages.output import OutputFile

_SHOWN = 4


@dataclass(frozen=True, slots=True, repr=False)
class Files(Mapping[str, str]):
    """Relative path to text. Nothing is on disk until `write` is called."""

    _files: Mapping[str, OutputFile]
    _manifest: bool = True

    @public
    def write(self, folder: str | os.PathLike[str], *, force: bool = False) -> tuple[Path, ...]:
        """Write all files into a folder, or none; return their paths.

        Args:
            folder: created if missing.
            force: overwrite files that crosscast did not write.

        Raises:
            DiagnosticError: CC501 for files of somebody else, CC502 and CC503 for the folder.
        """
        from crosscast.messages.output import write_files

        root = Path(folder)
        write_files(root, self._files, force=force, manifest=self._manifest)
        return tuple(root / path for path in sorted(self._files))

    def without(self, paths: Collection[str]) -> Files:
        """Return the other files."""
        kept = {path: file for path, file in self._files.items() if path not in paths}
        return Files(kept, self._manifest)

    def is_program(self, path: str) -> bool:
        """Whether a file is written as a program that can be started."""
        return self._files[path].executable

    def __getitem__(self, path: str) -> str:
        return self._files[path].text

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)

    def __repr__(self) -> str:
        names = ", ".join(list(self._files)[:_SHOWN])
        more = ", ..." if len(self) > _SHOWN else ""
        return f"<Files: {counted(len(self), 'file')}{': ' if names else ''}{names}{more}>"

    def _repr_html_(self) -> str:
        texts = "".join(html.folded(path, html.pre(text)) for path, text in self.items())
        return html.block(html.folded(counted(len(self), "file"), texts))


def counted(number: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{number} {noun}{'s' * (number != 1)}"
