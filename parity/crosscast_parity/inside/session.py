"""Several runs of unmodified training scripts, one after another, in one process.

    python -m crosscast_parity.inside.session SPEC.json

Importing a framework takes longer than a short run, hence one process for many. SPEC.json, with the
package that the framework's backend loads here, empty for scripts of no framework that is known:

    {"inside": "crosscast_torch.inside", "emulate": false,
     "runs": [{"name": "main", "script": ".../train.py", "arguments": ["--train", ...],
               "output": ".../main", "faults": ["2:0=inf"], "record": [0, 9], "manifest": false}]}

Each run's folder gets what the script writes, everything it prints as log.txt, and at the end
done.json. Beside SPEC.json, events.jsonl tells which run has begun and ended.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import json
import os
import resource
import sys
import sysconfig
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crosscast_parity.inside import toy
from crosscast_parity.inside.continuity import FILE as RESUMED
from crosscast_parity.inside.continuity import Continuity
from crosscast_parity.inside.dropout import install as switch_off_dropout
from crosscast_parity.inside.emitted import SEAMS
from crosscast_parity.inside.emulate import install as emulate
from crosscast_parity.inside.emulate import without_autocast
from crosscast_parity.inside.inject import make_injector, parse_fault
from crosscast_parity.inside.masks import FILE as MASKS
from crosscast_parity.inside.masks import install as give_masks
from crosscast_parity.inside.modules import module_of
from crosscast_parity.inside.observe import install as observe
from crosscast_parity.inside.orphans import end_with_parent
from crosscast_parity.inside.script import loaded, prepare
from crosscast_parity.inside.steps import StepRecorder
from crosscast_parity.inside.user_code import search_last

Adapt = Callable[[Any], None]
CANNOT_RUN = 3
GENERATED = "__autograph_generated_file"
"""What AutoGraph writes from a script while it runs: another temporary file every time."""
RUNNER = Path(__file__).resolve().parents[1]
LEFT = ("trace.jsonl", "status.json", "model.safetensors", "ema.safetensors", MASKS, RESUMED)
INSTALLED = ("site-packages", "dist-packages")


@dataclass(frozen=True)
class Run:
    """One run of a script.

    `record`: the windows that are observed, by number. `autocast`: whether the script's
    autocast has an effect (see `emulate.without_autocast`). `steps`: after which windows the whole
    state is kept (see `steps`), None where windows are not recorded so. `resume`: after how
    many windows it ends and is resumed from its checkpoint, 0 for never (see `continuity`).
    `checkpoint`: whether the one at the end is kept. `toy`: folder of the toy that is trained
    instead of the script's model and rows (see `toy`); empty for none. `folder`: in which it is
    run, empty for its own. `last`: a folder that is searched last for modules, empty for none.
    `masks`: seed of the masks that dropout is given (see `masks`), None to leave it alone.
    `dropout`: whether the layers of the model have any.
    """

    name: str
    script: str
    output: str
    arguments: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    record: list[int] = field(default_factory=list)
    manifest: bool = False
    autocast: bool = True
    steps: list[int] | None = None
    resume: int = 0
    checkpoint: bool = False
    toy: str = ""
    folder: str = ""
    last: str = ""
    masks: int | None = None
    dropout: bool = True


class Session:
    """A process's runs; `inside` is that of SPEC.json."""

    def __init__(self, folder: Path, inside: str, adapt: Adapt | None) -> None:
        self._events = folder / "events.jsonl"
        self._inside = inside
        self._adapt = adapt
        self._standard = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib"))
        self._hashes: dict[str, str] = {}
        self._places: dict[str, str] = {}
        self._injected: list[str] = []

    def make(self, run: Run) -> None:
        """Make one run and write down how it ended, also by an exception."""
        self._write_event(run, "started")
        self._injected = []
        output = Path(run.output)
        started, error = time.monotonic(), ""
        with _printing_to(output / "log.txt"):
            try:
                code = self._in_parts(run, output)
            except SystemExit as end:
                code = exit_code(end)
            except (Exception, KeyboardInterrupt) as problem:
                traceback.print_exc()
                code, error = 1, repr(problem)[:2000]
        seconds = round(time.monotonic() - started, 3)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        document = {
            "exit_code": code,
            "error": error,
            "seconds": seconds,
            "peak_rss": peak * 1024,
            "modules": self._modules(),
            "injected": sorted(self._injected),
            "files": sizes(output, checkpoint=run.checkpoint),
        }
        _write_whole(output / "done.json", json.dumps(document))
        self._write_event(run, "ended")

    def _in_parts(self, run: Run, output: Path) -> int:
        """Train, for a resumed run in two parts: up to `resume`, then from the checkpoint on."""
        if not run.resume:
            return self._train(run, output, run.arguments)
        continuity = Continuity(run.resume, output)
        end = [*run.arguments, "--windows", str(run.resume)]
        # A checkpoint after the first window of the second part tells what is counted in its files.
        goes_on = [*run.arguments, "--resume", "--checkpoint-every", str(run.resume + 1)]
        code = self._train(run, output, end, continuity)
        if code:
            return code
        continuity.mark()
        return self._train(run, output, goes_on, continuity, resumed=True)

    def _train(
        self,
        run: Run,
        output: Path,
        arguments: list[str],
        continuity: Continuity | None = None,
        *,
        resumed: bool = False,
    ) -> int:
        script = Path(run.script)
        os.chdir(run.folder or script.parent)
        search_last(run.last)
        sys.argv = [run.script, *arguments]
        with (
            without_autocast(not run.autocast),
            loaded(script) as module,
            contextlib.ExitStack() as after,
        ):
            prepare(self._inside, module)
            if self._adapt:
                self._adapt(module)
            if run.faults and not all(hasattr(module, name) for name in SEAMS):
                words = f"faults need the functions {' and '.join(SEAMS)} in the script"
                return _cannot_run(output, words)
            if run.toy:
                lacking = toy.lacking(self._inside, module)
                if lacking:
                    return _cannot_run(output, lacking)
                toy.install(self._inside, module, Path(run.toy))
            if run.masks is not None:
                after.callback(give_masks(self._inside, module, output, run.masks))
            if not run.dropout:
                switch_off_dropout(self._inside, module)
            if run.faults:
                faults = [parse_fault(text) for text in run.faults]
                injector = make_injector(self._inside, faults)
                injector.install(module)
                after.callback(injector.uninstall)
                after.callback(lambda: self._injected.extend(map(str, injector.applied)))
            record = [w for w in run.record if not continuity or (w >= run.resume) == resumed]
            if (record or run.manifest) and self._inside:
                folder = output / "observed"
                seen = observe(self._inside, module, folder, record, run.manifest, keep=resumed)
                after.callback(seen)
            if continuity:
                continuity.install(module, resumed=resumed)
            if run.steps is not None:
                StepRecorder(module, output / "steps", run.steps).install()
            try:
                code = module.main(arguments)
            finally:
                del module
        self._forget()
        return 0 if code is None else int(code)

    def _forget(self) -> None:
        """Give back what a run has left in the framework."""
        cleanup = module_of(self._inside, "cleanup")
        if cleanup:
            cleanup.clean_up()
        gc.collect()

    def _modules(self) -> dict[str, str]:
        """Return the SHA-256 of loaded files that are neither installed nor beside the script.

        Those beside it are forgotten by now. A file has the hash of when it was first seen: later
        runs of this process do not import it again.
        """
        hashes: dict[str, str] = {}
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None)
            if not isinstance(file, str) or name.startswith(GENERATED):
                continue
            if file not in self._places:
                self._places[file] = self._place(file)
            place = self._places[file]
            if not place:
                continue
            with contextlib.suppress(OSError):  # a name only, as of modules made in memory
                if file not in self._hashes:
                    self._hashes[file] = hashlib.sha256(Path(place).read_bytes()).hexdigest()
                hashes[place] = self._hashes[file]
        return hashes

    def _place(self, file: str) -> str:
        """Return where the file of a module lies; empty if it is installed, or one of ours."""
        if file.startswith(self._standard) or any(name in file for name in INSTALLED):
            return ""
        path = Path(file).resolve()
        return "" if RUNNER in path.parents else str(path)

    def _write_event(self, run: Run, event: str) -> None:
        with self._events.open("a") as stream:
            stream.write(json.dumps({"run": run.name, "event": event}) + "\n")


