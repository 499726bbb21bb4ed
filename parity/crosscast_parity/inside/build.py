"""Run a program as far as its models are built and make a step, past what it misses here.

    python .../crosscast_parity/inside/build.py SPEC.json

For programs that cannot be run: their data, packages or GPU are missing. Their statements are
executed all the same, see `holes`; what a framework refuses then, though nothing unknown took part,
it refuses everywhere. What is particular to a framework is in the modules `builds` of the backends:

    PACKAGES    folders below site-packages whose functions call the program's
    BLAMED      folders and files below site-packages of which a refusal counts
    EXCUSED     those that are about what lies outside of the program
    KEEPING     methods after which a refusal still counts that follows a call that was skipped
    MISSING     a regular expression for messages about what is missing here
    base        base(): the class of all models
    refuses     refuses(error): whether an error counts wherever it comes from
    install     install(build, name): watch models, steps and optimizers

SPEC.json: {"inside": "crosscast_torch.inside", "modules": ["torch"], "script": ".../train.py",
"arguments": [], "folder": ".../copy", "records": ".../build.jsonl"}

The records, one JSON object per line; `file` is below the folder:

    {"kind": "model", "file": "train.py", "line": 7, "name": "Net", "why": "" or why not tested}
    {"kind": "step", "file": "train.py", "line": 9, "how": "a step" or "a symbolic step"}
    {"kind": "raises", "file": "train.py", "line": 5, "words": "ValueError: ..."}
    {"kind": "skipped", "file": "train.py", "line": 3, "words": "FileNotFoundError: ..."}
    {"kind": "end", "words": "" or why it ended early}
"""

from __future__ import annotations

import builtins
import importlib
import json
import os
import sys
import traceback
from collections.abc import Callable
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, FileFinder
from importlib.machinery import SourceFileLoader as FileLoader
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

from crosscast_parity.inside.builders import call_builders
from crosscast_parity.inside.confined import confine
from crosscast_parity.inside.holes import NAME, Holes, Statement
from crosscast_parity.inside.missing_data import let_it_be_missing
from crosscast_parity.inside.orphans import end_with_parent
from crosscast_parity.inside.refusals import LIBRARIES, is_in, is_refused, words_of
from crosscast_parity.inside.updates import seed, when_imported

_NO_STEP = "no step is made: no gradients"


