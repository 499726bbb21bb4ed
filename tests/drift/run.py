"""The drift radar: `make drift`, with flags in `DRIFT="..."`.

Installs the releases of a table, each in an environment of its own, and the newest that there are,
runs the probes in each, and says what differs from the observations that are kept. The exit code is
1 if anything does: a release shows something else than before, or there is a newer one. `--write`
keeps the observations, and writes the page. Needs a network with packages and some gigabytes.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from crosscast.drift.changes import changes
from crosscast.drift.observations import Observation, by_release, decoded, encoded
from crosscast_reading.pysource.libraries.signatures import release
from drift.environments import ROOT, Failed, install, newest, observe
from drift.releases import ENVIRONMENTS, PACKAGES, Environment

DATA = ROOT / "translator" / "crosscast" / "drift" / "observed"
WORK = ROOT / "build" / "drift"
Kept = dict[str, dict[str, Observation]]
"""Package, then release, to what was observed."""


def main(argv: Sequence[str] | None = None) -> int:
    """Observe; return 1 if anything differs from what is kept, 3 if a release cannot be run."""
    options = _arguments(argv)
    kept, failed = _kept(), False
    seen: Kept = {name: {} for name in PACKAGES}
    for environment in ENVIRONMENTS:
        names = {name for name, _ in environment.releases}
        if options.packages and not names & {*options.packages}:
            continue
        try:
            named = _named(environment)
            if named is None:
                continue
            if options.missing and all(r in kept[name] for name, r in named.releases):
                continue
            print(f"observing {named.label}", flush=True)
            for name, observation in _observed(named, keep=options.keep).items():
                seen[name][dict(named.releases)[name]] = observation
        except Failed as error:
            failed = True
            print(f"{environment.label}: {error}", file=sys.stderr)
    differs = [line for name in PACKAGES for line in differences(name, kept[name], seen[name])]
    print(*differs, sep="\n")
    if options.write:
        for name, observations in seen.items():
            if observations:
                _write(name, kept[name] | observations)
        return 3 if failed else 0
    return 3 if failed else 1 if differs else 0


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make drift", description=__doc__)
    add = parser.add_argument
    add("--packages", type=lambda text: text.split(","), default=[], metavar="P,...")
    add("--missing", action="store_true", help="only releases without observations")
    add("--write", action="store_true", help="keep what was observed")
    add("--keep", action="store_true", help="keep the environments, gigabytes, in build/drift")
    return parser.parse_args(argv)


def _named(environment: Environment) -> Environment | None:
    """Return an environment with its releases named; None if the table has the newest already."""
    if all(release for _, release in environment.releases):
        return environment
    named = tuple((name, release or newest(name)) for name, release in environment.releases)
    if any(named == other.releases for other in ENVIRONMENTS):
        return None
    return replace(environment, releases=named)


def _observed(environment: Environment, *, keep: bool) -> dict[str, Observation]:
    folder = WORK / environment.label
    try:
        return observe(environment, install(environment, folder))
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


def _kept() -> Kept:
    found: Kept = {}
    for name in PACKAGES:
        path = DATA / f"{name}.json"
        there = path.exists()
        found[name] = by_release(decoded(name, json.loads(path.read_text()))) if there else {}
    return found


def differences(package: str, kept: dict[str, Observation], seen: dict[str, Observation]
                 ) -> list[str]:  # fmt: skip
    """Return lines about what was observed now and is not what is kept."""
    lines = []
    for number, observation in seen.items():
        if number in kept:
            lines += _unlike(package, number, kept[number], observation)
            continue
        older = [other for other in kept if release(other) < release(number)]
        before = max(older, key=release, default="")
        lines.append(f"{package} {number}: not observed before")
        if before:
            pair = encoded({before: kept[before], number: observation})
            for change in changes(decoded(package, pair), before, number):
                lines.append(f"{package} {number}: {change.name} is not as in {before}")
    return lines


def _unlike(package: str, number: str, kept: Observation, seen: Observation) -> list[str]:
    pairs = [
        *((name, kept.facts.get(name), value) for name, value in seen.facts.items()),
        *(
            (name, kept.signatures.get(name), seen.signatures.get(name))
            for name in {**kept.signatures, **seen.signatures}
        ),
    ]
    return [
        f"{package} {number}: {name}: {now}; kept is {before}"
        for name, before, now in pairs
        if before != now
    ]


def text_of(data: Mapping[str, Any]) -> str:
    """Return the text of a file of observations: a line for every fact and every name."""
    parts = [f'"releases": {json.dumps(data["releases"])}']
    for section in ("behavior", "signatures"):
        entries = ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in data[section].items())
        parts.append(f'"{section}": {{\n{entries}\n}}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _write(package: str, each: dict[str, Observation]) -> None:
    ordered = {number: each[number] for number in sorted(each, key=release)}
    DATA.mkdir(exist_ok=True)
    (DATA / f"{package}.json").write_text(text_of(encoded(ordered)), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
