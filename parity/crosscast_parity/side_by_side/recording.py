"""What one run of a script recorded (its format: `inside.updates`), read and checked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MOST_BYTES = 1 << 30
_DAMAGED = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    OverflowError,
    RecursionError,
)


@dataclass(frozen=True, slots=True)
class TensorSummary:
    """Summary of a tensor: number of elements, norm, projection on a fixed vector."""

    count: int
    norm: float
    projection: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Clip:
    """A call that clips. `size`: norm, or largest element, of the gradients before it."""

    kind: str
    limit: float
    size: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedAttempt:
    """An attempt at an update; of one that was skipped there are no gradients and no changes."""

    optimizer: int
    cls: str
    skipped: bool
    backwards: int
    scale: float | None
    settings: tuple[Mapping[str, Any], ...]
    clips: tuple[Clip, ...]
    gradients: tuple[TensorSummary | None, ...]
    changes: tuple[TensorSummary | None, ...]
    types: tuple[str, ...]
    draws: bool = False
    """Whether random numbers were drawn that another version would draw otherwise."""
    rules: Mapping[str, Any] = field(default_factory=dict)
    """How the scale is adjusted, if the scaler says it: its factors and its interval."""
    micro: tuple[Mapping[str, Any], ...] = ()
    """The micro-batches and their losses (`inside.between`), if they were to be noted."""

    @property
    def rates(self) -> tuple[float, ...]:
        """The learning rate of every tensor."""
        return tuple(
            float(group["lr"])
            for group in self.settings
            for _ in range(int(group.get("tensors", 1)))
            if isinstance(group.get("lr"), int | float)
        )

    def setting(self, name: str) -> tuple[Any, ...]:
        """Return a setting of every tensor, () if a group has none of this name."""
        values = [
            tuple(group[name]) if isinstance(group[name], list) else group[name]
            for group in self.settings
            if name in group
            for _ in range(int(group.get("tensors", 1)))
        ]
        return tuple(values) if all(name in group for group in self.settings) else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """All attempts of a run. `whole`: it finished or reached the requested number."""

    framework: str = ""
    version: str = ""
    device: str = ""
    forced: bool = False
    sessions: bool = False
    """Whether it trained in the sessions of a graph."""
    attempts: tuple[RecordedAttempt, ...] = ()
    final: tuple[TensorSummary | None, ...] = ()
    whole: bool = False
    enough: bool = False
    error: str = ""
    elsewhere: bool = False
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What the program told of itself (`inside.between`), if it was to be noted."""
    reached: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Lines that were to be watched and were reached, by file below the folder of the program."""

    @property
    def updates(self) -> tuple[RecordedAttempt, ...]:
        """The attempts that were not skipped."""
        return tuple(attempt for attempt in self.attempts if not attempt.skipped)

    @property
    def scaled(self) -> bool:
        """Whether a scaler was seen at work, so that skips are seen, too."""
        return any(attempt.scale is not None for attempt in self.attempts)

    @property
    def types(self) -> frozenset[str]:
        """The types that modules computed in."""
        return frozenset(name for attempt in self.attempts for name in attempt.types)


def read(path: Path) -> Recording:
    """Read the records of a run, as far as they go.

    Raises:
        ValueError: what is there is no recording; the message says where.
    """
    attempts: list[RecordedAttempt] = []
    fields: dict[str, Any] = {}
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ValueError(f"more than {MOST_BYTES >> 20} MiB of records")
        lines = path.read_bytes().split(b"\n")
    except OSError:
        return Recording()
    for number, line in enumerate(lines, 1):
        if not line or number == len(lines):  # the last may be half written
            continue
        try:
            record = json.loads(line)
            kind = record["kind"]
            if kind == "update":
                attempts.append(_attempt(record))
            elif kind == "framework":
                fields |= {k: record[k] for k in ("version", "device", "forced")}
                fields["framework"] = record["name"]
                fields["sessions"] = bool(record.get("sessions"))
            elif kind == "told":
                fields["facts"] = dict(record["facts"])
            elif kind == "elsewhere":
                fields["elsewhere"] = True
            elif kind == "end":
                fields |= {
                    "whole": True,
                    "enough": bool(record["enough"]),
                    "error": str(record["error"]),
                    "final": _tensors(record["final"]),
                    "reached": {k: tuple(map(int, v)) for k, v in record["reached"].items()},
                }
            else:
                raise ValueError(f"kind {kind!r}")
        except _DAMAGED as error:
            raise ValueError(f"record {number}: {error!r}"[:300]) from None
    return Recording(attempts=tuple(attempts), **fields)


def _attempt(record: Mapping[str, Any]) -> RecordedAttempt:
    scale = record["scale"]
    return RecordedAttempt(
        optimizer=int(record["optimizer"]),
        cls=str(record["class"]),
        skipped=bool(record["skipped"]),
        backwards=int(record["backwards"]),
        scale=None if scale is None else float(scale),
        settings=tuple(dict(group) for group in record["settings"]),
        clips=tuple(
            Clip(kind=str(clip["kind"]), limit=float(clip["limit"]), size=float(clip["size"]))
            for clip in record["clips"]
        ),
        gradients=_tensors(record["gradients"]),
        changes=_tensors(record["changes"]),
        types=tuple(map(str, record["types"])),
        draws=bool(record.get("draws")),
        rules=dict(record.get("rules", {})),
        micro=tuple(dict(part) for part in record.get("micro", ())),
    )


def _tensors(values: Any) -> tuple[TensorSummary | None, ...]:
    return tuple(
        None if value is None else TensorSummary(int(value[0]), float(value[1]), float(value[2]))
        for value in values
    )
