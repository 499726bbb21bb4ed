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

import ast
import builtins
import functools
import glob
import importlib
import inspect
import itertools
import json
import os
import re
import sys
import textwrap
import traceback
from collections.abc import Callable, Iterator
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, FileFinder
from importlib.machinery import SourceFileLoader as FileLoader
from pathlib import Path
from types import FrameType, ModuleType, TracebackType
from typing import Any

from crosscast_parity.inside.confined import confine
from crosscast_parity.inside.holes import (
    NAME,
    Holes,
    NotKnownError,
    Statement,
    is_known,
    read_from,
)
from crosscast_parity.inside.orphans import end_with_parent
from crosscast_parity.inside.updates import seed, when_imported

MOST_SAID = 240
ABOUT_HERE = (NotKnownError, OSError, MemoryError, NameError)
"""Errors that tell of what is missing, or follow from what was skipped."""
NOT_ALLOWED = "(?i)permission denied"
"""What libraries of C say where `confined` refuses to write."""
LIBRARIES = "site-packages"
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
        record = {"kind": "end", "words": words}
        os.write(self._file, f"{json.dumps(record)}\n".encode())

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
        return self._known is not None and _is_in(file, self._known.PACKAGES)

    def failed(self, statement: Statement, error: Exception) -> None:
        """Write down why a statement failed: the framework refuses it, or it cannot be executed."""
        place: tuple[str, int] | None = (self._below(statement.file), statement.line)
        kind = "skipped"
        if self._is_refused(statement, error):
            kind = "raises"
            frames = traceback.extract_tb(error.__traceback__)
            inner = [(self._below(frame.filename), frame.lineno or 0) for frame in frames]
            place = next((each for each in reversed(inner) if each[0]), place)
        self.write(kind, place, words=words_of(error))

    def _is_refused(self, statement: Statement, error: Exception) -> bool:
        """Whether the framework refuses what nothing unknown took part in."""
        if self._known is None:
            return False
        if isinstance(error, ImportError):
            module = (getattr(error, "name", "") or "").partition(".")[0]
            return module in self._known.PACKAGES and module in sys.modules
        reasons = [error, error.__cause__, error.__context__]
        if any(isinstance(each, ABOUT_HERE) for each in reasons) or not is_known(error.args):
            return False
        words = str(error)
        if "CrosscastUnknown" in words or any(
            re.search(m, words) for m in (NOT_ALLOWED, self._known.MISSING)
        ):
            return False
        first, *frames = _frames(error.__traceback__)
        values = [read_from(first, name) for name in statement.reads]
        values += [value for frame in frames for value in frame.f_locals.values()]
        if not all(map(is_known, values)):
            return False
        files = [frame.f_code.co_filename for frame in frames]
        if any(_is_in(file, self._known.EXCUSED) for file in files):
            return False
        if isinstance(error, AttributeError):
            owner = getattr(error, "obj", None)
            module = getattr(owner, "__name__", "") if hasattr(owner, "__path__") else ""
            module = module or type(owner).__module__ or ""
            if module.partition(".")[0] in self._known.PACKAGES:
                return True
        blamed = any(_is_in(file, self._known.BLAMED) for file in files)
        return blamed or bool(self._known.refuses(error))


def words_of(error: BaseException) -> str:
    """Return the message of an error in one line."""
    if isinstance(error, NotKnownError) or "CrosscastUnknown" in str(error):
        return "it needs a value that is not known"
    lines = str(error).strip().splitlines()
    # AutoGraph puts a traceback before the message.
    message = lines[-1].strip() if lines and lines[0] == "in user code:" else str(error)
    return textwrap.shorten(f"{type(error).__name__}: {message}", MOST_SAID, placeholder=" ...")


def _frames(trace: TracebackType | None) -> list[FrameType]:
    frames = []
    while trace is not None:
        frames.append(trace.tb_frame)
        trace = trace.tb_next
    return frames


def _is_in(file: str, places: tuple[str, ...]) -> bool:
    """Whether a file is one of some files and folders of libraries."""
    below = file.replace(os.sep, "/").rpartition(f"/{LIBRARIES}/")[2]
    return any(below == place or below.startswith(f"{place}/") for place in places)


