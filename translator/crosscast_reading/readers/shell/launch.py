"""The Python program that a command starts, with its launcher and flags."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from crosscast.messages.diagnostics import Span
from crosscast_reading.facts.command import Command
from crosscast_reading.facts.fact import Fact
from crosscast_reading.readers.shell.flags import (
    LISTS,
    flag_fact,
    flags_of,
    united,
    variable_fact,
)
from crosscast_reading.readers.shell.programs import (
    BARE,
    LAUNCHERS,
    MODULES,
    MPI,
    NOT_TRAINING,
    PROCESS_FLAGS,
    PROGRAMS,
    WRAPPERS,
    is_python,
    starts_program,
)
from crosscast_reading.readers.shell.simple_commands import Started
from crosscast_reading.readers.shell.text import Word, shown, text_of


@dataclass(slots=True)
class Launch:
    """A program in a command, with the launcher before it."""

    command: Command
    options: dict[str, Fact]
    """Options of the launcher: `nproc_per_node`, `np`, `ntasks`, by name without dashes."""
    span: Span | None = None
    arguments: tuple[Fact, ...] = ()
    """Positional arguments of the program."""


@dataclass(slots=True)
class _Search:
    started: Started
    words: list[Word]
    texts: list[str]
    options: dict[str, Fact] = field(default_factory=dict)
    variables: dict[str, Fact] = field(default_factory=dict)
    launcher: str = ""

    def text(self, at: int) -> str:
        """Return a word as it is written, empty after the last one."""
        return shown(self.word(at))

    def word(self, at: int) -> Word:
        """Return a word, empty after the last one."""
        return self.words[at] if at < len(self.words) else ()


def launch_of(started: Started) -> Launch | None:
    """Return the Python program that a command starts, None if it starts none."""
    words = list(started.words[:2000])
    search = _Search(started, words, [shown(word) for word in words])
    for name, value in started.exported.items():
        search.variables[name] = variable_fact(name, value, started)
    at = _program_at(search, 0)
    if at is None:
        return None
    start, program = at
    flags, arguments = flags_of(words[start:], started)
    command = Command(
        program=program,
        flags=tuple(flags),
        environment=tuple(search.variables.values()),
        launcher=search.launcher,
    )
    return Launch(command, search.options, started.span, tuple(arguments))


def _program_at(search: _Search, at: int) -> tuple[int, str] | None:
    """Return the index of the first flag of the program, and the program's name."""
    texts = search.texts
    for _ in range(12):
        text = search.text(at)
        name = text.rpartition("/")[2]
        if text.endswith(".py"):
            return _nested(search, at)
        if is_python(text):
            location = _after_python(search, at + 1)
            if not isinstance(location, int):
                return location
            at = location
        elif name in LAUNCHERS:
            if name in ("accelerate", "fabric", "lightning", "colossalai") and not any(
                word in ("launch", "run") for word in texts[at + 1 : at + 3]
            ):
                return None
            search.launcher = LAUNCHERS[name]
            at += 1
            while search.text(at) in ("launch", "run", "model"):
                at += 1
            location = _options(search, at)
            if not isinstance(location, int):
                return location
            at = location
        elif name == "tune" and search.text(at + 1) == "run":
            search.launcher = "torchrun"
            match _options(search, at + 2):
                case (start, program):
                    return start, f"tune run {program}"
                case _:
                    return None
        elif name in PROGRAMS:
            count = PROGRAMS[name]
            return at + count, " ".join(texts[at : at + count])
        elif name in WRAPPERS or text_of(search.word(at)) is None:
            if name in MPI:
                search.launcher = "mpirun"
            if name in ("srun", "jsrun"):
                search.launcher = name
            inner = _next_start(search, at + 1)
            if inner is None:
                return None
            at = inner
        else:
            return None
    return None


