"""What reading a training state that a user's own program saved needs, whatever wrote it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from crosscast.messages.diagnostics import Diagnostic, Severity, failure
from crosscast.state.problems import listed, several
from crosscast.state.saved_file import SavedTensor
from crosscast.state.training_state import Account, TrainingState

if TYPE_CHECKING:
    import numpy as np

    from crosscast.messages.diagnostics import Collector
    from crosscast.recipe.document import Recipe
    from crosscast.weights.document import WeightsMap

Arrays = dict[str, "np.ndarray"]
Moments = dict[str, Arrays]
"""Arrays by slot, then by name of the weight."""

_POSITION_HINT = "--windows N: attempted optimizer steps; --updates N: steps that were not skipped"

_STOCK_FORM: Mapping[str, Any] = {
    "eps_placement": "after_correction",
    "bias_correction": True,
    "rate_in_momentum": False,
}
"""Formula variants of torch.optim and optax."""


@dataclass(frozen=True, slots=True)
class GivenPosition:
    """The user's position of the run; None if not given."""

    windows: int | None = None
    updates: int | None = None


@dataclass(slots=True)
class Reading:
    """Context of reading a file: the recipe, the report and the problems."""

    path: str
    recipe: Recipe
    account: Account
    collect: Collector
    known: WeightsMap | None = None
    """The `weights.yaml` beside the recipe of a custom model."""
    renamed: dict[str, str] = field(default_factory=dict)
    """Names in the file to names in the state."""

    def problem(
        self, code: str, messages: Iterable[str], severity: Severity = Severity.ERROR
    ) -> None:
        """Add diagnostics about the file."""
        texts = (f"{self.path}: {message}" for message in messages)
        self.collect.diagnostics += several(code, texts, severity=severity)


class SavedStates(Protocol):
    """How the training states of programs of one framework are read: a package offers it as
    `SourceSupport.saved_states`."""

    folders: bool
    """Whether a state may be a folder."""

    def read(self, tree: Any, reading: Reading, position: GivenPosition) -> TrainingState:
        """Return the state in a file, to be continued with a recipe.

        Args:
            tree: Contents of the file, from `saved_file.saved_file`.
            reading: Receives rows and problems; the state is invalid if one is an error.
            position: The position from the user.

        Raises:
            DiagnosticError: CC960 for a file without weights or without an optimizer.
        """

    def meaning_of(self, key: Any) -> str:
        """Return the kind of part that a key is taken for; empty if it is ignored."""


def number(value: Any) -> float | None:
    """Return a number, also from a tensor with one element; None for other values."""
    if isinstance(value, SavedTensor) and value.array.size == 1:
        value = value.array.item()
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if isinstance(value, int) or math.isfinite(value) else None


def count(value: Any) -> int | None:
    """Return a non-negative integer; None for other values."""
    whole = number(value)
    return int(whole) if whole is not None and 0 <= whole < 2**53 and whole == int(whole) else None


def widened(tensor: SavedTensor) -> np.ndarray:
    """Return an array with floats as float32."""
    import numpy as np

    if tensor.array.dtype.kind != "f":
        return tensor.array
    return np.asarray(tensor.array, np.float32)


def report_rounded(tensors: Mapping[str, SavedTensor], part: str, reading: Reading) -> None:
    """Warn of tensors that are not stored in float32."""
    half = [name for name, tensor in tensors.items() if tensor.dtype in ("float16", "bfloat16")]
    double = [name for name, tensor in tensors.items() if tensor.dtype == "float64"]
    texts = []
    if half:
        texts.append(
            f"{len(half)} {part} are stored in half precision, without float32 values in the file"
        )
    if double:
        texts.append(f"{len(double)} {part} were float64 and are rounded to float32")
    reading.problem("CC965", texts, Severity.WARNING)