def _refuse_empty(build: Build, owner: Any, name: str) -> None:
    """Have listings that find nothing fail: what a program counts there is not known."""
    original = getattr(owner, name)

    @functools.wraps(original)
    def listed(*args: Any, **kwargs: Any) -> Any:
        listing = original(*args, **kwargs)
        if not build.is_own(sys._getframe(1).f_code.co_filename):
            return listing
        rest = iter(listing)
        first = next(rest, None)
        if first is None or (name == "walk" and not (first[1] or first[2])):
            raise FileNotFoundError(f"{name} finds nothing")
        return listing if isinstance(listing, list) else itertools.chain([first], rest)

    setattr(owner, name, listed)


def _make_loader(build: Build) -> type[FileLoader]:
    class Loader(FileLoader):
        """Loads the program's modules as `holes` compiles them."""

        def source_to_code(  # type: ignore[override]  # as the class that it derives from has it
            self, data: Any, path: Any, **more: Any
        ) -> Any:
            return build.holes.compile(data, str(path))

    return Loader


def _hook(build: Build, folder: str) -> Callable[[str], Any]:
    loaders = ((_make_loader(build), [".py"]), (ExtensionFileLoader, EXTENSION_SUFFIXES))

    def hook(path: str) -> Any:
        inside = os.path.realpath(path or os.curdir).startswith(os.path.realpath(folder))
        if not inside or LIBRARIES in path:
            raise ImportError(path)
        return FileFinder(path, *loaders)

    return hook


def watch_modules(build: Build, kind: Any, parts: str) -> None:
    """Note the modules that a program makes, and which of them it calls.

    Args:
        build: what is watched.
        kind: the class of all modules.
        parts: the name of the attribute that holds the modules that are parts of another one.
    """
    called: set[int] = set()
    make, call = kind.__init__, kind.__call__

    @functools.wraps(make)
    def made(module: Any, *args: Any, **kwargs: Any) -> None:
        build.making(module)
        make(module, *args, **kwargs)

    @functools.wraps(call)
    def run(module: Any, *args: Any, **kwargs: Any) -> Any:
        result = call(module, *args, **kwargs)
        called.add(id(module))
        return result

    def all_parts(module: Any) -> Iterator[Any]:
        for part in (vars(module).get(parts) or {}).values():
            if part is not None:
                yield part
                yield from all_parts(part)

    def end() -> None:
        inner = {id(part) for _, module, _ in build.made for part in all_parts(module)}
        for place, module, name in build.made:
            weights = any(vars(m).get("_parameters") for m in (module, *all_parts(module)))
            if id(module) not in inner and weights:
                why = "" if id(module) in called else "its forward pass is not reached"
                build.write("model", place, name=name, why=why)

    kind.__init__, kind.__call__ = made, run
    build.at_end.append(end)


def call_builders(build: Build, space: dict[str, Any], text: bytes, base: type) -> None:
    """Call what makes models and needs no argument, for a file of which nothing does.

    Args:
        build: what is watched.
        space: the names of the executed file.
        text: the file.
        base: the class that all models derive from.
    """
    for node in ast.parse(text).body:
        if not isinstance(node, ast.FunctionDef | ast.ClassDef):
            continue
        made = space.get(node.name)
        if isinstance(made, type):
            if not issubclass(made, base):
                continue
        elif not isinstance(node, ast.FunctionDef) or not any(_makes(node, space, base)):
            continue
        place = (Path(sys.argv[0]).name, node.lineno)
        if callable(made) and _needs_nothing(made):
            build.attempt(place, made)
        else:
            build.write("skipped", place, words=f"{node.name} needs arguments")


def _makes(node: ast.FunctionDef, space: dict[str, Any], base: type) -> Any:
    for each in ast.walk(node):
        if isinstance(each, ast.Call):
            names = ast.unparse(each.func).split(".")
            owner: Any = space.get(names[0])
            for name in names[1:]:
                owner = getattr(owner, name, None)
            yield isinstance(owner, type) and issubclass(owner, base)


def _needs_nothing(function: Callable[..., Any]) -> bool:
    try:
        inspect.signature(function).bind()
    except (TypeError, ValueError):
        return False
    return True


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
    for owner, names in ((os, "listdir walk"), (glob, "glob iglob"), (Path, "glob rglob iterdir")):
        for name in names.split():
            _refuse_empty(build, owner, name)
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
