"""Arguments of public functions, and what all of them raise."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar

from crosscast.api.described import Described, documentation, take_descriptions
from crosscast.messages.diagnostics import (
    Collector,
    Diagnostic,
    DiagnosticError,
    failure,
    os_failure,
    refuse_null,
)

Path = str | os.PathLike[str]
Paths = Path | Sequence[Path]
Words = str | Sequence[str]
"""Words separated by commas, or a list of them."""
Texts = str | Sequence[str]
"""A text, or a list of texts."""
P = ParamSpec("P")
Returned = TypeVar("Returned")
_DESCRIBED: dict[Callable[..., Any], Mapping[str, Described]] = {}
"""Public functions with their described arguments."""


def public(function: Callable[P, Returned]) -> Callable[P, Returned]:
    """Make a function part of the Python API: what fails is a `DiagnosticError`.

    An error of the system becomes CC504, as on the command line. An argument whose annotation
    describes it is held to the description (CC016) and documented by it.
    """
    described = take_descriptions(function)
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    function.__doc__ = documentation(function, described)

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> Returned:
        for value in (*args, *kwargs.values()):
            refuse_null(value if isinstance(value, list | tuple) else (value,))
        for name, value in (*zip(names, args, strict=False), *kwargs.items()):
            if name in described:
                described[name].check(name, value)
        try:
            return function(*args, **kwargs)
        except OSError as error:
            raise os_failure(error) from error

    _DESCRIBED[call] = described
    return call


def described_arguments(function: Callable[..., Any]) -> Mapping[str, Described]:
    """Return the described arguments of a public function by name."""
    return _DESCRIBED[function]


def paths_of(paths: Paths) -> list[str]:
    """Return one or several paths as texts."""
    if isinstance(paths, str | os.PathLike):
        return [os.fspath(paths)]
    return [os.fspath(path) for path in paths]


def words_of(words: Words | None) -> list[str]:
    """Return words that were given as a list or separated by commas."""
    texts = [words] if isinstance(words, str) else words or ()
    return [word.strip() for text in texts for word in text.split(",") if word.strip()]


def texts_of(texts: Texts | Sequence[int] | None) -> list[str]:
    """Return one or several texts as a list."""
    return [texts] if isinstance(texts, str) else [str(text) for text in texts or ()]


def targets_of(to: Words) -> list[str]:
    """Return the names of targets; an unknown or repeated name is a diagnostic.

    Raises:
        DiagnosticError: CC106.
    """
    from crosscast.targets.backend import find_target

    names = words_of(to)
    collect = Collector()
    for name in names:
        try:
            find_target(name)
        except DiagnosticError as error:
            collect.diagnostics += error.diagnostics
    if not names or len(set(names)) != len(names):
        message = "--to needs at least one target" if not names else "--to names a target twice"
        collect.add(Diagnostic(code="CC106", message=message))
    collect.raise_errors()
    return names


def named_versions(versions: Texts) -> dict[str, str]:
    """Return package to version from `NAME=VERSION` texts.

    Raises:
        DiagnosticError: CC919 for another syntax.
    """
    package_versions = {}
    for text in texts_of(versions):
        name, equals, number = text.partition("=")
        if not equals or not name.strip() or not number.strip()[:1].isdigit():
            raise failure("CC919", f"--version {text!r} is not NAME=VERSION", "torch=2.1")
        package_versions[name.strip()] = number.strip()
    return package_versions
