"""List the public names that past releases had and the indexed one lacks, as compressed JSON.

    python -m crosscast_migrate.binding.make_past FOLDER

FOLDER has an index, and `past_releases.json`: entries in the order of the releases, with `package`,
`release`, what is downloaded (`wheel`, for the Python of `python`), and `names`, which says where
the modules of which name are. `homes` are packages that are in another folder than they are called.
An entry with `observed` stands for all releases that the drift observations have of that package.
Wheels are unpacked, nothing is imported. The result, `past.json.xz`: package to `releases`, oldest
first and the indexed one last, and `names`: module to names, each with the number of the last
release that had it and where the same object is now.
"""

from __future__ import annotations

import json
import lzma
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from crosscast.drift.observations import by_release, observations
from crosscast_migrate.binding.index import Index
from crosscast_migrate.binding.past_release import PastRelease

INDEX, RELEASES, PAST = "index.json.xz", "past_releases.json", "past.json.xz"
_OLD_WAYS = (".compat.", ".legacy.", ".experimental.", ".incubate.")
"""Parts of names that are offered only where there is no other."""
Names = Mapping[str, str]
"""Dotted name to the object that it names, as `binding.past_release` knows it."""


def unpacked(wheel: str, python: str, folder: Path) -> Path:
    """Download a wheel and unpack its Python files; return the folder."""
    place = folder / wheel
    if not place.exists():
        with tempfile.TemporaryDirectory() as download:
            command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", wheel]
            choice = ["--only-binary=:all:", "--python-version", python, "-d", download]
            subprocess.run([*command, *choice], check=True)
            (file,) = Path(download).glob("*.whl")
            with zipfile.ZipFile(file) as archive:
                names = [name for name in archive.namelist() if name.endswith(".py")]
                archive.extractall(place, names)
    return place


def releases_of(
    entries: list[dict[str, Any]], folder: Path
) -> dict[str, dict[str, dict[str, str]]]:
    """Return the names of each release of each package."""
    by_package: dict[str, dict[str, dict[str, str]]] = {}
    for entry in entries:
        if "observed" in entry:
            seen = by_release(observations(entry["observed"]))
            kept = {release: dict.fromkeys(each.signatures, "") for release, each in seen.items()}
            by_package.setdefault(entry["package"], {}).update(kept)
            continue
        past = PastRelease(
            unpacked(entry["wheel"], entry["python"], folder), entry.get("homes", {})
        )
        names = by_package.setdefault(entry["package"], {}).setdefault(entry["release"], {})
        for prefix, paths in entry["names"].items():
            for path in paths:
                names |= past.names(prefix, path)
        print(entry["package"], entry["release"], len(names), flush=True)
    return by_package


def past_of(package: str, releases: Mapping[str, Names], index: Index) -> dict[str, Any]:
    """Return the names that past releases of a package had and the present one lacks."""
    order = list(releases)
    by_object = [_by_object(releases[release]) for release in order]
    last: dict[str, int] = {}
    for number, release in enumerate(order):
        last |= dict.fromkeys(releases[release], number)
    modules: dict[str, dict[str, list[Any]]] = {}
    for name, number in sorted(last.items()):
        if index.entry(name) is None:
            module, _, short = name.rpartition(".")
            now = _now(name, number, [releases[each] for each in order], by_object, index)
            modules.setdefault(module, {})[short] = [number, now]
    present = index.releases[package].partition("+")[0]
    return {"releases": [*order, *({present} - {*order})], "names": modules}


def _by_object(names: Names) -> dict[str, list[str]]:
    names_of: dict[str, list[str]] = {}
    for name, made in names.items():
        if made:
            names_of.setdefault(made, []).append(name)
    return names_of


def _now(
    name: str, number: int, releases: list[Names], objects: list[dict[str, list[str]]], index: Index
) -> str:
    """A present name of an object: one of its names in the last release, or of those in later ones.

    The names of one release name one object; a name is followed into later releases, where it
    gets more.
    """
    names = {name}
    for at in range(number, len(releases)):
        for each in list(names):
            names |= {*objects[at].get(releases[at].get(each, ""), ())}
    present = [each for each in names if _is_known(each, index)]
    return min(present, key=_preference, default="")


def _is_known(name: str, index: Index) -> bool:
    entry = index.entry(name)
    return entry is not None and entry.kind in ("class", "function")


def _preference(name: str) -> tuple[bool, int, int, str]:
    return any(way in name for way in _OLD_WAYS), name.count("."), len(name), name


def main() -> None:
    """Write the past of the packages of a folder."""
    folder = Path(sys.argv[1])
    with lzma.open(folder / INDEX, "rt", encoding="utf-8") as stream:
        index = Index(json.load(stream))
    entries = json.loads((folder / RELEASES).read_text(encoding="utf-8"))
    by_package = releases_of(entries, Path(sys.argv[2] if len(sys.argv) > 2 else "build/past"))
    past = {package: past_of(package, releases, index) for package, releases in by_package.items()}
    with lzma.open(folder / PAST, "wt", encoding="utf-8", preset=9) as stream:
        json.dump(past, stream, separators=(",", ":"))


if __name__ == "__main__":
    main()
