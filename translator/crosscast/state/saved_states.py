"""Which package reads the training states that a framework's programs save."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from crosscast.messages.diagnostics import failure
from crosscast.state.reading import SavedStates
from crosscast.targets.backend import load_backend
from crosscast.targets.source_support import installed_support, load_object


def saved_states(path: Path, family: str) -> SavedStates:
    """Return the reader of states of a framework's programs.

    Raises:
        DiagnosticError: CC963 if there is none.
    """
    states = states_of(family)
    if states is None:
        title = load_backend(family).title
        hint = "use the checkpoint.safetensors of an emitted script"
        raise failure("CC963", f"{path}: files of {title} are pickles or HDF5", hint)
    return states


def states_of(family: str) -> SavedStates | None:
    """Return the reader of states of a framework's programs, if there is one."""
    support = installed_support().get(family)
    if support is None or not support.saved_states:
        return None
    return cast("SavedStates", load_object(support.saved_states))
