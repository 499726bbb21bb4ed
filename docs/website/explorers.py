"""The explorer's pages of the examples.

On the site, a link to an example's recipe, or to the script that it replaces, is followed by a link
to its page in the explorer.
"""

from __future__ import annotations

import contextlib
import posixpath
from pathlib import Path, PurePosixPath

from crosscast.explore.page import explorer_page
from crosscast.explore.reading import side_at
from crosscast.targets.backend import program_names

FORMS = ("examples/*/recipe.yaml", "examples/*/before/*.py", "examples/*/before/*.sh")
HOME = PurePosixPath("reference/examples.html")
"""The page with all of them."""


def explorer_of(path: PurePosixPath) -> PurePosixPath | None:
    """Return where the site shows a file in the explorer; None if it does not."""
    return path.with_suffix(".html") if any(map(path.match, FORMS)) else None


def explored_by(place: PurePosixPath, root: Path) -> PurePosixPath | None:
    """Return the file of the repository that a page shows in the explorer, if it is such a page."""
    if place.suffix != ".html":
        return None
    found = (place.with_suffix(suffix) for suffix in (".yaml", ".py", ".sh"))
    return next((path for path in found if explorer_of(path) and (root / path).is_file()), None)


def explorer_text(path: PurePosixPath, root: Path) -> str:
    """Return the explorer's page of a file, for all frameworks.

    Raises:
        DiagnosticError: It is no valid recipe, or no complete one can be read from it.
    """
    targets = program_names()
    with contextlib.chdir(root):  # the page names the file
        sides = [side_at(str(path), targets, {})]
    home = posixpath.relpath(HOME, path.parent)
    return explorer_page(sides, targets, home=home).text
