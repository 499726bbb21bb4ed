"""What a parity run is asked to do, read from text once and checked once."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast_parity.inside.inject import Fault, parse_fault
from crosscast_parity.planning.contestants import refuse
from crosscast_parity.planning.stages import Depth

Device = Literal["cpu", "gpu"]
Half = Literal["auto", "native", "emulated"]

DEFAULT_REFERENCE = "torch"
MAX_FAULT_WINDOW = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Settings of a comparison.

    `check`: how much is done, see `stages.make_stages`. `windows`: optimizer steps of the plain
    runs, None for the usual number. `twins`: perturbed runs of the reference. `threads`: CPU
    threads of a process. `jobs`: processes side by side. `timeout`: seconds for one run.
    `memory`: GiB of one process, 0 for any. `faults`: None chooses some where the recipe scales the
    loss, an empty tuple injects none. `half`: how half precision is computed; `auto` emulates it on
    CPU. `cache`: folder of finished runs, None for one in the working folder. `environment`: set
    for all runs. `stress`: derive a recipe that makes every feature active. `bisect`: look for the
    fields that explain a difference. `save_reference`: folder to keep the runs of the reference in.
    `held`: the caller holds the working folder (`hold_folder`).
    """

    workdir: Path
    check: Depth = "quick"
    windows: int | None = None
    twins: int = 3
    threads: int = 1
    jobs: int = 1
    timeout: float = 900.0
    memory: float = 0.0
    device: Device = "cpu"
    reference: str = ""
    faults: tuple[Fault, ...] | None = None
    half: Half = "auto"
    cache: Path | None = None
    environment: tuple[tuple[str, str], ...] = ()
    stress: bool = False
    bisect: bool = False
    save_reference: Path | None = None
    held: bool = False


def make_options(
    workdir: Path,
    *,
    check: Depth = "quick",
    windows: int | None = None,
    twins: int = 3,
    threads: int = 1,
    jobs: int | None = None,
    timeout: float = 900.0,
    memory: float = 0.0,
    device: Device = "cpu",
    reference: str | None = None,
    faults: Iterable[str] | None = None,
    half: Half = "auto",
    cache: Path | None = None,
    stress: bool = False,
    bisect: bool = False,
    save_reference: Path | None = None,
) -> Options:
    """Build options from what a command line holds.

    Args:
        workdir: folder for everything that is written.
        check: see `Options`.
        windows: see `Options`.
        twins: see `Options`.
        threads: see `Options`.
        jobs: default is the number of cores divided by `threads`.
        timeout: see `Options`.
        memory: see `Options`.
        device: see `Options`.
        reference: name of a contestant; default torch, else the first.
        faults: texts `WINDOW:MICRO=inf|-inf|nan[@NAMES]`, or the single text `none`.
        half: see `Options`.
        cache: see `Options`.
        stress: see `Options`.
        bisect: see `Options`.
        save_reference: see `Options`.

    Raises:
        DiagnosticError: CC705 for a fault, CC707 for anything else that makes no sense.
    """
    counts = {"windows": windows, "threads": threads, "jobs": jobs}
    for name, value in counts.items():
        if value is not None and value < 1:
            raise refuse(f"{name} must be at least 1")
    if twins < 0 or not timeout > 0 or not 0 <= memory < math.inf:
        raise refuse("twins and memory must be at least 0, the timeout more than 0 seconds")
    if half == "emulated" and device != "cpu":
        raise refuse("emulated half precision is for --device cpu")
    return Options(
        half=half,
        workdir=workdir.absolute(),
        check=check,
        windows=windows,
        twins=twins,
        threads=threads,
        jobs=jobs or max(1, (os.cpu_count() or 1) // threads),
        timeout=timeout,
        memory=memory,
        device=device,
        reference=reference or "",
        faults=None if faults is None else _faults(list(faults), windows),
        cache=cache.absolute() if cache else None,
        stress=stress,
        bisect=bisect,
        save_reference=save_reference.absolute() if save_reference else None,
    )


def choose_reference_name(names: Sequence[str], wanted: str) -> str:
    """Return the contestant that the others are compared with: torch unless another is asked for.

    Raises:
        DiagnosticError: CC707 if the wanted one does not take part.
    """
    if wanted and wanted not in names:
        raise refuse(f"the reference {wanted!r} does not take part")
    return wanted or (DEFAULT_REFERENCE if DEFAULT_REFERENCE in names else names[0])


def read_interpreters(texts: Iterable[str], targets: Sequence[str]) -> dict[str, str]:
    """Read texts `TARGET=PATH`.

    Raises:
        DiagnosticError: CC707 for another form, or a target that does not take part.
    """
    interpreters = {}
    for text in texts:
        target, equals, path = text.partition("=")
        if not equals or not path or target not in targets:
            raise refuse(f"{text!r} is not TARGET=PATH with one of the targets")
        interpreters[target] = interpreter(path)
    return interpreters


def interpreter(path: str) -> str:
    """Return the path of an interpreter from any folder; a bare name is looked up on PATH."""
    # A relative path would be looked up from the folder of the script that is run.
    return str(Path(path).absolute()) if os.sep in path else path


def _faults(texts: Sequence[str], windows: int | None) -> tuple[Fault, ...]:
    if list(texts) == ["none"]:
        return ()
    try:
        if "none" in texts:
            raise ValueError("none cannot be combined with other faults")
        faults = tuple(parse_fault(text) for text in texts)
        if any(fault.window > MAX_FAULT_WINDOW for fault in faults):
            raise ValueError(f"a fault lies after window {MAX_FAULT_WINDOW}")
        if windows is not None and any(fault.window >= windows for fault in faults):
            raise ValueError(f"a fault lies beyond the {windows} windows of the run")
    except ValueError as error:
        raise DiagnosticError(
            Diagnostic(code="CC705", message=str(error), hint="for example --fault 2:1=inf")
        ) from None
    return faults