def _next_start(search: _Search, at: int) -> int | None:
    """Return the index of the next word that can start a program, after options."""
    texts = search.texts
    index = at
    while index < len(texts):
        text = texts[index]
        if starts_program(text) or text.rpartition("/")[2] in WRAPPERS:
            return index
        if text in ("-x", "-e", "--env"):
            _variable(search, index + 1)
            index += 2
            continue
        if re.fullmatch(r"[A-Za-z_]\w*=.*", text, re.S):
            _variable(search, index)
        elif text.startswith("-"):
            index = _option(search, index)
            continue
        index += 1
    return None


def _variable(search: _Search, index: int) -> None:
    """Store a variable that a wrapper sets: `-x NAME=VALUE`, `env NAME=VALUE`."""
    name, equal, value = search.text(index).partition("=")
    if not equal:
        return
    fact = variable_fact(name, search.words[index], search.started)
    search.variables[name] = replace(fact, value=value if fact.known else None)


def _after_python(search: _Search, at: int) -> int | tuple[int, str] | None:
    while search.text(at).startswith("-"):
        option = search.text(at)
        if option == "-m":
            return _module(search, at + 1)
        if option in ("-c", "-"):
            return None
        at += 2 if option in ("-W", "-X") else 1
    if search.text(at) in ("run", "exec"):  # coverage run
        at += 1
    return _nested(search, at) if at < len(search.texts) else None


def _module(search: _Search, at: int) -> int | tuple[int, str] | None:
    module = search.text(at)
    if module in MODULES:
        search.launcher = MODULES[module]
        return _options(search, at + 1)
    if module in ("cProfile", "pdb", "ipdb", "torch.utils.bottleneck", "line_profiler", "trace"):
        rest = range(at + 1, len(search.texts))
        program = next((index for index in rest if search.texts[index].endswith(".py")), None)
        return None if program is None else _nested(search, program)
    return None if module in NOT_TRAINING else (at + 1, f"-m {module}")


def _options(search: _Search, at: int) -> int | tuple[int, str] | None:
    """Store the options of a launcher; return the index of its program."""
    texts = search.texts
    while at < len(texts):
        text = texts[at]
        if text.startswith("-"):
            name = text.lstrip("-").partition("=")[0].replace("-", "_")
            if name in ("m", "module"):
                return at + 2, f"-m {search.text(at + 1)}"
            at = _option(search, at)
            continue
        if is_python(text):
            return at
        if not text.endswith(".py"):
            if LISTS.search(text) and any(t.endswith(".py") for t in texts[at + 1 :]):
                at += 1
                continue
            return at + 1, text
        return _nested(search, at)
    return None


def _option(search: _Search, at: int) -> int:
    """Store an option of a launcher or wrapper, and return the index of the next word."""
    text = search.texts[at]
    name, equal, value = text.lstrip("-").partition("=")
    name = name.replace("-", "_")
    word = search.words[at]
    following = search.words[at + 1 : at + 2]
    fact = flag_fact(text.partition("=")[0], word, search.started)
    if equal:
        known = text_of(word) is not None
        search.options[name] = replace(fact, value=value if known else None)
        return at + 1
    if name in BARE or all(_is_bare(shown(each)) for each in following):
        search.options[name] = replace(fact, value=True)
        return at + 1
    given = flag_fact(text, following[0], search.started)
    search.options[name] = replace(given, places=united(word, *following))
    return at + 2


def _is_bare(following: str) -> bool:
    """Return whether the word after an option cannot be its value."""
    return following.startswith("-") or starts_program(following)


def _nested(search: _Search, at: int) -> tuple[int, str]:
    """Return the program at a word; a launcher script gives the program that it starts."""
    texts = search.texts
    if "launch" in texts[at].rpartition("/")[2] or any(
        t.lstrip("-").partition("=")[0].replace("-", "_") in PROCESS_FLAGS for t in texts[at + 1 :]
    ):
        for index in range(at + 2, len(texts)):
            alone = not texts[index - 1].startswith("-") or "=" in texts[index - 1]
            if texts[index].endswith(".py") and alone:
                inner = at + 1
                while inner < index:
                    inner = _option(search, inner) if texts[inner][:1] == "-" else inner + 1
                search.launcher = texts[at].rpartition("/")[2]
                return index + 1, texts[index]
    return at + 1, texts[at]
