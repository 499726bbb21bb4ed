"""What a parity run is asked to do, read from text once and checked once."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from crosscast.diagnostics import Diagnostic, DiagnosticError
from crosscast_parity.inside.inject import Fault, parse_fault

Device = Literal["cpu", "gpu"]
Half = Literal["auto", "native", "emulated"]

DEFAULT_REFERENCE = "torch"
MAX_FAULT_WINDOW = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Settings of a parity run.

    `windows`: optimizer steps of every run, None for the recipe's own number. `twins`: perturbed
    runs of the reference. `threads`: CPU threads of a process. `jobs`: processes side by side.
    `timeout`: seconds for one process. `python`: interpreter by target. `faults`: None chooses
    some where the recipe scales the loss, an empty tuple injects none. `half`: how half precision
    is computed; `auto` emulates it where a framework has none on the device.
    """

    targets: tuple[str, ...]
    workdir: Path
    windows: int | None = 64
    twins: int = 3
    threads: int = 1
    jobs: int = 1
    timeout: float = 900.0
    device: Device = "cpu"
    python: dict[str, str] = field(default_factory=dict)
    reference: str = DEFAULT_REFERENCE
    faults: tuple[Fault, ...] | None = None
    half: Half = "auto"

    def interpreter(self, target: str) -> str:
        """Return the Python that runs a target."""
        return self.python.get(target, sys.executable)


def make_options(
    targets: Sequence[str],
    workdir: Path,
    *,
    windows: int | None = 64,
    twins: int = 3,
    threads: int = 1,
    jobs: int | None = None,
    timeout: float = 900.0,
    device: Device = "cpu",
    python: Iterable[str] = (),
    reference: str | None = None,
    faults: Iterable[str] | None = None,
    half: Half = "auto",
) -> Options:
    """Build options from what a command line holds.

    Args:
        targets: names of targets, at least one, each once.
        workdir: folder for everything that is written.
        windows: see `Options`.
        twins: see `Options`.
        threads: see `Options`.
        jobs: default is the number of cores divided by `threads`.
        timeout: see `Options`.
        device: see `Options`.
        python: texts `TARGET=PATH`.
        reference: one of the targets; default torch, else the first target.
        faults: texts `WINDOW:MICRO=inf|-inf|nan[@NAMES]`, or the single text `none`.
        half: see `Options`.

    Raises:
        DiagnosticError: CC705 for a fault, CC707 for anything else that makes no sense.
    """
    if not targets or len(set(targets)) != len(targets):
        raise _refuse("name at least one target, each once")
    counts = {"windows": windows, "threads": threads, "jobs": jobs}
    for name, value in counts.items():
        if value is not None and value < 1:
            raise _refuse(f"{name} must be at least 1")
    if twins < 0 or not timeout > 0:
        raise _refuse("twins must be at least 0 and the timeout more than 0 seconds")
    if reference is not None and reference not in targets:
        raise _refuse(f"the reference {reference!r} is not among the targets")
    if half == "emulated" and device != "cpu":
        raise _refuse("emulated half precision is for --device cpu")
    return Options(
        half=half,
        targets=tuple(targets),
        workdir=workdir.absolute(),
        windows=windows,
        twins=twins,
        threads=threads,
        jobs=jobs or max(1, (os.cpu_count() or 1) // threads),
        timeout=timeout,
        device=device,
        python=_interpreters(python, targets),
        reference=reference or (DEFAULT_REFERENCE if DEFAULT_REFERENCE in targets else targets[0]),
        faults=None if faults is None else _faults(list(faults), windows),
    )


def _interpreters(texts: Iterable[str], targets: Sequence[str]) -> dict[str, str]:
    interpreters = {}
    for text in texts:
        target, equals, path = text.partition("=")
        if not equals or not path or target not in targets:
            raise _refuse(f"{text!r} is not TARGET=PATH with one of the targets")
        # A relative path would be looked up from the folder of the script that is run; a bare
        # name is looked up on PATH.
        interpreters[target] = str(Path(path).absolute()) if os.sep in path else path
    return interpreters


def _faults(texts: Sequence[str], windows: int | None) -> tuple[Fault, ...]:
    if list(texts) == ["none"]:
        return ()
    try:
        if "none" in texts:
            raise ValueError("none stands alone, without other faults")
        faults = tuple(parse_fault(text) for text in texts)
        if any(fault.window > MAX_FAULT_WINDOW for fault in faults):
            raise ValueError(f"a fault lies after window {MAX_FAULT_WINDOW}")
        if windows is not None and any(fault.window >= windows for fault in faults):
            raise ValueError(f"a fault lies behind the {windows} windows of the run")
    except ValueError as error:
        raise DiagnosticError(
            Diagnostic(code="CC705", message=str(error), hint="for example --fault 2:1=inf")
        ) from None
    return faults


def _refuse(message: str) -> DiagnosticError:
    return DiagnosticError(Diagnostic(code="CC707", message=message))
