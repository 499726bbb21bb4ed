"""Modules that are not here, as far as nothing of them is needed: every name is `Nothing`."""

import importlib.abc
import importlib.machinery
import sys
import types


class _Names(type):
    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing


class Nothing(metaclass=_Names):
    """A class, function, decorator or object that does nothing."""

    def __new__(cls, *given, **more):
        alone = len(given) == 1 and not more
        decorates = cls is Nothing and alone and isinstance(given[0], (type, types.FunctionType))
        return given[0] if decorates else super().__new__(cls)

    def __init__(self, *given, **more):
        pass

    def __call__(self, *given, **more):
        return Nothing(*given, **more)

    def __getattribute__(self, name):
        try:
            return super().__getattribute__(name)
        except AttributeError:
            if name.startswith("__"):
                raise
            return Nothing()

    def __iter__(self):
        return iter(())

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        return False


class _Module(types.ModuleType):
    __path__ = ()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, names):
        self.names = names

    def find_spec(self, name, path=None, target=None):
        absent = any(name == known or name.startswith(f"{known}.") for known in self.names)
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if absent else None

    def create_module(self, spec):
        return _Module(spec.name)

    def exec_module(self, module):
        pass


def install(names):
    """Have modules of these names, and all below them, found."""
    sys.meta_path.insert(0, _Finder(names))
