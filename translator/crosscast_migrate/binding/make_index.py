"""List the public names of installed packages, with signatures, as compressed JSON.

    python -m crosscast_migrate.binding.make_index index.json.xz tensorflow keras

Runs in an interpreter that has the packages, and `translator` on its path; imports nothing else.
Modules are imported, no function is called. `binding.index` describes the format.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import inspect
import json
import lzma
import os
import pkgutil
import sys
import tempfile
import types
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from crosscast_migrate.binding.told_by_source import (
    kept_keywords,
    set_by_methods,
    sets_by_name,
    with_empty_default,
)
from crosscast_migrate.binding.told_by_wrappers import keywords_of_wrappers

LEFT_OUT = (
    "python",
    "src",
    "core",
    "api",
    "testing",
    "test",
    "tests",
    "internal",
    "base",
    "compiler",
)
"""Parts of names of modules that are not public, though they do not begin with `_`."""
MODULES = 6000
"""More modules than this are a mistake in the walk."""


class Index:
    """The public names of some packages."""

    def __init__(self, packages: list[str]) -> None:
        self.packages = packages
        self.modules: dict[str, dict[str, Any]] = {}
        self.objects: list[dict[str, Any]] = []
        self.unread: dict[str, str] = {}
        self._numbers: dict[int, int] = {}
        self._kept: list[Any] = []

    def read(self) -> None:
        """Walk through all modules; one that has several names is listed under the shortest."""
        waiting = [(name, importlib.import_module(name)) for name in self.packages]
        listed: dict[object, str] = {_identity(module): path for path, module in waiting}
        while waiting and len(self.modules) < MODULES:
            path, module = waiting.pop(0)
            names = self.modules[path] = {}
            for name, value in self._members(path, module):
                if not isinstance(value, types.ModuleType):
                    names[name] = self._number(value)
                    hidden = sys.modules.get(f"{_name_of(module)}.{name}")
                    if value is not None and hidden and self._is_of_packages(hidden):
                        waiting.append((f"{path}.{name}", hidden))
                elif not self._is_of_packages(value):
                    names[name] = None
                else:
                    inner, identity = f"{path}.{name}", _identity(value)
                    if identity not in listed and name in path.split("."):
                        names[name] = None  # `compat.v1.compat`: modules without end
                        continue
                    if identity not in listed:
                        listed[identity] = inner
                        waiting.append((inner, value))
                    names[name] = listed[identity]

    def _members(self, path: str, module: types.ModuleType) -> Iterator[tuple[str, Any]]:
        names: set[str] = set()
        for part in (module, type(module), *_replaced_by(module)):
            with contextlib.suppress(BaseException):
                names |= {name for name in dir(part) if _is_public(name)}
        places = vars(module).get("__path__", ())
        for place in pkgutil.iter_modules(places if isinstance(places, list) else ()):
            if _is_public(place.name) and not _is_test(place.name):
                names.add(place.name)
        for name in sorted(names):
            value: Any = None if name in LEFT_OUT else _MISSING
            if value is _MISSING:
                with contextlib.suppress(BaseException):
                    value = getattr(module, name, _MISSING)
            if value is _MISSING:
                try:
                    value = importlib.import_module(f"{path}.{name}")
                except BaseException as error:  # whatever a module does when it is imported
                    self.unread[f"{path}.{name}"] = type(error).__name__
                    continue
            yield name, value

    def _is_of_packages(self, module: types.ModuleType) -> bool:
        """Whether a module is of the packages; one that is loaded later may not say its name."""
        name = _name_of(module)
        return not name or name.partition(".")[0] in self.packages

    def _number(self, value: Any) -> int | None:
        """The number of a class or function; None for any other value."""
        with contextlib.suppress(BaseException):
            if not (inspect.isclass(value) or callable(value)):
                return None
        number = self._numbers.setdefault(id(value), len(self.objects))
        if number == len(self.objects):
            self._kept.append(value)
            self.objects.append({"call": None})
            with contextlib.suppress(BaseException):
                self.objects[number] = self._described(value)
        return number

    def _described(self, value: Any) -> dict[str, Any]:
        if not inspect.isclass(value):
            known = isinstance(value, types.FunctionType | types.BuiltinFunctionType)
            return {"call": signature(value) if known else None}
        members = {
            name: _of_method(value, name, held)
            for name, held in vars(value).items()
            if _is_public(name)
        }
        bases = [self._number(base) for base in value.__bases__ if base is not object]
        described = {
            "call": constructor(value),
            "members": members,
            "set": sorted(set_by_methods(value) - members.keys()),
            "bases": bases,
            "open": _is_open(value),
        }
        return {key: part for key, part in described.items() if part or key == "call"}

    def document(self) -> dict[str, Any]:
        """The index as plain data."""
        return {
            "releases": {name: _version(name) for name in self.packages},
            "modules": self.modules,
            "objects": self.objects,
            "unread": self.unread,
        }


_MISSING = object()


def _replaced_by(module: types.ModuleType) -> list[types.ModuleType]:
    """The modules of the same name that a module holds and stands for: `torch.backends.cudnn`."""
    with contextlib.suppress(BaseException):
        held = [each for each in vars(module).values() if isinstance(each, types.ModuleType)]
        return [each for each in held if _name_of(each) == _name_of(module) != ""]
    return []


def _is_public(name: str) -> bool:
    return not name.startswith("_")


def _name_of(module: types.ModuleType) -> str:
    with contextlib.suppress(BaseException):
        return str(module.__name__)
    return ""


def _identity(module: types.ModuleType) -> object:
    """What two names of one module have in common; proxies are created on every access."""
    return _name_of(module) or id(module)


def _is_test(name: str) -> bool:
    return name.endswith("_test") or name.startswith("test_")


def _version(package: str) -> str:
    module = importlib.import_module(package)
    return str(getattr(module, "__version__", "")) or importlib.metadata.version(package)


def _of_method(owner: type, name: str, held: Any) -> str | None:
    """The signature of a method as it is called on an instance; None for other attributes."""
    if isinstance(held, staticmethod):
        return signature(held.__func__)
    if isinstance(held, classmethod):
        return signature(held.__func__, without_first=True)
    if isinstance(held, types.FunctionType):
        return signature(held, without_first=True, owner=owner, name=name)
    return None


def signature(
    function: Any, *, without_first: bool = False, owner: type | None = None, name: str = ""
) -> str | None:
    """The parameters of a function as text; None if they are not known.

    Names in order, with `=` after one that has a default; `/` and `*` as in Python, `*args` and
    `**kwargs` where any are taken. Names that a function takes out of `**kwargs` before it refuses
    the rest stand at the end, in place of `**kwargs`.
    """
    try:
        known = inspect.signature(function)
    except (ValueError, TypeError, NameError):
        return None
    parameters = list(known.parameters.values())
    if without_first:
        if not parameters or parameters[0].kind is inspect.Parameter.KEYWORD_ONLY:
            return None
        if parameters[0].kind is not inspect.Parameter.VAR_POSITIONAL:
            parameters = parameters[1:]
    words = _words(parameters, with_empty_default(function))
    takes_any = bool(parameters) and parameters[-1].kind is inspect.Parameter.VAR_KEYWORD
    names = kept_keywords(function, owner, name) if takes_any else set()
    taken = keywords_of_wrappers(function)
    if taken is not None:  # they may give what is required
        words = [each if each[0] in "/*" else f"{each.rstrip('=')}=" for each in words]
        names = None if names is None else names | taken
    if names is None:
        return " ".join(words)
    if takes_any:
        words.pop()
    more = names - {word.rstrip("=") for word in words}
    if more and not any(word.startswith("*") for word in words):
        words.append("*")
    words += sorted(f"{each}=" for each in more)
    return " ".join(words)


_MARKS: dict[object, str] = {
    inspect.Parameter.VAR_POSITIONAL: "*",
    inspect.Parameter.VAR_KEYWORD: "**",
}


def _words(parameters: list[inspect.Parameter], optional: frozenset[str]) -> list[str]:
    words: list[str] = []
    before = None
    for parameter in parameters:
        kind = parameter.kind
        if before is inspect.Parameter.POSITIONAL_ONLY and kind is not before:
            words.append("/")
        if kind is inspect.Parameter.KEYWORD_ONLY and not any(w.startswith("*") for w in words):
            words.append("*")
        has_default = parameter.default is not inspect.Parameter.empty or parameter.name in optional
        words.append(_MARKS.get(kind, "") + parameter.name + ("=" if has_default else ""))
        before = kind
    if before is inspect.Parameter.POSITIONAL_ONLY:
        words.append("/")
    return words


def constructor(owner: type) -> str | None:
    """The parameters of a class that is called; None if they are not known."""
    if type(owner).__call__ is not type.__call__ and _own_call(type(owner)):
        return None
    for place in owner.__mro__:
        if place is object:
            break
        if "__init__" in vars(place):
            return signature(
                vars(place)["__init__"], without_first=True, owner=owner, name="__init__"
            )
        if "__new__" in vars(place):
            made = signature(_function(vars(place)["__new__"]), without_first=True)
            if made is None or "**" not in made:  # else `__init__` decides
                return made
    own = [vars(place).keys() & {"__init__", "__new__"} for place in owner.__mro__[:-1]]
    return "" if not any(own) and _has_source(owner) else None


def _has_source(owner: type) -> bool:
    with contextlib.suppress(OSError, TypeError):
        return bool(inspect.getsource(owner))
    return False


def _own_call(meta: type) -> bool:
    """Whether a metaclass may take other arguments than the class."""
    for place in meta.__mro__:
        if place is type:
            return False
        if "__call__" in vars(place):
            code = signature(vars(place)["__call__"], without_first=True)
            return code is None or "**" not in code
    return False


def _function(held: Any) -> Any:
    return getattr(held, "__func__", held)


def _is_open(owner: type) -> bool:
    """Whether instances have attributes of this class that cannot be listed."""
    ways = ("__getattr__", "__getattribute__", "__slots__")
    return (
        any(name in vars(owner) for name in ways) or type(owner) is not type or sets_by_name(owner)
    )


def main() -> None:
    """Write the index of the packages that the command line names."""
    warnings.filterwarnings("ignore")
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    file, packages = Path(sys.argv[1]).absolute(), sys.argv[2:]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # some modules write files when they are imported
        index = Index(packages)
        index.read()
        os.chdir("/")
    with lzma.open(file, "wt", encoding="utf-8", preset=9) as stream:
        json.dump(index.document(), stream, separators=(",", ":"))


if __name__ == "__main__":
    main()
