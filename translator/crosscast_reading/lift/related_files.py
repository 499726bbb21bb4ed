"""Files that belong to a file the user named: what it starts, imports or names, if it is there."""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from crosscast.messages.diagnostics import Diagnostic, Severity
from crosscast.messages.source import Source
from crosscast_reading.sources.ancestors import hydra_paths, paths_of_ancestors
from crosscast_reading.sources.config_flags import default_files
from crosscast_reading.sources.file_names import FileNames
from crosscast_reading.sources.files import Text, is_file, kind_of, read_text

MAX_FILES = 48
MAX_TRIED = 400
"""Files that are looked into, to find those that are added."""
_MAX_PLACES = 20_000
"""Places where a file is looked for that another one names."""
_MAX_FILLED_IN = 10_000
"""Uses of variables of a launch script that are replaced by values."""
_TRAINING = re.compile(
    r"optim|backward|GradientTape|minimize|autocast|amp|fp16|float16|scaler|loss_scal|learning_rate"
    r"|lr|sched|warmup|weight_decay|accum|clip|batch_size|distributed|parallel|seed|precision"
    r"|add_argument|DEFINE_"
)
"""Words of code that trains, or that says how."""
_STARTED = FileNames(r"\w.$/{}-", "py")
_MODULE = re.compile(r"(?<=-m )[ \t]*([A-Za-z_][\w.]*)")
_SETTINGS = FileNames(r"\w./-", "json|ya?ml|gin")
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]+([\w, \t]+|\([^)]{0,4000}\))"
    r"|import[ \t]+([\w., \t]+))",
    re.MULTILINE,
)
_VARIABLE = re.compile(
    r"^[ \t]*(?:export[ \t]+)?(\w+)=([\"']?)([\w./-]{1,255})\2[ \t]*$", re.MULTILINE
)
"""A variable of a launch script with a plain value."""
_USE = re.compile(r"\$\{?(\w+)\}?")
_UP = 3
"""Folders above a module in which the packages that it imports are looked for."""


@dataclass(frozen=True, slots=True)
class Nearby:
    """Sources with the files beside them that they need."""

    sources: list[Source]
    left: int
    """How many more files are imported that may concern training; they are not among them."""


def with_nearby(sources: Sequence[Source], named: Sequence[str]) -> Nearby:
    """Return sources and the files beside them that they need.

    At most `MAX_FILES` are added, those that say most of training first. Configurations, scripts
    and the `__init__.py` of packages do not count: they are few or say where the others are.

    Args:
        sources: what was read so far.
        named: the files that the user named, and not folders above them: these are complete.
    """
    by_path = {Path(source.name): source for source in sources}
    waiting: list[tuple[int, int, Source]] = []
    seen = set(by_path)
    free = MAX_FILES

    def follow(source: Source) -> None:
        """Add what a file brings without a count, put the rest in its place in the queue."""
        open_ = [(source, _places(source))]
        while open_ and len(seen) <= MAX_TRIED:
            by, places = open_[-1]
            path = next(places, None)
            if path is None:
                open_.pop()
            elif path not in seen and is_file(path):
                seen.add(path)
                text = read_text(path, named=False)
                if not isinstance(text, Text) or _is_foreign_recipe(text.source, by):
                    continue
                if kind_of(text.source) != "python" or path.name == "__init__.py":
                    by_path[path] = text.source
                    open_.append((text.source, _places(text.source)))
                else:
                    heapq.heappush(waiting, (-_worth(text.source), len(seen), text.source))

    for source in sources:
        if source.name in named:
            follow(source)
    while waiting and free:
        source = heapq.heappop(waiting)[2]
        by_path[Path(source.name)] = source
        free -= 1
        follow(source)
    return Nearby(list(by_path.values()), sum(1 for worth, _, _ in waiting if worth))


def _worth(source: Source) -> int:
    """Return how many words of training a module has."""
    return len(set(_TRAINING.findall(source.text)))


