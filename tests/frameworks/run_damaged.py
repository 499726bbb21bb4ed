"""Lets an emitted train.py read damaged files: `run_damaged.py SCRIPT FOLDER NAMES FLAGS`.

Trains three windows into FOLDER, damages what that leaves in many ways and reads each file with
`load_checkpoint` or `load_weights`. NAMES is how many tensors of each kind are damaged, 0 for all.
Prints as JSON how many files were tried, refused and read to the same state, how many ended in
another exception, and sentences about those that were not treated as they must be.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from crosscast_parity.inside.emitted import arguments_of, offered, prepared
from frameworks import damages

WINDOWS = 3
"""Trained, and the most that a run may have."""


class Reader:
    """Reads one file after another, each into a state that holds nothing of the one before."""

    def __init__(self, script: Any, output: Path, flags: list[str]) -> None:
        self.script = script
        self.file = output / "damaged.safetensors"
        with contextlib.redirect_stdout(io.StringIO()):
            assert script.main(["--output", str(output), "--windows", str(WINDOWS), *flags]) == 0
        self.flags = flags
        args = arguments_of(script, flags)
        self.device = offered(script, "select_device")(args, script.SETTINGS)
        self.n_rows = len(offered(script, "read_rows")(args.train, script.SETTINGS)["labels"])
        self.state = self.fresh()

    def fresh(self) -> Any:
        return prepared(self.script, self.device, self.flags)

    def load(self, kind: str, state: Any) -> Any:
        """Read the file into a state; return how many windows were skipped in a row before it."""
        settings = self.script.SETTINGS
        with contextlib.redirect_stdout(io.StringIO()):
            if kind == "checkpoint":
                load = offered(self.script, "load_checkpoint")
                counters: dict[str, Any] = load(
                    self.file, state, settings, self.n_rows, most=WINDOWS
                )
                return counters.get("stuck", 0)
            offered(self.script, "load_weights")(self.file, state, settings)
            return 0

    def held(self, state: Any, stuck: int) -> dict[str, Any]:
        """Everything in a state, to be compared bit by bit."""
        told = {"model": "model_arrays", "optimizer": "optimizer_arrays", "ema": "ema_arrays"}
        tell = {kind: offered(self.script, name) for kind, name in told.items()}
        arrays = {
            f"{kind}/{name}": array
            for kind, function in tell.items()
            if function is not None
            for name, array in function(state).items()
        }
        found: dict[str, Any] = {n: (str(a.dtype), a.tobytes()) for n, a in arrays.items()}
        count = offered(self.script, "scaler_counters")
        counters = count(state) if count is not None else {}
        kinds = {name: (type(value).__name__, value) for name, value in counters.items()}
        return found | {"counters": ((state.windows, state.updates, stuck), kinds)}

    def read(self, kind: str, data: bytes) -> tuple[str, str]:
        """Read a file; return how that ended and what was said."""
        self.file.write_bytes(data)
        try:
            self.load(kind, self.state)
        except offered(self.script, "Stop") as stop:
            sentence = str(stop)
            told = stop.exit_code == 2 and str(self.file) in sentence and len(sentence) < 1000
            if self.state.windows:
                self.state = self.fresh()
            return ("refused" if told else "badly refused"), sentence
        except BaseException:
            self.state = self.fresh()
            return "traceback", traceback.format_exc()[-600:]
        self.state = self.fresh()
        state = self.fresh()
        stuck = self.load(kind, state)
        return ("same" if self.held(state, stuck) == self.expected else "another state"), ""

    def expect(self, kind: str, data: bytes) -> None:
        """Take note of the state that an undamaged file gives."""
        self.file.write_bytes(data)
        state = self.fresh()
        stuck = self.load(kind, state)
        self.expected = self.held(state, stuck)


def some(names: list[str], most: int) -> list[str]:
    """Of every kind of tensor the first ones; all if `most` is 0."""
    if not most:
        return names
    kinds: dict[str, list[str]] = {}
    for name in names:
        kinds.setdefault(name.rpartition("bert.")[0] or name.rpartition("/")[0], []).append(name)
    return [name for group in kinds.values() for name in group[:most]]


def cases(reader: Reader, kind: str, good: Path, most: int) -> Iterator[damages.Case]:
    parts = damages.unpack(good.read_bytes())
    reader.expect(kind, good.read_bytes())
    names = some(list(parts.tensors), most)
    if kind == "weights":
        return damages.weights(parts, names)
    bounds: dict[str, tuple[str, ...]] = dict.fromkeys(("updates", "stuck", "good", "bad"), ("4",))
    bounds["windows"] = (str(WINDOWS + 1), str(2**31 - 1))
    bounds["rows"] = ("0", str(reader.n_rows + 1))
    script = reader.script
    if hasattr(script, "MIN_SCALE"):
        most_scale = getattr(script, "MAX_SCALE", np.inf)
        most_scale = most_scale if np.isfinite(most_scale) else 2.0**128
        bounds["scale"] = ("0", "-0.0", repr(script.MIN_SCALE / 2), repr(most_scale * 2))
        # All windows were clean: none was overflowed, none is missing.
        for name in ("bad", "stuck"):
            bounds[name] += ("1",)
    elif hasattr(script, "LOSS_SCALE"):
        bounds["scale"] = (repr(script.LOSS_SCALE / 2), repr(script.LOSS_SCALE * 2))
    else:
        bounds["updates"] += ("2",)
    return damages.checkpoints(parts, names, bounds)


def main(script: Any, output: Path, most: int, flags: list[str]) -> dict[str, Any]:
    reader = Reader(script, output, flags)
    counts: Counter[str] = Counter()
    wrong = []
    for kind, file in (("checkpoint", "checkpoint"), ("weights", "model")):
        good = output / f"{file}.safetensors"
        for name, data, expected in cases(reader, kind, good, most):
            found, said = reader.read(kind, data)
            counts.update(["tried", found])
            if found != expected:
                wrong.append(f"{kind}, {name}: {found}, not {expected}: {said}")
    return {"counts": counts, "wrong": wrong}


if __name__ == "__main__":
    sys.path.insert(0, str(Path(sys.argv[1]).parent))
    import train  # type: ignore[import-not-found]

    folder, number, rest = Path(sys.argv[2]), int(sys.argv[3]), json.loads(sys.argv[4])
    print(json.dumps(main(train, folder, number, rest)))
