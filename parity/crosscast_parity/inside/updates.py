"""Run a training script as the program it is, and record every update of its optimizers.

    python .../crosscast_parity/inside/updates.py SPEC.json

For scripts as users write them: nothing is asked of their form. What is recorded is what a
framework's optimizers are handed and what they do, see the modules `updates` of the backends.
Standard library only, and Python 3.8: the interpreter may be one in which an old API still runs.

SPEC.json:

    {"inside": "crosscast_torch.inside", "modules": ["torch"],
     "script": ".../train.py", "arguments": ["--steps", "20"],
     "records": ".../updates.jsonl", "most": 100, "perturb": false, "poison": null,
     "lines": {".../train.py": [12, 13]},
     "windows": null or {"folder": ".../windows", "bytes": 100000000}}

`most`: the run ends after so many attempts. `perturb`: change weights and gradients by what
rounding changes. `poison`: the number of the attempt, from 0, whose gradients overflow.
`lines`: lines for which it reports whether they were executed. `windows`: whole tensors are
written, and facts told (see `between`).

The records, one JSON object per line; tensors are [number of elements, norm, projection],
the projection being the product with a fixed vector without a pattern:

    {"kind": "framework", "name": "torch", "version": "2.4.0", "device": "cpu", "forced": false}
    {"kind": "update", "optimizer": 0, "class": "AdamW", "skipped": false, "backwards": 4,
     "scale": 4096.0, "rules": {"backoff_factor": 0.5, ...} of its scaler,
     "settings": [{"lr": 0.001, ...}, ...], "clips": [...],
     "gradients": [[n, norm, projection] or null, ...], "changes": [...], "types": ["float32"]}
    {"kind": "elsewhere"}                      an update in a process that the script started
    {"kind": "end", "enough": false, "final": [...], "error": "",
     "reached": {".../train.py": [12]}}
"""

from __future__ import annotations

import functools
import importlib
import importlib.abc
import json
import os
import random
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from crosscast_parity.inside.between import Between
from crosscast_parity.inside.orphans import end_with_parent

SEED = 20260101
MOST_SAID = 20_000
"""Characters of an error; TensorFlow says where a node was made before it says what is wrong."""
STAYS_ON_CPU = "CROSSCAST_STAYS_ON_CPU"
"""Environment variable with which what the script moves to a GPU stays on the CPU."""


def stays_on_cpu() -> bool:
    """Whether what the script moves to a GPU stays on the CPU."""
    return bool(os.environ.get(STAYS_ON_CPU))


