"""Group related sources: a program with its modules, launch scripts and settings."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath

from crosscast.messages.source import Source
from crosscast_reading.readers.config.encoder_json import is_encoder
from crosscast_reading.readers.inheritance import files_of
from crosscast_reading.sources.ancestors import ancestors, hydra_names, is_run
from crosscast_reading.sources.config_flags import defines_settings, settings_named
from crosscast_reading.sources.file_names import FileNames
from crosscast_reading.sources.files import kind_of
from crosscast_reading.sources.imports import Files, Imports
from crosscast_reading.sources.prefilter import may_train

MAX_HELPERS = 16
MAX_DEPTH = 3
ENOUGH = 3_000_000
"""Total size of all programs, in characters, below which all modules are included."""
_PROGRAM = FileNames(r"\w.$/{}-", "py")
_MODULE = re.compile(r"(?<=-m )[ \t]*([\w.]+)")
_SCRIPT = FileNames(r"\w.-", "sh|bash")
_SETTINGS = FileNames(r"\w.-", "json|ya?ml|gin")


def group(sources: Sequence[Source]) -> list[tuple[Source, ...]]:
    """Return groups of sources to analyze together; the program's main file comes first.

    Sources unrelated to training are included only if others need them.
    """
    files = Files(sources)
    imports, programs = _within_reason(sources, files)
    configurations = files_of(source for source in sources if kind_of(source) == "config")
    settings: dict[str, list[Source]] = {}
    for source in sources:
        bound = source.name.endswith(".gin")
        wanted = bound or may_train(source) or is_encoder(source) or is_run(source)
        if kind_of(source) == "config" and wanted:
            settings.setdefault(PurePath(source.name).name, []).append(source)
    groups: list[tuple[Source, ...]] = []
    launched: set[str] = set()
    used: set[str] = set()
    scripts = [source for source in sources if kind_of(source) == "shell" and may_train(source)]
    jobs = _jobs(scripts, files)
    for script in (
        program for program in scripts if all(program not in job for job in jobs.values())
    ):
        started = _started(script, files)
        if started is None:
            members: tuple[Source, ...] = (script,)
        else:
            own = programs.get(started.name, imports.closure(started))
            members = _with_config_file(own, script, files, imports)
            launched.update(member.name for member in members[len(own) :])
            members = (*members, script, *jobs.get(script.name, ()))
            launched.add(started.name)
        members = _with_settings(members, settings, configurations, used)
        groups.append(members)
    groups += [
        _with_settings(members, settings, configurations, used)
        for main, members in programs.items()
        if main not in launched
    ]
    left = [source for same in settings.values() for source in same if source.name not in used]
    left = [source for source in left if may_train(source) and not source.name.endswith(".gin")]
    groups += _configurations(left, configurations)
    lists = [source for source in sources if kind_of(source) == "requirements"]
    return [(*members, *_requirements(members[0], lists)) for members in groups]


def group_all(sources: Sequence[Source]) -> list[tuple[Source, ...]]:
    """Return all Python files in groups that import each other, with the scripts that launch them.

    They need not train.
    """
    files = Files(sources)
    wanted = [source for source in sources if kind_of(source) == "python"]
    imports = Imports(files, MAX_DEPTH, MAX_HELPERS)
    near: dict[str, list[Source]] = {source.name: [] for source in wanted}
    for source in wanted:
        for other in imports.of(source):
            near[source.name].append(other)
            near[other.name].append(source)
    for script in sources:
        started = _started(script, files) if kind_of(script) == "shell" else None
        if started is not None:
            near[script.name] = []
            near[started.name].append(script)
    groups: list[tuple[Source, ...]] = []
    covered: set[str] = set()
    for source in wanted:
        members = {source.name: source} if source.name not in covered else {}
        waiting = list(members.values())
        while waiting:
            new = {two.name: two for two in near[waiting.pop().name] if two.name not in members}
            members |= new
            waiting += new.values()
        covered |= members.keys()
        groups += [tuple(members.values())] if members else []
    return groups


def _configurations(
    left: Sequence[Source], configurations: Mapping[PurePath, Source]
) -> list[tuple[Source, ...]]:
    """Return configurations that no program uses, each with those that it inherits from."""
    groups = [(source, *ancestors(source, configurations)) for source in left]
    parts = {part.name for _, *inherited in groups for part in inherited if not is_run(part)}
    return [members for members in groups if members[0].name not in parts]


def _requirements(main: Source, lists: Sequence[Source]) -> list[Source]:
    """Return the requirements files in the folder of a file or the nearest parent with any."""
    for folder in PurePath(main.name).parents:
        in_folder = [list_ for list_ in lists if PurePath(list_.name).parent == folder]
        if in_folder:
            return in_folder
    return []


def _within_reason(
    sources: Sequence[Source], files: Files
) -> tuple[Imports, dict[str, tuple[Source, ...]]]:
    """Return the programs, with fewer modules each if the total would be too large.

    In a library most modules import most others, and each is read once per program.
    """
    enough = max(ENOUGH, 2 * sum(len(source.text) for source in files.python.values()))
    for depth, helpers in ((MAX_DEPTH, MAX_HELPERS), (1, MAX_HELPERS), (1, 4), (1, 0)):
        imports = Imports(files, depth, helpers)
        programs = _programs(sources, imports)
        if sum(len(member.text) for members in programs.values() for member in members) <= enough:
            break
    return imports, programs


def _programs(sources: Sequence[Source], imports: Imports) -> dict[str, tuple[Source, ...]]:
    """Return main file to program; every file that may train belongs to a program."""
    wanted = [
        source for source in sources if kind_of(source) == "python" and _trains(source, imports)
    ]
    imported = {two.name for source in wanted for two in imports.of(source) if two is not source}
    programs: dict[str, tuple[Source, ...]] = {}
    covered: set[str] = set()
    for source in sorted(wanted, key=lambda source: source.name in imported):  # mains first
        if source.name not in covered:
            programs[source.name] = imports.closure(source)
            covered.update(m.name for m in programs[source.name] if not is_run(m))
    return programs


def _trains(source: Source, imports: Imports) -> bool:
    """Whether a file may train, or takes settings from a flag and hands them to one that may."""
    return may_train(source) or (
        defines_settings(source) and any(map(may_train, imports.closure(source)))
    )


def _with_config_file(
    members: tuple[Source, ...], script: Source, files: Files, imports: Imports
) -> tuple[Source, ...]:
    """Add the Python files of settings that the command of a program names."""
    if not any(map(defines_settings, members)):
        return members
    folder = PurePath(script.name).parent
    added = {member.name: member for member in members}
    for settings in settings_named(_PROGRAM.find(script.text), folder, files.named):
        added.update((part.name, part) for part in imports.closure(settings))
    return tuple(added.values())


def _started(script: Source, files: Files) -> Source | None:
    """Return the program among the given files that a script launches."""
    folder = PurePath(script.name).parent
    modules = ((match.start(1), match.group(1)) for match in _MODULE.finditer(script.text))
    for _, word in sorted([*_PROGRAM.places(script.text), *modules]):
        if not word.endswith(".py"):
            program = files.module(folder, word.split("."))
            if program:
                return program
            continue
        path = PurePath(word)
        same = files.named.get(path.name, [])
        near = [source for source in same if PurePath(source.name) == _normalized(folder / path)]
        if near or len(same) == 1:
            return (near or same)[0]
        ends = [
            source
            for source in same
            if PurePath(source.name).parts[-len(path.parts) :] == path.parts
        ]
        if len(ends) == 1:
            return ends[0]
    return None


def _jobs(scripts: Sequence[Source], files: Files) -> dict[str, list[Source]]:
    """Return the scripts that name another script in their folder which launches a program."""
    by_program: dict[str, list[Source]] = {}
    starting = {
        program.name: program for program in scripts if _started(program, files) is not None
    }
    for script in scripts:
        if script.name in starting:
            continue
        named = {PurePath(script.name).with_name(word) for word in _SCRIPT.find(script.text)}
        inner = [source.name for source in starting.values() if PurePath(source.name) in named]
        if len(inner) == 1:
            by_program.setdefault(inner[0], []).append(script)
    return by_program


def _normalized(path: PurePath) -> PurePath:
    """Return a path without `..`."""
    parts: list[str] = []
    for part in path.parts:
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        else:
            parts.append(part)
    return PurePath(*parts)


def _with_settings(
    members: tuple[Source, ...],
    settings: Mapping[str, Sequence[Source]],
    configurations: Mapping[PurePath, Source],
    used: set[str],
) -> tuple[Source, ...]:
    """Add the configurations that a program or its launch names, and what those inherit from."""
    if not settings:
        return members
    added: dict[str, Source] = {}
    for member in members:
        for name in (*dict.fromkeys(_SETTINGS.find(member.text)), *hydra_names(member)):
            configuration = _nearest(settings.get(name, ()), PurePath(member.name).parent)
            if configuration is not None:
                added[configuration.name] = configuration
    for source in list(added.values()):
        added.update((part.name, part) for part in ancestors(source, configurations))
    used.update(added)
    return (*members, *added.values())


def _nearest(sources: Sequence[Source], folder: PurePath) -> Source | None:
    """Return the file nearest to a folder; None if several are equally near."""

    def distance(source: Source) -> int:
        own = PurePath(source.name).parent.parts
        shared = sum(1 for part, two in zip(own, folder.parts, strict=False) if part == two)
        return len(own) + len(folder.parts) - 2 * shared

    ranked = sorted(sources, key=distance)
    if len(ranked) > 1 and distance(ranked[0]) == distance(ranked[1]):
        return None
    return ranked[0] if ranked else None
