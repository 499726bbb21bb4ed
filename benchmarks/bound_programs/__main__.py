"""Bind public examples of the indexed releases, as they are and with planted changes.

    python benchmarks/bound_programs REPOSITORIES [--docs]

`files.json` names the files: repository, commit and digest, the API and whether they must bind
without a place. REPOSITORIES holds git directories OWNER+NAME. A file in which a place is right
says so (`true_places`: what it calls is not in the release, as was looked up there).

In files marked "planted", one change of each kind is made, at the first place where the text
alone (`planting`) shows that a name, call or object is the library's; whether the index knows of
it plays no part in the choice. A change is named if a place has the word that only the change has.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from planting import KINDS, plants

from crosscast.messages.source import Source
from crosscast_migrate.binding.places import bind_sources

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs" / "measurements" / "bound-programs.md"


@dataclass(slots=True)
class Counts:
    """What came of the files of one API."""

    files: int = 0
    accused: int = 0
    true_places: int = 0
    planted: Counter[str] = field(default_factory=Counter)
    named: Counter[str] = field(default_factory=Counter)


def main() -> None:
    """Bind all files; exit with 1 if one is accused or fewer than 95 % of changes are named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("repositories", type=Path)
    parser.add_argument("--only", default="", help="a part of the paths")
    parser.add_argument("--docs", action="store_true", help=f"write docs/measurements/{PAGE.name}")
    args = parser.parse_args()
    counts: dict[str, Counts] = {}
    for entry in json.loads((HERE / "files.json").read_text())["files"]:
        if args.only not in entry["path"]:
            continue
        text = _text(args.repositories, entry)
        _bind(entry, text, counts.setdefault(entry["api"], Counts()))
    named, planted = (
        sum(sum(getattr(each, what).values()) for each in counts.values())
        for what in ("named", "planted")
    )
    accused = sum(each.accused for each in counts.values())
    print(f"{named} of {planted} changes named, {accused} files accused")
    if args.docs:
        PAGE.write_text(_page(counts))
    sys.exit(accused > 0 or named < 0.95 * planted)


def _text(repositories: Path, entry: dict[str, Any]) -> str:
    top = repositories / entry["repo"].replace("/", "+")
    git_dir = next(p.parent for p in sorted(top.rglob("HEAD")) if (p.parent / "objects").is_dir())
    source = f"{entry['commit']}:{entry['path']}"
    command = ["git", "--git-dir", str(git_dir), "show", source]
    data = subprocess.run(command, capture_output=True, check=True).stdout
    if hashlib.sha256(data).hexdigest() != entry["sha256"]:
        raise SystemExit(f"{source} of {entry['repo']} is another file")
    return data.decode()


def _bind(entry: dict[str, Any], text: str, counts: Counts) -> None:
    name, api = entry["path"], entry["api"]
    places = bind_sources([Source(name, text)], api).places
    right = set(entry.get("true_places", []))
    wrong = [p for p in places if p.span and not any(each in p.message for each in right)]
    counts.files += 1
    counts.accused += bool(wrong)
    counts.true_places += len(places) - len(wrong)
    for place in wrong:
        print(f"accused: {place.span} {place.message}", file=sys.stderr)
    for plant in plants(text, name, entry["packages"]) if entry.get("planted") else ():
        found = bind_sources([Source(name, plant.text)], api).places
        counts.planted[plant.kind] += 1
        if any(plant.word in place.message for place in found):
            counts.named[plant.kind] += 1
        else:
            print(f"not named: {name}:{plant.line} {plant.kind}: {plant.what}", file=sys.stderr)


def _page(counts: dict[str, Counts]) -> str:
    files = sum(each.files for each in counts.values())
    parts = [
        f"""\
# Public examples, bound to the releases

<!-- Written by `python benchmarks/bound_programs REPOSITORIES --docs`; do not edit. -->

{files} examples of the frameworks' own repositories, bound to the names and signatures of the
releases that are indexed ([`--check-only`](../reference/migrating.md#bound-to-a-release)).
*Accused*: a place was reported that the release takes. *True places*: what the release refuses
indeed, as was looked up there; examples lag behind a release.

| API | examples | accused | true places |
|---|---:|---:|---:|
"""
    ]
    for api, each in counts.items():
        parts.append(f"| {api} | {each.files} | {each.accused} | {each.true_places} |\n")
    parts.append(
        "\nOne change of each kind was planted where the text alone shows that it is the library's:"
        "\na renamed argument, a name that is gone, a moved import, a wrong method, and an argument"
        "\nthat nothing takes. Each is named if a place is reported that has its word.\n\n"
        f"| API | {' | '.join(KINDS)} | all |\n|---|{'---:|' * (len(KINDS) + 1)}\n"
    )
    for api, each in counts.items():
        numbers = [f"{each.named[kind]} of {each.planted[kind]}" for kind in KINDS]
        whole = f"{sum(each.named.values())} of {sum(each.planted.values())}"
        parts.append(f"| {api} | {' | '.join(numbers)} | {whole} |\n")
    return "".join(parts)


if __name__ == "__main__":
    main()
