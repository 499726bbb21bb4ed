"""Record from outside what a script does in some of its windows.

    stop = observe.install(inside, module, Path(output) / "observed", windows=[0, 9], manifest=True)
    module.main([...])
    stop()

`install` wraps the functions `train_window` and `micro_batch_loss` of a loaded script and hooks
what the framework offers; the script's source stays as it is and its results keep every bit.

With faults: install the injector of `inject` first, then this. Then `losses` are what the script
sees, poisoned or not. The other order works too; then `losses` are those before the poison and
`factors` hold the poison. In both, gradients are the poisoned ones that the script gets.

Files in the folder; none is ever half written:

window-0000.safetensors, one for each recorded window, named by its number in the run:
    Arrays, all float32, in canonical names and layout (see `emitted.layout_of`):
      before/NAME, after/NAME  parameters around `train_window`; with `precision.mode: full` the
                               float32 masters (the script's `model_arrays`, if it has one)
      total/NAME               sum over the micro-batches, in their order and in float32, of the
                               gradients as backward delivered them: still scaled, before anything
                               the script does to them afterwards
      first/NAME               what the first micro-batch alone delivered; only if the model has
                               fewer than 2e6 weights, and if each micro-batch has its own backward
      applied/NAME             the gradients handed to the optimizer (`state.optimizer.step()` or
                               `.apply(gradients)`), unscaled and clipped; absent in windows whose
                               row says `skipped`
    Where a script lacks what is needed (gradients that autograd knows, an optimizer with step or
    apply), the arrays are absent and the run goes on; without parameters there is no file.
    A parameter that got no gradient is absent from total, first and applied (TensorFlow's scripts
    ask for zeros instead, which are then here). inf and nan are kept as they are.
    Metadata: one key, "observation", the JSON text of
      {"format": 1,
       "window": int,               its number, from 0
       "micro_rows": [int, ...],    rows of each micro-batch ([] if they could not be counted)
       "losses": [float|null, ...], what `micro_batch_loss` returned, one a call; null: not finite
       "factors": [float|null, ...], for each of them d(what backward started from)/d(loss), as
                                    backward delivered it (scale/rows for `normalize_by: sample`),
                                    a float32 number; null: not finite or no backward
       "gradient_dtypes": {NAME: "float32"|"float16"|"bfloat16"},  of the delivered gradients
       "row": {...}}                what `train_window` returned; null for inf and nan. Where an
                                    emitted script leaves out `scale` and `skipped`, as in the trace

average-0000.safetensors, beside it where the script keeps moving averages (`ema_arrays`):
    NAME                       the averages after the window; those before the first window are its
                               before/NAME, if the run began there

state-0009.safetensors, beside it where the window before was not recorded, or the run began later
than at window 0, if the script tells (`optimizer_arrays`), in canonical names and layout:
    moments/SLOT/NAME          moments of the optimizer before the window, as far as there are any
    average/NAME               the moving averages before it

manifest.json, once, if asked for and if it can be seen (not in PyTorch before 2.4, nor in models
that are compiled):
    {"format": 1,
     "autocast": "float16"|"bfloat16"|null,
     "operations": {CLASS: {OPERATION: [{"in": [dtype, ...], "out": dtype, "count": int}, ...]}},
     "order": [{"name": OPERATION, "in": [dtype, ...], "out": dtype, "size": int|null,
                "whole": bool, "narrowed": bool, "usual": bool, "plain": dtype, "rounded": bool,
                "lookups": bool, "learned": bool, "place": str}, ...],
                                     every call, see `recordings.type_manifest`
     "closed": [str, ...],           functions whose operations were not seen
     "backward": {...},              `operations` of functions with a gradient of their own, as far
                                     as a script's own code computes it; absent if there is none
     "evaluation": {...}}            `operations` of all calls of the script's `evaluate`; absent if
                                     it has none, or if nothing was seen of them
    The forward pass of the first micro-batch: model and loss, from the call of `micro_batch_loss`
    to its return. CLASS is one of "matmul", "pointwise", "reductions", "embeddings", "losses", as
    in `precision.ops`, or "casts"; a class without operations is {}. dtype is "float32", "float16",
    "bfloat16" (float64 and whole numbers do not count). "in": the types of the float inputs as the
    script passed them, each once, sorted; "out": of the result. So `linear` under autocast is
    in ["float32"], out "float16": **"out" is the type it was computed in**. Entries are sorted by
    in, then out. Names are the same in all frameworks: linear, matmul, bias_add, add, sub, mul,
    div, gelu, tanh, softmax, layer_norm, sum, mean, embedding, cross_entropy, ... ; `bias_add`, the
    second half of a Keras dense layer, is in class matmul. Casts are those
    that the script asks for, to another type; what only moves data (reshape, transpose, indexing)
    is left out. "autocast": the surrounding autocast (PyTorch, Paddle) or the
    compute type of the global dtype policy (Keras). With emulated half precision all this is the
    script's view: what the emulation casts to and fro inside of an operation does not show.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from crosscast_parity.inside import observed_files as files
from crosscast_parity.inside.emitted import SEAMS, layout_of, offered, traced
from crosscast_parity.inside.manifest import Tap
from crosscast_parity.inside.modules import module_of
from crosscast_parity.inside.observed_types import ObservedTypes
from crosscast_parity.inside.watcher import Array, Blind, Seen, Watcher

MANY_WEIGHTS = 2_000_000
"""Models of so many weights are recorded without `first`."""


class Observer:
    """Wraps two functions of a script and writes what they and the framework show."""

    def __init__(
        self, module: Any, folder: Path, windows: Collection[int], watcher: Watcher
    ) -> None:
        self._module, self._folder, self._windows = module, folder, frozenset(windows)
        self._last = max(self._windows, default=-1)
        self._watcher = watcher
        self._window: int | None = None
        self._small: bool | None = None
        self._watching = False
        self._types = ObservedTypes(folder)
        self._seams: dict[str, tuple[Any, Any]] = {}

    def install(self, tap: Tap | None, *, keep: bool) -> None:
        """Replace both functions in the module; with a tap, record its operations too."""
        self._types.begin(tap)
        if keep:
            self._folder.mkdir(parents=True, exist_ok=True)
        else:
            files.clear(self._folder)
        wrappers = {"micro_batch_loss": self._loss, "train_window": self._train}
        if tap is not None:
            wrappers["evaluate"] = self._types.evaluation
        for name, wrapped in wrappers.items():
            original = getattr(self._module, name, None)
            if original is not None:
                self._seams[name] = original, wrapped(original)
                setattr(self._module, name, self._seams[name][1])

    def stop(self) -> None:
        """Take everything back."""
        self._last = -1
        self._types.end()
        self._watcher.close()
        for name, (original, ours) in self._seams.items():
            if getattr(self._module, name) is ours:  # else somebody else's wrapper is around it
                setattr(self._module, name, original)

    def _loss(self, original: Callable[..., Any]) -> Callable[..., Any]:
        enter, leave = self._watcher.plain(self._enter), self._watcher.plain(self._leave)

        def micro_batch_loss(*args: Any, **kwargs: Any) -> Any:
            enter(args[0] if args else None)
            loss = original(*args, **kwargs)
            return leave(loss)

        return micro_batch_loss

    def _enter(self, model: Any) -> None:
        if self._watching:
            self._watcher.enter()
        self._types.enter(model)

    def _leave(self, loss: Any) -> Any:
        self._types.leave()
        return self._watcher.leave(loss) if self._watching else loss

    def _train(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def train_window(state: Any, micro_batches: Any, *args: Any, **kwargs: Any) -> Any:
            first = self._window is None
            window = getattr(state, "windows", 0) if self._window is None else self._window
            self._window = window + 1
            train = functools.partial(original, state, micro_batches, *args, **kwargs)
            if window > self._last:
                return self._tapped(train)
            if window not in self._windows:
                return self._watched(state, train, active=False)[0]
            follows = window == 0 or (not first and window - 1 in self._windows)
            held = {} if follows else self._held(state)
            rows, before = list(files.rows_of(micro_batches)), self._weights(state)
            row, seen = self._watched(state, train, active=True)
            if before:
                self._write_window(state, window, rows, row, before, seen)
                if held:
                    files.write_state(self._folder, window, held)
            if window == self._last:
                self._watcher.close()
            return row

        return train_window

    def _watched(self, state: Any, train: Callable[[], Any], *, active: bool) -> tuple[Any, Seen]:
        """Train a window under the watcher's eyes, also if it is not recorded."""
        if self._small is None:
            self._small = sum(a.size for a in self._weights(state).values()) < MANY_WEIGHTS
        self._watcher.begin(state, self._models(state), self._small, active)
        self._watching = True
        try:
            row = self._tapped(train)
        finally:
            self._watching = False
            seen = self._watcher.end()
        return row, seen

    def _tapped(self, train: Callable[[], Any]) -> Any:
        """Train a window, of which the first is that whose types are recorded."""
        try:
            return train()
        finally:
            self._types.trained()

    def _models(self, state: Any) -> list[Mapping[str, Any]]:
        named = offered(self._module, "named_parameters")
        model = getattr(state, "model", None)
        if named is None or model is None:
            return []
        # With half weights a script may compute with a copy of the model; it calls it `working`.
        working = getattr(state, "working", model)
        return [named(model)] if working is model else [named(model), named(working)]

    def _weights(self, state: Any) -> dict[str, Array]:
        arrays = offered(self._module, "model_arrays")
        if arrays is not None:
            return {name: np.array(array, np.float32) for name, array in arrays(state).items()}
        models = self._models(state)[:1]
        weights = [(n, self._watcher.array(p)) for model in models for n, p in model.items()]
        return self._exchanged(state, dict(weights))

    def _held(self, state: Any) -> dict[str, dict[str, Array]]:
        """Return moments and averages by kind; nothing if the script does not tell its moments."""
        functions = {"moments": "optimizer_arrays", "average": "ema_arrays"}
        states = {kind: offered(self._module, name) for kind, name in functions.items()}
        if states["moments"] is None:
            return {}
        return {
            kind: {name: np.array(array, np.float32) for name, array in arrays(state).items()}
            for kind, arrays in states.items()
            if arrays
        }

    def _exchanged(self, state: Any, arrays: Mapping[str, Array]) -> dict[str, Array]:
        """Return the arrays in the canonical layout."""
        exchange = layout_of(self._module, state)
        return {name: exchange(name, array) for name, array in arrays.items()}

    def _write_window(
        self,
        state: Any,
        window: int,
        rows: list[int],
        row: Any,
        before: dict[str, Array],
        seen: Seen,
    ) -> None:
        row = traced(self._module, row) if isinstance(row, Mapping) else {}
        groups = {"before": before, "after": self._weights(state)}
        groups["total"] = self._exchanged(state, seen.total)
        groups["first"] = self._exchanged(state, seen.first)
        if not row.get("skipped"):
            groups["applied"] = self._exchanged(state, seen.applied)
        files.write_window(self._folder, window, rows, row, seen, groups)
        averages = offered(self._module, "ema_arrays")
        if averages is not None:
            files.write_averages(self._folder, window, averages(state))


def install(
    inside: str,
    module: Any,
    folder: Path,
    windows: Collection[int],
    manifest: bool,
    *,
    keep: bool = False,
) -> Callable[[], None]:
    """Observe windows of a script's next run in this process.

    Args:
        inside: the package with what a backend loads in the process of its framework; empty for
            a script of no known framework.
        module: the loaded script, before its `main` is called.
        folder: where the files go; what an earlier run left there is removed.
        keep: whether that is an earlier part of this run, and stays.
        windows: which to record, by their number in the run.
        manifest: whether to record the types of operations, in the first window that the run
            trains and in the evaluation.

    Returns:
        A function to call when the run has ended, however it ended: it takes everything back.
    """
    seams = all(hasattr(module, name) for name in SEAMS)
    if not seams or not (windows or manifest):
        return lambda: None
    eyes = module_of(inside, "observe")
    watcher: Watcher = eyes.make_watcher() if eyes else Blind()
    types = module_of(inside, "manifest") if manifest else None
    tap: Tap | None = types.make_tap() if types else None
    observer = Observer(module, folder, windows, watcher)
    observer.install(tap, keep=keep)
    return observer.stop
