"""Write a checkpoint atomically, as emitted scripts do, without overwriting other files."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from pathlib import Path

from crosscast.messages.diagnostics import failure
from crosscast.messages.output import new_file_mode
from crosscast.state.training_state import TrainingState

NAME = "checkpoint.safetensors"


def place_of(output: str) -> Path:
    """Return the file of -o: itself, or the checkpoint in a folder that a script resumes from."""
    path = Path(output)
    return path if path.suffix == ".safetensors" and not path.is_dir() else path / NAME


def check_place(path: Path, source: Path, *, force: bool) -> None:
    """Refuse an output path before any work is done.

    Raises:
        DiagnosticError: CC501 a file that exists, CC502 a folder, CC503 a symbolic link, CC969 the
            source itself.
    """
    try:
        if path.is_symlink():
            raise failure("CC503", f"{path} is a symbolic link")
        if path.is_dir():
            raise failure("CC502", f"{path} is a folder")
        if path.exists() and path.samefile(source):
            raise failure("CC969", f"-o {path} is the file that is read")
        if path.exists() and not force:
            raise failure("CC501", f"{path} exists", hint="--force replaces it")
    except (OSError, ValueError) as error:
        raise failure("CC502", f"{path}: {getattr(error, 'strerror', None) or error}") from None


def write_state(path: Path, state: TrainingState) -> None:
    """Write a checkpoint.

    Raises:
        DiagnosticError: CC502 for an error of the system; no files are left then.
    """
    import numpy as np
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    arrays = {name: np.asarray(array, order="C") for name, array in state.tensors()}
    metadata = {"recipe": json.dumps(state.recipe), "counters": json.dumps(state.counters())}
    partial: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Named by its place, so that the next command replaces what a killed one left; by a hash,
        # because a name may be as long as the file system allows.
        key = hashlib.sha256(os.fsencode(path.name)).hexdigest()[:16]
        partial = path.with_name(f".state-{key}.partial")
        partial.unlink(missing_ok=True)  # a link would be followed
        save_file(arrays, partial, metadata)
        partial.chmod(new_file_mode())  # save_file lets only the user read
        partial.replace(path)
    except (OSError, ValueError, SafetensorError) as error:
        raise failure("CC502", f"{path}: {getattr(error, 'strerror', None) or error}") from None
    finally:
        if partial is not None:
            with contextlib.suppress(OSError):
                partial.unlink(missing_ok=True)
