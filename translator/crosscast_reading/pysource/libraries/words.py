"""Names of libraries that programs use: what each package brings, and all of them together."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Literal, TypeVar, get_args

from crosscast.messages.diagnostics import Diagnostic
from crosscast.targets.source_support import installed_support, load_object, not_loaded
from crosscast_reading.pysource.libraries.precision_words import MixedPrecision

Item = TypeVar("Item")
Signature = str | tuple[tuple[str, str, str], ...]
"""Text, or (since, until, text) for each window; an empty version has no bound."""
Role = Literal[
    "optimizer",
    "schedule",
    "scaler",
    "clip",
    "clips_a_copy",
    "sums_over_processes",
    "saves",
    "data_loader",
    "joins_processes",
    "fits",
]
"""What a class or function is for. `clip`: objects that make an optimizer clip; `clips_a_copy`:
functions that return clipped gradients and leave their arguments; `joins_processes`: calls that
join the processes of a program, or start them; `fits`: methods by which a model trains itself."""


@dataclass(frozen=True, slots=True)
class FrameworkPackages:
    """The packages that a program of one framework imports."""

    name: str
    """As in the field `framework` of facts; empty for packages that work with several."""
    own: tuple[str, ...] = ()
    """The packages of the framework itself."""
    known: tuple[str, ...] = ()
    """Packages built on it whose calls readers know."""
    around: tuple[str, ...] = ()
    """Other packages built on it: models, trainers."""
    steps: tuple[str, ...] = ()
    """Parts of names that only training uses; they weigh more if a program imports several
    frameworks."""
    aliases: tuple[str, ...] = ()
    """Other names that programs usually import the first of its own packages under."""
    is_read: bool = True
    """Whether readers understand its training."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What a package knows of names. Names are dotted and public: `torch.optim.AdamW`."""

    packages: tuple[FrameworkPackages, ...] = ()
    """Packages and the framework that each is of."""
    signatures: Mapping[str, Signature] = field(default_factory=dict)
    """Parameters of functions, as `signatures` describes them."""
    public_names: Mapping[str, str] = field(default_factory=dict)
    """Private or second places of public names: the beginnings of both."""
    one_name: tuple[tuple[str, str], ...] = ()
    """Names of one object in two packages, for comparisons: the other one, and the one to use."""
    handed_through: Mapping[str, tuple[int, ...] | int] = field(default_factory=dict)
    """Calls that return their arguments: a position, or one for each part of the result."""
    handed_through_all: tuple[str, ...] = ()
    """Calls that return all their positional arguments in order."""
    results: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Calls whose result has parts with classes of their own."""
    distributions: Mapping[str, str] = field(default_factory=dict)
    """Package to the distribution that brings it and whose version counts."""
    roles: Mapping[Role, str] = field(default_factory=dict)
    """Role to a regular expression for the whole of a canonical name that has it."""
    hidden_models: Mapping[str, str] = field(default_factory=dict)
    """Wrappers that hide the attributes of a model, and the attribute that has it."""
    foreign_arguments: tuple[tuple[str, Mapping[str, str]], ...] = ()
    """Regular expressions for optimizers, and to each the arguments that other libraries have for
    theirs and these in no version, with what to do instead."""
    libraries: tuple[str, ...] = ()
    """Other packages that an absolute import means, whatever the program's files are called."""
    mixed_precision: MixedPrecision | None = None
    """What mixed precision does to the types of tensors."""
    loss_form: str = ""
    """`package.module:FUNCTION`, which takes a `LossValue` and returns the loss (`Found`) that its
    expression is by its form, or None."""

    def __post_init__(self) -> None:
        """Refuse tables that would fail where they are used.

        Raises:
            TypeError: a table has another form.
            re.error: what should be a regular expression is none.
        """
        if not all(isinstance(row, FrameworkPackages) for row in self.packages):
            raise TypeError("packages has something that is no FrameworkPackages")
        tables = (self.signatures, self.public_names, self.handed_through, self.results)
        more = (self.distributions, self.roles, self.hidden_models)
        if not all(isinstance(table, Mapping) for table in (*tables, *more)):
            raise TypeError("a table is no mapping")
        if unknown := self.roles.keys() - set(get_args(Role)):
            raise TypeError(f"roles has {sorted(unknown)[0]!r}, which is no role")
        if not isinstance(self.mixed_precision, MixedPrecision | None):
            raise TypeError("mixed_precision is no MixedPrecision")
        for pattern in (*self.roles.values(), *(each for each, _ in self.foreign_arguments)):
            re.compile(pattern)


@cache
def _found() -> tuple[tuple[Words, ...], tuple[Diagnostic, ...]]:
    words: list[Words] = []
    problems: list[Diagnostic] = []
    for support in installed_support().values():
        if support.words:
            try:
                package_words = load_object(support.words)
                if not isinstance(package_words, Words):
                    raise TypeError("it is no Words")
            except Exception as error:  # a third-party package may raise anything on import
                problems.append(not_loaded(f"words {support.words}", error))
            else:
                words.append(package_words)
    return tuple(words), tuple(problems)


def all_words() -> tuple[Words, ...]:
    """Return the names that the installed packages know, crosscast's own first."""
    return _found()[0]


def words_problems() -> tuple[Diagnostic, ...]:
    """Return a diagnostic for every package whose names do not load."""
    return _found()[1]


def merged(table: Callable[[Words], Mapping[str, Item]]) -> dict[str, Item]:
    """Return a table of `Words` with what all packages know; crosscast's own rows count."""
    rows: dict[str, Item] = {}
    for words in reversed(all_words()):
        rows.update(table(words))
    return rows
