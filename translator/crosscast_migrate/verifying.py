"""The command that verifies a migration in place, and what keeps it from doing so here."""

from __future__ import annotations

import ast
import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from crosscast.messages.source import Source
from crosscast.targets.backend import harness_of
from crosscast.targets.source_support import migration_apis
from crosscast_reading.pysource.syntax.parse import parse_source
from crosscast_reading.sources.files import kind_of

_SCRIPT = "SCRIPT ARG..."


@dataclass(frozen=True, slots=True)
class Verifying:
    """How a migration is verified. `obstacle`: why not here, empty if nothing is known."""

    command: str
    obstacle: str

    @property
    def words(self) -> str:
        """Both as one sentence."""
        if self.obstacle:
            return f"{self.command} verifies it, not here: {self.obstacle}"
        return f"{self.command} verifies it"


def how_to_verify(
    paths: Sequence[str],
    sources: Sequence[Source],
    api: str,
    *,
    experimental: bool,
    allowed: Sequence[str] = (),
) -> Verifying:
    """Return the command that runs both sides of a migration.

    Args:
        paths: the files and folders that were named.
        sources: what was read of them.
        api: the API that they are migrated to.
        experimental: whether experimental migrations are applied.
        allowed: the changes of meaning that are allowed.
    """
    trees = {
        source.name: tree
        for source in sources
        if kind_of(source) == "python" and (tree := parse_source(source)[0]) is not None
    }
    words = ["crosscast", "migrate", *paths, "--to", api]
    words += ["--experimental"] if experimental else []
    words += [word for name in allowed for word in ("--allow", name)]
    words += ["--verify", "--run", _script(trees)]
    return Verifying(shlex.join(words), next(_obstacles(trees, api), ""))


def _script(trees: dict[str, ast.Module]) -> str:
    """The file that is run, if it is certain: the only one, or the only one that runs itself."""
    runs = [name for name, tree in trees.items() if any(map(_is_main, tree.body))]
    for names in (list(trees), runs):
        if len(names) == 1:
            return shlex.quote(names[0])
    return _SCRIPT


def _is_main(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and any(
        isinstance(part, ast.Name) and part.id == "__name__" for part in ast.walk(node.test)
    )


def _obstacles(trees: dict[str, ast.Module], api: str) -> Iterator[str]:
    there = migration_apis()[api]
    harness = harness_of(there.framework) if there.framework else None
    if harness is None or harness.updates is None:
        yield f"runs of scripts migrated to {api} cannot be observed yet"
        return
    if there.old_python and not os.environ.get(there.old_python):
        yield f"{there.old_python} names no Python with the old release, nor does --old-python"
    here = {Path(name).stem for name in trees}
    here |= {part for name in trees for part in Path(name).parts[:-1]}
    for name, tree in trees.items():
        for node in tree.body:
            for package in _imported(node):
                known = package in here or package in harness.updates.stand_ins
                beside = Path(name).parent / package
                known = known or beside.is_dir() or beside.with_suffix(".py").is_file()
                if not (known or is_installed(package)):
                    yield f"{package}, which {name} imports, is not installed"


def _imported(node: ast.stmt) -> Iterator[str]:
    """Yield the packages that a statement certainly imports."""
    if isinstance(node, ast.Import):
        yield from (alias.name.partition(".")[0] for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        yield node.module.partition(".")[0]


@cache
def is_installed(package: str) -> bool:
    """Whether a package could be imported here, found without importing it."""
    if package in sys.stdlib_module_names:
        return True
    try:
        return find_spec(package) is not None
    except (ImportError, ValueError):
        return False
