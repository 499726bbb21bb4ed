"""The status.json of an emitted script, read as untrusted data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast_parity.recordings.files import read_json

StatusKind = Literal["finished", "stopped", "cannot_run", "failed"]

STATUSES: dict[str, StatusKind] = {kind: kind for kind in get_args(StatusKind)}
MAX_BYTES = 65536
MAX_TEXT = 2000
MAX_VERSIONS = 32
MAX_METRICS = 256
AVERAGED = "ema_"
"""Before the names of what an evaluation of averaged weights found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """Result on the evaluation rows; None where the value was not finite.

    `metrics`: of the user, by name. `averages`: of the averaged weights, None where nothing was
    said of them.
    """

    loss: float | None
    accuracy: float | None
    metrics: Mapping[str, float | None] = field(default_factory=dict)
    averages: Evaluation | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """What a script says about its own end; `exit_code` is None if it does not tell."""

    status: StatusKind
    exit_code: int | None = None
    message: str = ""
    windows: int | None = None
    updates: int | None = None
    eval: Evaluation | None = None
    device: str = ""
    versions: dict[str, str] = field(default_factory=dict)


def read_status(path: Path) -> Status:
    """Read a status file.

    Raises:
        DiagnosticError: CC702 if the file is missing, too large or not of the contract's form.
    """
    try:
        document = read_json(path, MAX_BYTES)
    except ValueError as error:
        raise _bad(path, str(error)) from None
    if not isinstance(document, dict):
        raise _bad(path, "is not a JSON object")
    return _status(path, document)


def _status(path: Path, document: dict[str, Any]) -> Status:
    kind = document.get("status")
    if not isinstance(kind, str) or kind not in STATUSES:
        raise _bad(path, "has no known `status`")
    versions = document.get("versions") or {}
    if (
        not isinstance(versions, dict)
        or len(versions) > MAX_VERSIONS
        or any(isinstance(version, dict | list) for version in versions.values())
    ):
        raise _bad(path, "has `versions` that are not a short object")
    if "exit_code" in document and not _is_code(document["exit_code"]):
        raise _bad(path, "has an `exit_code` that is not a whole number from 0 to 255")
    return Status(
        status=STATUSES[kind],
        exit_code=document.get("exit_code"),
        message=_read_text(path, document, "message"),
        windows=_count(path, document, "windows"),
        updates=_count(path, document, "updates"),
        eval=_evaluation(path, document.get("eval")),
        device=_read_text(path, document, "device"),
        versions={str(k)[:MAX_TEXT]: str(v)[:MAX_TEXT] for k, v in sorted(versions.items())},
    )


def _is_code(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 256


def _read_text(path: Path, document: dict[str, Any], name: str) -> str:
    value = document.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _bad(path, f"has a `{name}` that is not text")
    return value[:MAX_TEXT]


def _count(path: Path, document: dict[str, Any], name: str) -> int | None:
    value = document.get(name)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
        raise _bad(path, f"has a `{name}` that is not a count")
    return value


def _evaluation(path: Path, value: object) -> Evaluation | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise _bad(path, "has an `eval` that is not an object")
    if len(value) > MAX_METRICS:
        raise _bad(path, f"has an `eval` with more than {MAX_METRICS} values")
    own = {name: number for name, number in value.items() if not name.startswith(AVERAGED)}
    averaged = {
        name.removeprefix(AVERAGED): number for name, number in value.items() if name not in own
    }
    averages = _numbers(path, averaged) if "loss" in averaged else None
    return replace(_numbers(path, own), averages=averages)


def _numbers(path: Path, values: Mapping[str, object]) -> Evaluation:
    loss, accuracy = (_finite(path, values.get(name)) for name in ("loss", "accuracy"))
    metrics = {
        name[:MAX_TEXT]: _finite(path, value)
        for name, value in sorted(values.items())
        if name not in ("loss", "accuracy") and not isinstance(value, bool | str | list | dict)
    }
    return Evaluation(loss=loss, accuracy=accuracy, metrics=metrics)


def _finite(path: Path, value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _bad(path, "has an `eval` value that is not a number")
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _bad(path: Path, problem: str) -> DiagnosticError:
    return DiagnosticError(
        Diagnostic(
            code="CC702",
            message=f"{path.name} {problem}",
            hint="The run's log shows how far the script came.",
        )
    )
