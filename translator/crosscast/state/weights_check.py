"""Compare a converted state with weights written by the target's script."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from crosscast.messages.diagnostics import DiagnosticError
from crosscast.state.container import open_container
from crosscast.state.problems import listed, several
from crosscast.state.training_state import Account, TrainingState


def complete(state: TrainingState, path: str, account: Account) -> TrainingState:
    """Return a state completed with the buffers that only the target has.

    Args:
        state: With the names and the layout of the target.
        path: model.safetensors of the target's script, as `--windows 1` writes it.
        account: Receives a row for the added buffers.

    Raises:
        DiagnosticError: CC001-CC003 and CC960 for the file, CC964 for weights that do not fit.
    """
    file = open_container(Path(path))
    shapes = {name: tensor.shape for name, tensor in file.tensors.items()}
    wrong = list(_misfits(state, shapes))
    if wrong:
        raise DiagnosticError(*several("CC964", (f"{path}: {problem}" for problem in wrong)))
    added = {name: file.array(name) for name in shapes if name not in state.weights}
    if added:
        how = f"initial values of the target for missing buffers: {listed(added, 3)}"
        account.add("weights", len(added), "derived", how)
    return replace(state, weights={**state.weights, **added})


def _misfits(state: TrainingState, shapes: dict[str, tuple[int, ...]]) -> Iterator[str]:
    for name, array in state.weights.items():
        if name not in shapes:
            yield f"the target has no weight {name!r}"
        elif shapes[name] != array.shape:
            yield f"{name!r} has shape {array.shape}, in the target {shapes[name]}"
    kinds = ("weight", "bias", "kernel", "gamma", "beta", "embeddings")
    for name in shapes.keys() - state.weights.keys():
        # Trained weights have moments or an average and must not be invented.
        if name.replace("/", ".").rpartition(".")[2] in kinds:
            yield f"the source has no weight {name!r} of the target"
