"""Path patterns in settings and on the command line."""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from pathlib import Path, PurePath


def path_matches(file: str, pattern: str, root: str = "") -> bool:
    """Whether a path, its file name or one of its folders matches a pattern.

    Args:
        file: the path as printed in diagnostics.
        pattern: with `*`, `?` and `[...]`; `*` also matches slashes.
        root: the folder that the pattern is relative to.
    """
    base = Path(root).absolute() if root else Path.cwd()
    absolute = Path(os.path.normpath(Path(file).absolute()))
    relative = absolute.relative_to(base) if absolute.is_relative_to(base) else PurePath(file)
    wanted = pattern.rstrip("/").removeprefix("./")
    parts = [relative, *relative.parents]
    if any(fnmatchcase(part.as_posix(), wanted) for part in parts if part.parts):
        return True
    return "/" not in wanted and any(fnmatchcase(name, wanted) for name in relative.parts)
