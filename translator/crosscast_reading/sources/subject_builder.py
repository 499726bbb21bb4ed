"""Build the subject of lint rules from source texts, without running or importing them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import PurePath

from crosscast.messages.diagnostics import Diagnostic
from crosscast.messages.source import Source
from crosscast.targets.source_support import support_problems
from crosscast_reading.facts.command import Command
from crosscast_reading.facts.fact import Fact
from crosscast_reading.facts.profile import profile_of
from crosscast_reading.pysource.libraries.words import words_problems
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.pysource.project import read_program
from crosscast_reading.readers.config.documents import documents_of
from crosscast_reading.readers.config.gin_bindings import gin_bindings
from crosscast_reading.readers.emitted.script import made_for
from crosscast_reading.readers.inheritance import Files, files_of
from crosscast_reading.readers.protocol import ComposingReader, PythonReader, Reading
from crosscast_reading.readers.python.frameworks import retired
from crosscast_reading.readers.python.given_away import given_away
from crosscast_reading.readers.registry import (
    python_problems,
    python_readers,
    text_problems,
    text_readers,
)
from crosscast_reading.readers.usual_names import READER_NAME
from crosscast_reading.sources.ancestors import ancestors
from crosscast_reading.sources.failures import guarded
from crosscast_reading.sources.files import kind_of
from crosscast_reading.sources.prefilter import has_word
from crosscast_reading.sources.requirements import pinned
from crosscast_reading.sources.still_rates import with_still_rates
from crosscast_reading.sources.subject import Subject
from crosscast_reading.trainstep.events import TrainingStep
from crosscast_reading.trainstep.steps.search import training_steps

_ARGUMENTS = re.compile(r"\.py\b((?:[^\n\\]|\\\n)*)")
"""What follows a program up to the end of its command."""
_OVERRIDE = re.compile(r"\s\+{0,2}[A-Za-z_][\w./@]*=")
"""A word with `=` and without dashes."""


def subject_of(
    sources: Sequence[Source], versions: Mapping[str, str] | None = None
) -> tuple[Subject, list[Diagnostic]]:
    """Return the results of reading a group of sources, and failures (CC95x).

    Unknown values in a source are facts, not failures. An unsupported framework is reported among
    the failures (CC913).
    """
    failures: list[Diagnostic] = []
    python = [source for source in sources if kind_of(source) == "python"]
    files = files_of(source for source in sources if kind_of(source) == "config")
    parts = {part.name for source in files.values() for part in ancestors(source, files)}
    others = [
        source
        for source in sources
        if kind_of(source) in ("shell", "config") and source.name not in parts
    ]
    readings = [_read_source(other, files, failures) for other in others]
    lists = [source for source in sources if kind_of(source) == "requirements"]
    named = made_for(python) | pinned(lists)
    commands = [command for reading in readings for command in reading.commands]
    facts = [
        fact
        for source, reading in zip(others, readings, strict=True)
        for fact in _from(source, reading.facts)
    ]
    reading = partial(
        read_program,
        python,
        versions=named | dict(versions or {}),
        settings=gin_bindings(sources),
        documents=None if _overrides(others) else documents_of(list(files.values())),
    )
    program, unread = _program(reading, python, commands, failures)
    steps: tuple[TrainingStep, ...] = ()
    if program is not None:
        activity = f"finding the steps of {python[0].name}"
        steps = guarded(failures, activity, python, partial(training_steps, program)) or ()
        note = retired(program)
        if note is not None:  # its calls have names with other meanings elsewhere
            steps = ()
            failures.append(note)
        read = _facts(program, python, failures)
        work = partial(with_still_rates, read, program, steps)
        activity = "looking for what moves the learning rate"
        facts += _from(python[0], guarded(failures, activity, python, work) or read)
        stated = {fact.field for fact in facts if fact.reader != READER_NAME}
        work = partial(given_away, program, stated)
        facts += guarded(failures, "reading what is given away", python, work) or []
    failures += support_problems()
    if others:
        failures += text_problems()
    if program is not None:
        failures += (*python_problems(), *words_problems())
    subject = Subject(
        sources=sources,
        program=program or read_program(())[0],
        steps=steps,
        profile=profile_of(_without_names(facts)),
        commands=commands,
        unread=(
            *unread,
            *(diagnostic for reading in readings for diagnostic in reading.diagnostics),
        ),
    )
    return subject, failures


def _without_names(facts: Sequence[Fact]) -> list[Fact]:
    """Return facts without those by names alone about sections that others speak of."""
    read = {fact.field.partition(".")[0] for fact in facts if fact.reader != READER_NAME}
    return [f for f in facts if f.reader != READER_NAME or f.field.partition(".")[0] not in read]


def _from(source: Source, facts: Sequence[Fact]) -> list[Fact]:
    """Return facts; those without a location get the source they were read from."""
    return [fact if fact.places else replace(fact, file=source.name) for fact in facts]


def _program(
    reading: Callable[..., tuple[Program, Sequence[Diagnostic]]],
    sources: Sequence[Source],
    commands: Sequence[Command],
    failures: list[Diagnostic],
) -> tuple[Program | None, Sequence[Diagnostic]]:
    """Return the program and the problems of reading it."""
    if not sources:
        return None, ()
    main = sources[0]
    launch = next((command for command in commands if starts(command, main)), None)
    work = partial(reading, launch=launch)
    return guarded(failures, f"reading {main.name}", sources, work) or (None, ())


def _overrides(sources: Sequence[Source]) -> bool:
    """Whether a command of a launch script changes entries of configurations: `optim.lr=0.1`."""
    shells = (source for source in sources if kind_of(source) == "shell")
    commands = (match[1] for shell in shells for match in _ARGUMENTS.finditer(shell.text))
    return any(map(_OVERRIDE.search, commands))


def starts(command: Command, source: Source) -> bool:
    """Whether a command launches the program in a source, judged by the names."""
    own = PurePath(source.name)
    if command.program.endswith(".py"):
        return PurePath(command.program).name == own.name
    parts = command.program.removeprefix("-m").strip().split(".")
    return parts[-1] in (own.stem, own.parent.name) if parts[-1] else False


def _facts(program: Program, sources: Sequence[Source], failures: list[Diagnostic]) -> list[Fact]:
    facts: list[Fact] = []
    for reader in python_readers():
        hints = tuple(reader.hints)
        if not hints or any(has_word(source.text, hints) for source in sources):
            work = partial(_all_facts, reader, program)
            facts += guarded(failures, f"reader {reader.name}", sources, work) or []
    return facts


def _all_facts(reader: PythonReader, program: Program) -> list[Fact]:
    return list(reader.read(program))


def _read_source(source: Source, files: Files, failures: list[Diagnostic]) -> Reading:
    """Return the result of the first reader for the format; empty if there is none.

    The format of a configuration that inherits from others is also known by those.
    """
    for known in (source, *ancestors(source, files)):
        for reader in text_readers():
            activity = f"reader {reader.name} on {source.name}"
            if not guarded(failures, activity, [known], partial(reader.sniff, known)):
                continue
            work = partial(reader.read, source)
            if isinstance(reader, ComposingReader):
                work = partial(reader.read_over, source, files)
            reading = guarded(failures, activity, [source], work)
            return reading if isinstance(reading, Reading) else Reading()
    from crosscast_reading.readers.config.usual_settings import READER  # programs need no YAML

    activity = f"reader {READER.name} on {source.name}"
    if guarded(failures, activity, [source], partial(READER.sniff, source)):
        return guarded(failures, activity, [source], partial(READER.read, source)) or Reading()
    return Reading()
