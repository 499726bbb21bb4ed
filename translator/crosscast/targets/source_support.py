"""What a package knows of programs that others wrote for a framework, found by entry points.

It stands apart from the backend: reading a program needs no target, and compiling a recipe loads
nothing that reads.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from crosscast.messages.chinese import add_texts
from crosscast.messages.diagnostics import Diagnostic

GROUP = "crosscast.source_support"


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationApi:
    """An API that programs are migrated to in place: the current one of a framework."""

    name: str
    """As in `crosscast migrate --to`: `torch.amp`."""
    codes: str
    """What the codes of its codemods begin with: `CM1`. It also gives the order of the APIs."""
    modules: tuple[str, ...]
    """The modules that a program of the API imports."""
    framework: str = ""
    """The backend whose harness observes its scripts (`migrate --run`); empty if none does."""
    old_environment: tuple[tuple[str, str], ...] = ()
    """Environment variables that enable the old API in a current release."""
    old_python: str = ""
    """Environment variable that names a Python with the last release that has the old API."""
    public_names: str = ""
    """A `PublicNames`: what exists in the present releases, to bind programs to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedChange:
    """A change of meaning that a person may allow a codemod by its name."""

    name: str
    """In kebab case: `adam-bias-correction`."""
    api: str
    before: str
    """What the old program does."""
    after: str
    """What the migrated program does instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Era:
    """A generation of an API whose programs are migrated in place, and how that went.

    The numbers are those of programs that had no part in writing the codemods, judged at first
    sight (docs/measurements/migrated-programs.md).
    """

    name: str
    title: str
    codemods: str
    """A package of codemods, one module each."""
    programs: int = 0
    right: int = 0
    """All that the command reaches was converted, and means what it meant."""
    wrong: int = 0
    """Something changed its meaning, or has to change and was not named."""
    not_looked_at: str = ""
    """What its codemods do not look at in any program, and what to do about it; empty if they
    look at all that the new API does otherwise."""

    @property
    def is_experimental(self) -> bool:
        """Whether less than half of the programs came out right, or more than a tenth wrong."""
        tried = self.programs
        return not tried or 2 * self.right < tried or 10 * self.wrong > tried

    @property
    def yield_words(self) -> str:
        """The numbers as part of a sentence."""
        if not self.programs:
            return "it was not tried on programs that had no part in writing it"
        return (
            f"of {self.programs} programs that had no part in writing it, {self.right} came out "
            f"right and {self.wrong} wrong"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSupport:
    """What a package knows, by the names of its modules, which are imported when they are needed.

    A single object is written `package.module:OBJECT`.
    """

    text_readers: Mapping[str, str] = field(default_factory=dict)
    """Name to a `TextReader`: formats of configurations and launch scripts."""
    python_readers: Mapping[str, str] = field(default_factory=dict)
    """Name to a `PythonReader`: generations of an API."""
    rules: str = ""
    """A package of lint rules, one module each, in folders by topic."""
    eras: tuple[Era, ...] = ()
    """The generations of APIs that programs are migrated from."""
    apis: tuple[MigrationApi, ...] = ()
    """The APIs that they are migrated to."""
    changes: tuple[AllowedChange, ...] = ()
    """What their codemods do only with `--allow NAME`."""
    words: str = ""
    """A `Words`: packages, signatures, public names."""
    models: str = ""
    """A `ModelTables`: how models are read and written, for migrations across frameworks."""
    saved_states: str = ""
    """A `SavedStates`: how training states that such programs saved are read."""
    texts: Path | None = None
    """A folder with translations, as `messages.chinese` describes them."""

    def __post_init__(self) -> None:
        """Refuse what would fail where it is used.

        Raises:
            TypeError: something has another type.
        """
        if not all(isinstance(era, Era) for era in self.eras):
            raise TypeError("eras has something that is no Era")
        if not all(isinstance(api, MigrationApi) for api in self.apis):
            raise TypeError("apis has something that is no MigrationApi")
        if not all(isinstance(change, AllowedChange) for change in self.changes):
            raise TypeError("changes has something that is no AllowedChange")
        if not all(isinstance(each, Mapping) for each in (self.text_readers, self.python_readers)):
            raise TypeError("the readers are no mapping")


@cache
def _load_all() -> tuple[dict[str, SourceSupport], tuple[Diagnostic, ...]]:
    supports: dict[str, SourceSupport] = {}
    problems: list[Diagnostic] = []
    for entry in sorted(entry_points(group=GROUP), key=_order):
        try:
            support = entry.load()
            if not isinstance(support, SourceSupport):
                raise TypeError("it is no SourceSupport")
        except Exception as error:  # a third-party package may raise anything on import
            problems.append(not_loaded(f"{entry.name!r} of {GROUP}", error))
        else:
            if supports.setdefault(entry.name, support) is support and support.texts is not None:
                add_texts(support.texts)
    return supports, tuple(problems)


def _order(entry: EntryPoint) -> tuple[bool, str]:
    """Return the name, crosscast's own before those of plug-ins, which cannot replace them."""
    return entry.dist is None or entry.dist.name != "crosscast", entry.name


def installed_support() -> Mapping[str, SourceSupport]:
    """Return the support of the installed packages, by the names of their entry points.

    crosscast's own come first, those that do not load are left out.
    """
    return _load_all()[0]


def support_problems() -> tuple[Diagnostic, ...]:
    """Return a diagnostic for every package whose knowledge does not load."""
    return _load_all()[1]


def load_object(place: str) -> object:
    """Return the object at `package.module:OBJECT`; raises what importing raises."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def modules_of(package: str, *, in_folders: bool = False) -> Iterator[str]:
    """Yield the modules of a package, or those in its folders; none that starts with `_`.

    Raises what importing the package raises.
    """
    for path in import_module(package).__path__:
        folders = [(package, path)]
        if in_folders:
            names = sorted(folder.name for folder in Path(path).iterdir() if folder.is_dir())
            folders = [(f"{package}.{name}", str(Path(path, name))) for name in names]
        for prefix, folder in folders:
            for module in pkgutil.iter_modules([folder]):
                if not module.name.startswith("_"):
                    yield f"{prefix}.{module.name}"


def not_loaded(what: str, error: Exception) -> Diagnostic:
    """Return the diagnostic for a part of a plug-in that does not load."""
    return Diagnostic(
        code="CC955",
        message=f"{what} does not load: {error}",
        hint="update or remove the package that brings it",
    )


@cache
def migration_apis() -> Mapping[str, MigrationApi]:
    """Return the APIs that programs are migrated to in place, by name, ordered by their codes."""
    apis = [api for support in installed_support().values() for api in support.apis]
    return {api.name: api for api in sorted(apis, key=lambda api: api.codes)}
