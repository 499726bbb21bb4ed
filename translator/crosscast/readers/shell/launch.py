"""The Python program that a command starts, with its launcher and flags."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from crosscast.facts.command import Command
from crosscast.facts.fact import Fact
from crosscast.messages.diagnostics import Span
from crosscast.readers.shell.flags import (
    DIVIDERS,
    LISTS,
    flag_fact,
    flags_of,
    united,
    variable_fact,
)
from crosscast.readers.shell.programs import (
    BARE,
    LAUNCHERS,
    MODULES,
    MPI,
    NOT_TRAINING,
    PROCESS_FLAGS,
    PROGRAMS,
    PYTHON,
    PYTHON_NAME,
    WRAPPERS,
    starts_program,
)
from crosscast.readers.shell.simple_commands import Started
from crosscast.readers.shell.text import Word, shown, text_of


@dataclass(slots=True)
class Launch:
    """A program in a command, with the launcher before it."""

    command: Command
    options: dict[str, Fact]
    """Options of the launcher: `nproc_per_node`, `np`, `ntasks`, by name without dashes."""
    wrappers: tuple[str, ...] = ()
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
    wrappers: list[str] = field(default_factory=list)
    launcher: str = ""


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
    return Launch(command, search.options, tuple(search.wrappers), started.span, tuple(arguments))


def _program_at(search: _Search, at: int) -> tuple[int, str] | None:
    """Return the index of the first flag of the program, and the program's name."""
    texts = search.texts
    for _ in range(12):
        if at >= len(texts):
            return None
        name = texts[at].rpartition("/")[2]
        known = text_of(search.words[at]) is not None
        if texts[at].endswith(".py"):
            return _nested(search, at)
        if PYTHON.fullmatch(texts[at]) or (not known and PYTHON_NAME.fullmatch(texts[at])):
            found = _after_python(search, at + 1)
            if found is None or isinstance(found, tuple):
                return found
            at = found
        elif name in LAUNCHERS and known:
            if name in ("accelerate", "fabric", "lightning", "colossalai") and not any(
                word in ("launch", "run") for word in texts[at + 1 : at + 3]
            ):
                return None
            search.launcher = LAUNCHERS[name]
            search.wrappers.append(name)
            skipped = 1
            while texts[at + skipped : at + skipped + 1] and texts[at + skipped] in (
                *("launch", "run", "model"),
            ):
                skipped += 1
            found_at = _options(search, at + skipped)
            if found_at is None or isinstance(found_at, tuple):
                return found_at
            at = found_at
        elif name == "tune" and texts[at + 1 : at + 2] == ["run"]:
            search.launcher = "torchrun"
            found_at = _options(search, at + 2)
            if not isinstance(found_at, tuple):
                return None
            return found_at[0], f"tune run {found_at[1]}"
        elif name in PROGRAMS and known:
            count = PROGRAMS[name]
            return at + count, " ".join(texts[at : at + count])
        elif name in WRAPPERS or not known:
            if name in WRAPPERS:
                search.wrappers.append(name)
                if name in MPI and not search.launcher:
                    search.launcher = "mpirun"
                if name in ("srun", "jsrun") and not search.launcher:
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
        name = text.rpartition("/")[2]
        if DIVIDERS.fullmatch(text):
            return None
        if starts_program(text) or (name in WRAPPERS and not texts[index - 1].startswith("--")):
            return index
        if text in ("-x", "-e", "--env") and index + 1 < len(texts):
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
    name, equal, value = search.texts[index].partition("=")
    if not equal:
        return
    fact = variable_fact(name, search.words[index], search.started)
    if fact.known:
        search.variables[name] = replace(fact, value=value)


def _after_python(search: _Search, at: int) -> int | tuple[int, str] | None:
    texts = search.texts
    while at < len(texts) and texts[at].startswith("-"):
        if texts[at] == "-m" and at + 1 < len(texts):
            return _module(search, at + 1)
        if texts[at] in ("-c", "-"):
            return None
        at += 2 if texts[at] in ("-W", "-X") else 1
    if at < len(texts) and texts[at] in ("run", "exec"):  # coverage run
        at += 1
    if at >= len(texts) or DIVIDERS.fullmatch(texts[at]):
        return None
    return _nested(search, at)


def _module(search: _Search, at: int) -> int | tuple[int, str] | None:
    module = search.texts[at]
    if module in MODULES:
        search.launcher = MODULES[module]
        search.wrappers.append(module)
        return _options(search, at + 1)
    if module in ("cProfile", "pdb", "ipdb", "torch.utils.bottleneck", "line_profiler", "trace"):
        index = at + 1
        while index < len(search.texts) and not search.texts[index].endswith(".py"):
            index += 1
        return _nested(search, index) if index < len(search.texts) else None
    return None if module in NOT_TRAINING else (at + 1, f"-m {module}")


def _options(search: _Search, at: int) -> int | tuple[int, str] | None:
    """Store the options of a launcher; return the index of its program."""
    texts = search.texts
    while at < len(texts):
        text = texts[at]
        if text.startswith("-") and text != "-":
            name = text.lstrip("-").partition("=")[0].replace("-", "_")
            if name in ("m", "module") and at + 1 < len(texts):
                return at + 2, f"-m {texts[at + 1]}"
            at = _option(search, at)
            continue
        if PYTHON.fullmatch(text):
            return at
        if not text.endswith(".py") and text_of(search.words[at]) is None:
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
    following = search.words[at + 1] if at + 1 < len(search.words) else None
    fact = flag_fact(text.partition("=")[0], word, search.started)
    if equal:
        known = text_of(word) is not None
        search.options[name] = replace(fact, value=value if known else None)
        return at + 1
    if following is None or name in BARE or _is_bare(shown(following)):
        search.options[name] = replace(fact, value=True)
        return at + 1
    given = flag_fact(text, following, search.started)
    search.options[name] = replace(given, places=united(word, following))
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
                search.launcher = search.launcher or texts[at].rpartition("/")[2]
                return index + 1, texts[index]
    return at + 1, texts[at]