def parts_of(
    tree: Mapping[str, Any], names: Mapping[str, Sequence[str]], reading: Reading
) -> dict[str, Any]:
    """Return the parts of a file by kind.

    Args:
        tree: Its contents.
        names: Kind to the keys that it may stand under; among them `weights` and `optimizer`.
        reading: Receives the problem of a part that stands there twice.

    Raises:
        DiagnosticError: CC960 for a file without weights or without an optimizer.
    """
    parts: dict[str, Any] = {}
    for part, known in names.items():
        present = [name for name in known if name in tree]
        if len(present) > 1:
            reading.problem("CC961", [f"{listed(present)} are both {part}"])
        if present:
            parts[part] = tree[present[0]]
    if "weights" not in parts or "optimizer" not in parts:
        lacks = "weights" if "weights" not in parts else "the state of an optimizer"
        hint = f"known keys: {', '.join(names['weights'])}; {', '.join(names['optimizer'])}"
        raise failure("CC960", f"{reading.path}: lacks {lacks}", hint)
    return parts


def begin_window_again(inside: Sequence[str], moving: Sequence[str], reading: Reading) -> None:
    """Restart a partial window at its first micro-batch.

    Weights, moments and counters change only at its end, so the result is equal; running statistics
    of normalization layers change with every micro-batch.

    Args:
        inside: Entries of the file that say that it was saved within a window.
        moving: Names of running statistics.
        reading: Receives what is said about it.
    """
    if moving and inside:
        words = f"and {listed(moving, 2)} include part of the window"
        reading.problem("CC968", (f"indicated by {name!r}, {words}" for name in inside))
        return
    words = "the window restarts at its first micro-batch, with the same result"
    for name in inside:
        reading.problem("CC968", [f"indicated by {name!r}: {words}"], Severity.WARNING)
        reading.account.add(name, 1, "left out", "recomputed: the window restarts")


def other_formula(recipe: Recipe, library: str) -> Iterator[str]:
    """Yield where the recipe's optimizer has another formula than the classes of a library."""
    for name, value in _STOCK_FORM.items():
        own = getattr(recipe.optimizer, name, value)
        if own != value:
            yield f"{library} has {name} {value}, the recipe {own}"


def report_moments(moments: Moments, reading: Reading) -> None:
    """Add a row for the moments of every slot."""
    for slot, arrays in moments.items():
        how = "independent of epsilon and bias correction"
        reading.account.add(slot, len(arrays), "carried", how)


def only_trained(averages: Arrays, moments: Moments, reading: Reading, weights: Arrays) -> Arrays:
    """Return the averages of trained weights, with rows for the report."""
    trained = {name for arrays in moments.values() for name in arrays} or set(weights)
    kept = {name: array for name, array in averages.items() if name in trained}
    if averages:
        reading.account.add("averages", len(kept), "carried", "float32")
    if left := len(averages) - len(kept):
        reading.account.add("averages of buffers", left, "left out", "only weights are averaged")
    return kept


def position_of(
    windows: Mapping[str, int | None], updates: Mapping[str, int | None], reading: Reading
) -> tuple[int, int]:
    """Return windows and updates, each from several sources, which must agree.

    `windows`, `updates`: number by where it stands; None where it is not.
    """
    if not reading.recipe.scaling_on:  # nothing is skipped
        both = [(w, n) for known in (updates, windows) for w, n in known.items() if n is not None]
        windows = updates = dict(both)
    position = _agreed("windows", windows, reading), _agreed("updates", updates, reading)
    if position[1] > position[0] > 0:
        reading.problem("CC967", [f"{position[1]} updates in {position[0]} windows"])
    return position


def _agreed(quantity: str, stated: Mapping[str, int | None], reading: Reading) -> int:
    known = {where: number for where, number in stated.items() if number is not None}
    if len(set(known.values())) == 1:
        value = next(iter(known.values()))
        how = f"{value}, from {' and '.join(known)}"
        reading.account.add(quantity, 1, "carried" if len(known) > 1 else "derived", how)
        return value
    if known:
        values = "; ".join(f"{where}: {number}" for where, number in known.items())
        message = f"{reading.path}: {quantity} do not agree: {values}"
    else:
        message = f"{reading.path}: the number of {quantity} is not in the file"
    reading.collect.add(Diagnostic(code="CC967", message=message, hint=_POSITION_HINT))
    return 0