class Build:
    """What is watched while a program runs.

    Args:
        records: the file to write to.
        folder: that of the program.
        inside: the package of the framework's `builds`.
    """

    def __init__(self, records: str, folder: str, inside: str) -> None:
        self._file = os.open(records, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._process = os.getpid()
        self._folder, self._inside = os.path.realpath(folder) + os.sep, inside
        self._said: set[tuple[Any, ...]] = set()
        self._known: Any = None
        self.holes = Holes(self.failed, self._calls_back, lambda: self.steps, self._keeps)
        self.steps = 0
        self.made: list[tuple[tuple[str, int] | None, Any, str]] = []
        self.at_end: list[Callable[[], None]] = []

    def install(self, name: str) -> None:
        """Watch the framework, of which a module was imported."""
        self._known = importlib.import_module(f"{self._inside}.builds")
        self._known.install(self, name)

    def write(self, kind: str, place: tuple[str, int] | None, **more: Any) -> None:
        """Write a record, once for a place and a class; nothing for a place elsewhere."""
        said = (kind, place, more.get("name"), more.get("why"))
        if place is not None and said not in self._said:
            self._said.add(said)
            record = {"kind": kind, "file": place[0], "line": place[1], **more}
            self._write(record)

    def _write(self, record: dict[str, Any]) -> None:
        if os.getpid() == self._process:  # a child that was forked has this file, too
            os.write(self._file, f"{json.dumps(record)}\n".encode())

    def place(self, skip: object = None) -> tuple[str, int] | None:
        """Return the innermost line of the program that runs now.

        Args:
            skip: an object whose constructors are passed over.
        """
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            of_skipped = frame.f_code.co_name == "__init__" and (
                skip is not None and frame.f_locals.get("self") is skip
            )
            file = self._below(frame.f_code.co_filename)
            if file and not of_skipped:
                return file, frame.f_lineno
            frame = frame.f_back
        return None

    def making(self, model: Any) -> None:
        """Note the place of a model that is being made, and its class, which may be forgotten."""
        self.made.append((self.place(skip=model), model, type(model).__name__))

    def step(self, how: str = "a step", *, gradients: bool = True) -> None:
        """Note a training step; one without gradients only ends a loop, and is not tested."""
        self.steps += 1
        kind, words = ("step", {"how": how}) if gradients else ("skipped", {"words": _NO_STEP})
        self.write(kind, self.place(), **words)

    def attempt(self, place: tuple[str, int] | None, work: Callable[[], object]) -> None:
        """Do at the end what the program would do at a place, and note what it raises."""
        try:
            work()
        except Exception as error:
            file, line = place or ("", 0)
            self.failed(Statement(self._folder + file, line), error)

    def end(self, words: str, space: dict[str, Any], text: bytes) -> None:
        """Write the end of a script, and what is only known then.

        Args:
            words: why it ended early.
            space: its names.
            text: what it is.
        """
        if self._known is not None and not self.made and not words:
            call_builders(self, space, text, self._known.base())
        for work in self.at_end:
            work()
        self._write({"kind": "end", "words": words})

    def _below(self, path: str) -> str:
        path = os.path.realpath(path)
        inside = path.startswith(self._folder) and LIBRARIES not in path
        return path[len(self._folder) :].replace(os.sep, "/") if inside else ""

    def is_own(self, file: str) -> bool:
        """Whether a file is one of the program."""
        return bool(self._below(file))

    def _keeps(self, method: str) -> bool:
        return self._known is not None and method in self._known.KEEPING

    def _calls_back(self, file: str) -> bool:
        return self._known is not None and is_in(file, self._known.PACKAGES)

    def failed(self, statement: Statement, error: Exception) -> None:
        """Write down why a statement failed: the framework refuses it, or it cannot be executed."""
        place: tuple[str, int] | None = (self._below(statement.file), statement.line)
        kind = "skipped"
        if self._known is not None and is_refused(self._known, statement, error):
            kind = "raises"
            frames = traceback.extract_tb(error.__traceback__)
            inner = [(self._below(frame.filename), frame.lineno or 0) for frame in frames]
            place = next((each for each in reversed(inner) if each[0]), place)
        self.write(kind, place, words=words_of(error))


def _make_loader(build: Build) -> type[FileLoader]:
    class Loader(FileLoader):
        """Loads the program's modules as `holes` compiles them."""

        @staticmethod
        def source_to_code(*given: Any, **more: Any) -> Any:
            text, path = given[:2]
            return build.holes.compile(text, str(path))

    return Loader


def _hook(build: Build, folder: str) -> Callable[[str], Any]:
    loaders = ((_make_loader(build), [".py"]), (ExtensionFileLoader, EXTENSION_SUFFIXES))

    def hook(path: str) -> Any:
        inside = os.path.realpath(path or os.curdir).startswith(os.path.realpath(folder))
        if not inside or LIBRARIES in path:
            raise ImportError(path)
        return FileFinder(path, *loaders)

    return hook


def main(argv: list[str]) -> None:
    """Run the script of a specification; ends with 0 however the script ends."""
    spec = json.loads(Path(argv[0]).read_text(encoding="utf-8"))
    confine([str(Path(spec["records"]).parent), "/dev"])
    end_with_parent()
    build = Build(spec["records"], spec["folder"], spec["inside"])
    when_imported(spec["modules"], build.install)
    seed()
    sys.argv = [spec["script"], *spec["arguments"]]
    sys.path[0] = str(Path(spec["script"]).parent)
    sys.path_hooks.insert(0, _hook(build, spec["folder"]))
    sys.path_importer_cache.clear()
    setattr(builtins, NAME, build.holes)
    let_it_be_missing(build.is_own)
    words, module = "", ModuleType("__main__")
    module.__file__ = spec["script"]
    sys.modules["__main__"] = module
    text = Path(spec["script"]).read_bytes()
    try:
        exec(build.holes.compile(text, spec["script"]), module.__dict__)
    except SystemExit as error:
        words = words_of(error) if error.code else ""
    except Exception as error:
        build.failed(Statement(spec["script"], getattr(error, "lineno", 0) or 1), error)
        words = words_of(error)
    build.end(words, vars(module), text)
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(0)


if __name__ == "__main__":
    # Not as the main module: that one becomes the user's script.
    importlib.import_module("crosscast_parity.inside.build").main(sys.argv[1:])