def sizes(output: Path, *, checkpoint: bool = False) -> dict[str, int]:
    """Return the bytes of the files that a comparison reads, to see later if they are whole."""
    names = (*LEFT, "checkpoint.safetensors") if checkpoint else LEFT
    known = [output / name for name in names]
    files = [
        path
        for path in (*known, *output.glob("observed/*"), *output.glob("steps/*"))
        if path.is_file()
    ]
    return {path.relative_to(output).as_posix(): path.stat().st_size for path in files}


def exit_code(end: SystemExit) -> int:
    """Return the code that a process would end with: 0 for nothing, 1 for a text."""
    if end.code is None:
        return 0
    return end.code if isinstance(end.code, int) else 1


def _cannot_run(output: Path, message: str) -> int:
    status = {"status": "cannot_run", "exit_code": CANNOT_RUN, "message": message}
    _write_whole(output / "status.json", json.dumps(status))
    return CANNOT_RUN


def _write_whole(path: Path, text: str) -> None:
    partial = path.with_suffix(".partial")
    partial.write_text(text)
    partial.replace(path)


@contextlib.contextmanager
def _printing_to(path: Path) -> Iterator[None]:
    """Send what this process prints, also from C++, to a file."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [(number, os.dup(number)) for number in (1, 2)]
    with path.open("wb") as stream:
        for number, _ in kept:
            os.dup2(stream.fileno(), number)
    try:
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for number, copy in kept:
            os.dup2(copy, number)
            os.close(copy)


def main(argv: list[str]) -> int:
    """Make the runs of the file named on the command line."""
    end_with_parent()
    spec_path = Path(argv[0])
    spec = json.loads(spec_path.read_text())
    adapt = emulate(spec["inside"]) if spec["emulate"] else None
    session = Session(spec_path.parent, spec["inside"], adapt)
    for run in spec["runs"]:
        session.make(Run(**run))
        gc.freeze()  # what is left is the framework's; to look through it every time takes long
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