def missing_programs(sources: Sequence[Source]) -> Iterator[Diagnostic]:
    """Yield a note for every program that a launch script starts and that was not found."""
    python = {Path(source.name).name for source in sources if kind_of(source) == "python"}
    for source in sources:
        if kind_of(source) != "shell":
            continue
        for number, line in enumerate(source.text.splitlines(), 1):
            started = next(_started(line.partition("#")[0]), "")
            if started and started.rpartition("/")[2] not in python:
                message = f"{source.name}:{number}: {started} was not found beside it"
                hint = "name it, too: its defaults and its training step are there"
                yield Diagnostic(code="CC918", message=message, severity=Severity.NOTE, hint=hint)
                break


def unread_files(nearby: Nearby) -> Iterator[Diagnostic]:
    """Yield a note if a program imports more files than are read with it."""
    if nearby.left:
        count = f"{nearby.left} more files" if nearby.left > 1 else "1 more file"
        message = f"{count} that it imports may concern training and were not read"
        hint = "name those that do: a file that is named is always read"
        yield Diagnostic(code="CC916", message=message, severity=Severity.NOTE, hint=hint)


def _is_foreign_recipe(source: Source, by: Source) -> bool:
    """Whether a program only speaks of a recipe, which then does not stand for the program."""
    from crosscast_reading.readers.recipe_yaml import READER

    if kind_of(by) != "python" or not READER.sniff(source):
        return False
    return READER.read(source).recipe is not None


def _places(source: Source) -> Iterator[Path]:
    """Yield each place once where a file may be that a source needs."""
    return iter(dict.fromkeys(islice(_needed(source), _MAX_PLACES)))


def _started(text: str) -> Iterator[str]:
    """Yield the programs that a script names, with their folders."""
    for name in _STARTED.find(text):
        last = max(map(name.rfind, "$/{}"))
        if not name[last + 1 :].startswith(".py"):
            yield name if last >= 0 and name[last] == "/" else name[last + 1 :]


def _needed(source: Source) -> Iterator[Path]:
    folder = Path(source.name).parent
    if kind_of(source) in ("python", "shell"):
        yield from (above / "requirements.txt" for above in (folder, *list(folder.parents)[:_UP]))
    if kind_of(source) == "python":
        yield from _imported(source.text, folder)
        for name in default_files(source):
            yield from _around(folder, name)
    elif kind_of(source) == "shell":
        for name in _started(source.text):
            yield from _around(folder, name)
        for match in _MODULE.finditer(source.text):
            yield from _around(folder, match.group(1).replace(".", "/") + ".py")
    yield from paths_of_ancestors(source)
    yield from hydra_paths(source)
    if kind_of(source) != "config":
        text = _filled_in(source.text) if kind_of(source) == "shell" else source.text
        for name in _SETTINGS.find(text):
            yield from _around(folder, name)


def _filled_in(text: str) -> str:
    """Return a launch script with the values of variables that it sets once, to plain text."""
    values: dict[str, str] = {}
    for match in _VARIABLE.finditer(text):
        values[match.group(1)] = "" if match.group(1) in values else match.group(3)
    return _USE.sub(lambda use: values.get(use.group(1)) or use.group(), text, _MAX_FILLED_IN)


def _around(folder: Path, name: str) -> Iterator[Path]:
    """Yield where a file that is named in a folder may be."""
    plain = re.sub(r"^(?:\$\{?\w+\}?/|\./)+", "", name).lstrip("/")
    if plain and "$" not in plain:
        yield folder / plain
        for above in list(folder.parents)[:_UP]:
            yield above / plain
        yield folder / Path(plain).name


def _imported(text: str, folder: Path) -> Iterator[Path]:
    for match in _IMPORT.finditer(text):
        module, names, modules = match.groups()
        if modules:
            for name in modules.split(","):
                yield from _module(folder, name.split()[0] if name.split() else "")
            continue
        base, rest = folder, module.lstrip(".")
        for _ in range(len(module) - len(rest) - 1):
            base = base.parent
        yield from _module(base, rest)
        for name in re.findall(r"\w+", names)[:8]:
            yield from _module(base, f"{rest}.{name}".lstrip("."))


def _module(folder: Path, dotted: str) -> Iterator[Path]:
    if not dotted:
        return
    parts = dotted.split(".")
    for base in (folder, *list(folder.parents)[:_UP]):
        path = base.joinpath(*parts)
        yield path.with_name(f"{path.name}.py")
        yield path / "__init__.py"
