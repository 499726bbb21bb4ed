"""Counts how often a run waits for the device: `run_fetches.py FRAMEWORK FOLDER...`.

Every folder holds an emitted train.py, train.npz and eval.npz. Reading the value of a tensor waits
for the device; on a CPU the same calls can be counted. Those within the optimizer's step are the
framework's. Prints as JSON, by folder, `windows`: the reads of each window, from the end of the one
before it; `evaluation`: those of the evaluation; `steps`: the framework's own of each window.
"""

from __future__ import annotations

import importlib
import itertools
import json
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

# isort: split
from crosscast_parity.inside.emitted import part_of
from crosscast_parity.inside.script import loaded
from frameworks.run_main import call

READS = ("item", "tolist", "numpy", "cpu", "__bool__", "__int__", "__float__", "__index__")
WINDOWS = 4


class Reads:
    """Counts the calls of the methods of a tensor class that read its values."""

    def __init__(self, tensor: type) -> None:
        self.counts = Counter[str]()
        self._nested = False
        for name in READS:
            setattr(tensor, name, self._counted(getattr(tensor, name)))

    def _counted(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def read(*args: Any, **kwargs: Any) -> Any:
            if self._nested:
                return original(*args, **kwargs)
            self.counts[caller()] += 1
            self._nested = True
            try:
                return original(*args, **kwargs)
            finally:
                self._nested = False

        return read


def caller() -> str:
    """Return `step` for a read within the optimizer's step, else `script`."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_name != "step":
        frame = frame.f_back
    return "step" if frame.f_code.co_name == "step" else "script"


def measure(folder: Path, reads: Reads) -> dict[str, Any]:
    """Run a script and return its reads."""
    ends: list[Counter[str]] = []
    evaluations: list[int] = []
    script: Any
    with loaded(folder / "train.py") as script:
        train_window, evaluate = script.train_window, script.evaluate

        def counted_window(*args: Any) -> Any:
            row = train_window(*args)
            ends.append(reads.counts.copy())
            return row

        def counted_evaluation(*args: Any) -> Any:
            before = reads.counts["script"]
            result = evaluate(*args)
            evaluations.append(reads.counts["script"] - before)
            return result

        script.train_window, script.evaluate = counted_window, counted_evaluation
        device = part_of(script, "device")
        assert device is not None
        vars(device)["require_amp"] = lambda *arguments: None
        rows = [f"--{name}={folder / name}.npz" for name in ("train", "eval")]
        rare = ["--log-every=1000", "--checkpoint-every=1000"]
        end = call(
            script.main, [f"--output={folder / 'run'}", f"--windows={WINDOWS}", *rows, *rare]
        )
    assert end["code"] == 0, end
    pairs = list(itertools.pairwise(ends))
    windows, steps = (
        [after[who] - before[who] for before, after in pairs] for who in ("script", "step")
    )
    return {"windows": windows, "evaluation": evaluations, "steps": steps}


def main(name: str, folders: list[str]) -> None:
    """Measure the scripts in the folders."""
    framework: Any = importlib.import_module(name)
    if name == "paddle":
        from crosscast_paddle.inside.on_cpu import enable_scaler

        warnings.filterwarnings("ignore", "amp_guard can only be enabled")
        enable_scaler()
    reads = Reads(framework.Tensor)
    print(json.dumps({folder: measure(Path(folder), reads) for folder in folders}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
