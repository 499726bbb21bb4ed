"""Settings that hold for every test."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import signal
from collections.abc import Generator, Iterator
from functools import cache
from pathlib import Path

import pytest
from typer.main import get_command

from frameworks import fork_server
from property_settings import register_profiles
from run_journal import pytest_addoption, pytest_configure

__all__ = ["pytest_addoption", "pytest_configure"]

ROOT = Path(__file__).parents[1]
register_profiles()

# Tests compare messages, whatever the locale of the machine is.
os.environ["CROSSCAST_LANG"] = "en"

# A shell starts what runs in its background with Ctrl-C ignored, and every program of a test would
# inherit that: those that are interrupted would never end.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# XLA compiles what a run before has compiled, unless it is kept; the tests run small scripts often.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(ROOT / "build" / "compiled-by-jax"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.1")
# Most of its time goes into machine code that runs for milliseconds. `make test-all` sets the
# variable to nothing, and has the code that users run.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")

# The bars of data sets start a thread that stays, and work is only forked where there is none.
with contextlib.suppress(ModuleNotFoundError):
    importlib.import_module("tqdm").tqdm.monitor_interval = 0

# As the command line does: trees of programs are many objects and hardly any cycles.
gc.set_threshold(50_000, 20, 50)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Search for no garbage among millions of objects that stay, now and during the tests."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config) -> None:
    """Let all processes that run tests fork from the same imported frameworks."""
    config.add_cleanup(fork_server.share().cleanup)


@pytest.fixture(scope="session", autouse=True)
def _commands_are_built_once() -> Iterator[None]:
    """`typer.testing` builds all commands for every call, which takes longer than most calls."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("typer.testing._get_command", cache(get_command))
        yield
