"""Default values of framework APIs by version."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from crosscast.targets.evidence import Evidence

Value = bool | int | float | str | tuple[float | None, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Defaults:
    """The defaults of one API in one range of versions.

    A value that changed upstream has one entry for each range. An argument without a default in a
    range is missing from the entry.
    """

    api: str
    """Dotted name as scripts import it; for launch flags the name of the script."""
    package: str
    """Distribution (or repository) of the versions."""
    since: str = ""
    """Lowest version, inclusive; empty if unknown."""
    until: str = ""
    """First version that differs; empty if there is none."""
    form: str = ""
    """Distinguishes overloads of a name, or describes how to obtain values not in the signature."""
    arguments: Mapping[str, Value]
    """Name of the argument, key or flag to its default value."""
    fixed: Mapping[str, Value] = field(default_factory=lambda: MappingProxyType({}))
    """Recipe field to a fixed value of the API that no argument changes."""
    measured: tuple[str, ...] = ()
    """Versions on which the probe read exactly these values."""
    source: str
    """File or document that shows the values."""
    note: str = ""

    @property
    def evidence(self) -> Evidence:
        """`measured` if the probe ran on any version of the range."""
        return Evidence.MEASURED_CPU if self.measured else Evidence.DOCUMENTED

    def measured_on(self, versions: Sequence[str]) -> Defaults:
        """Return the entry as measured on those versions that are in its range."""
        return replace(self, measured=tuple(v for v in versions if self.holds(v)))

    def holds(self, version: str) -> bool:
        """Whether a version is in the range."""
        number = version_number(version)
        if self.since and number < version_number(self.since):
            return False
        return not self.until or number < version_number(self.until)


def version_number(version: str) -> tuple[int, ...]:
    """Return the release part of a version as integers: (2, 13, 0) for `2.13.0+cpu`."""
    numbers: list[int] = []
    for part in version.split("+")[0].split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        numbers.append(int(digits))
        if digits != part:  # 0rc1, 0b2
            break
    return tuple(numbers)


def holding(table: Sequence[Defaults], versions: Mapping[str, str]) -> Iterator[Defaults]:
    """Yield the entries that apply to installed packages, given as name to version."""
    for entry in table:
        if entry.package in versions and entry.holds(versions[entry.package]):
            yield entry


def find_defaults(
    table: Sequence[Defaults], api: str, version: str = "", form: str = ""
) -> Defaults | None:
    """Return the entry of an API at a version, the newest if none is given, or None."""
    for entry in table:
        current = not entry.until if not version else entry.holds(version)
        if entry.api == api and entry.form == form and current:
            return entry
    return None