def wrap_step(kind: Any, method: str, watch: Any) -> None:
    """Have all steps of a class of optimizers recorded."""
    original = getattr(kind, method)
    if getattr(original, "recorded", False):
        return

    @functools.wraps(original)
    def step(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        return watch.step(original, optimizer, args, kwargs)

    step.recorded = True  # type: ignore[attr-defined]
    setattr(kind, method, step)


class Records:
    """The file of one run, written line by line: what ends the process loses no update."""

    def __init__(self, path: str, most: int) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._process = os.getpid()
        self._most = most
        self._reported = False
        self.attempts = 0
        self.between: Between | None = None
        self.final: Callable[[], list[Any]] = list
        self.reached: Callable[[], dict[str, list[int]]] = dict

    def here(self) -> bool:
        """Whether this is the process of the script; of others it is only told that they update."""
        if os.getpid() == self._process:
            return True
        if not self._reported:
            self._reported = True
            self.write({"kind": "elsewhere"})
        return False

    def write(self, record: dict[str, Any]) -> None:
        """Write a record at once."""
        os.write(self._file, (json.dumps(record) + "\n").encode())

    def attempt(self, record: dict[str, Any]) -> None:
        """Write an attempt; end the process if it was the last that is asked for."""
        self.write({"kind": "update", **record})
        self.attempts += 1
        if self.attempts >= self._most:
            self.end(enough=True)
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            os._exit(0)

    def end(self, *, enough: bool = False, error: str = "") -> None:
        """Write how the run ended, with the weights at that time."""
        try:
            final = self.final()
        except Exception as problem:  # of weights that are gone
            final, error = [], error or repr(problem)
        end = {"enough": enough, "final": final, "error": error[:MOST_SAID]}
        self.write({"kind": "end", **end, "reached": self.reached()})


class Lines:
    """Which of some lines are reached."""

    def __init__(self, wanted: dict[str, list[int]]) -> None:
        self._wanted = {os.path.realpath(path): set(lines) for path, lines in wanted.items()}
        self._files = {path: os.path.realpath(path) for path in wanted}
        self._names = tuple(wanted)
        self._reached: dict[str, set[int]] = {path: set() for path in self._wanted}

    def reached(self) -> dict[str, list[int]]:
        """Return them by file, as the files were named."""
        return {path: sorted(self._reached[os.path.realpath(path)]) for path in self._names}

    def start(self) -> None:
        """Look at every call from now on, and into those of the files that matter."""
        if any(self._wanted.values()):
            sys.settrace(self._call)

    def _call(self, frame: Any, event: str, argument: Any) -> Any:
        name = frame.f_code.co_filename
        file = self._files.get(name)
        if file is None:
            file = self._files[name] = os.path.realpath(name)
        return self._line if self._wanted.get(file) else None

    def _line(self, frame: Any, event: str, argument: Any) -> Any:
        if event == "line":
            file = self._files[frame.f_code.co_filename]
            if frame.f_lineno in self._wanted[file]:
                self._wanted[file].discard(frame.f_lineno)
                self._reached[file].add(frame.f_lineno)
                if not any(self._wanted.values()):
                    sys.settrace(None)
        return self._line if self._wanted[self._files[frame.f_code.co_filename]] else None


class _Watching(importlib.abc.MetaPathFinder):
    """Calls a function when the first of some modules has been imported."""

    def __init__(self, names: tuple[str, ...], call: Callable[[str], None]) -> None:
        self._names, self._call = set(names), call

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        """Find as all others do, and call once the module has run."""
        if name not in self._names:
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(name, path, target)
            if spec is not None:
                break
        else:
            return None
        loader: Any = spec.loader
        call = self._call
        if loader is not None and hasattr(loader, "exec_module"):
            original = loader.exec_module

            def exec_module(module: Any) -> None:
                original(module)
                if name in self._names:  # a module may be looked for without being imported
                    self._names.discard(name)
                    call(name)

            loader.exec_module = exec_module
        return spec


def seed() -> None:
    """Fix the random numbers of Python and NumPy; frameworks do it for themselves."""
    random.seed(SEED)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(SEED)


def when_imported(names: list[str], call: Callable[[str], None]) -> None:
    """Call a function with the name of each of some modules once it is imported."""
    for name in names:
        if name in sys.modules:  # by a sitecustomize.py, say
            call(name)
    sys.meta_path.insert(0, _Watching(tuple(names), call))
    sys.meta_path.insert(0, _Watching(("numpy",), lambda name: seed()))


def main(argv: list[str]) -> None:
    """Run the script of a specification; ends as the script ends."""
    end_with_parent()
    spec = json.loads(Path(argv[0]).read_text(encoding="utf-8"))
    records = Records(spec["records"], spec["most"])
    if spec.get("windows"):
        records.between = Between(records, spec["windows"])

    def install(name: str) -> None:
        watch = importlib.import_module(f"{spec['inside']}.updates")
        watch.install(records, name, perturb=spec["perturb"], poison=spec["poison"])

    when_imported(spec["modules"], install)
    seed()
    lines = Lines(spec["lines"])
    records.reached = lines.reached
    sys.argv = [spec["script"], *spec["arguments"]]
    sys.path[0] = str(Path(spec["script"]).parent)
    lines.start()
    try:
        runpy.run_path(spec["script"], run_name="__main__")
    except SystemExit:
        if records.here():
            records.end()
        raise
    except BaseException as problem:
        if records.here():
            records.end(error=f"{type(problem).__name__}: {problem}")
        raise
    if records.here():
        records.end()


if __name__ == "__main__":
    # Not as the main module: that one becomes the user's script.
    importlib.import_module("crosscast_parity.inside.updates").main(sys.argv[1:])
