"""Run tests with a condition removed: a pytest plugin that forks instead of running all tests."""

from __future__ import annotations

import functools
import gc
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import forks
import pytest
from _pytest.runner import runtestprotocol
from switch import SWITCH


@dataclass(frozen=True, slots=True)
class TestRecord:
    """What a test does without a removed condition."""

    seconds: float
    differed: list[int]
    """The conditions whose removal changes something in this test."""


@dataclass(frozen=True, slots=True)
class FileRecord:
    """What the tests of a file do; those that fail are left out."""

    tests: dict[str, TestRecord]
    reached: list[int]
    failed: list[str]


class Runner:
    """Takes the place of pytest's loop over the collected tests."""

    def __init__(self, loop: Callable[[Runner], None], jobs: int) -> None:
        self._loop = loop
        self._jobs = jobs
        self.items: dict[str, pytest.Item] = {}
        self._caches: list[Any] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run what was given instead of every test."""
        self.items = {item.nodeid: item for item in session.items}
        self._caches = _caches(session.config.rootpath)
        gc.collect()
        gc.freeze()  # forked processes share what is not touched
        self._loop(self)
        return True

    def record(self, seconds: float) -> Iterator[tuple[str, FileRecord | None]]:
        """Yield every test file with what its tests do; None if its process ended early."""
        files: dict[str, list[pytest.Item]] = {}
        for name, item in self.items.items():
            files.setdefault(name.partition("::")[0], []).append(item)
        works = (
            forks.Work(name, functools.partial(self._record, items), seconds)
            for name, items in files.items()
        )
        for ended in forks.run(works, self._jobs):
            plain = ended.result
            if plain is None:
                yield ended.name, None
                continue
            tests = {name: TestRecord(*values) for name, values in plain["tests"].items()}
            yield ended.name, FileRecord(tests, plain["reached"], plain["failed"])

    def notice(self, trials: Iterator[tuple[int, Sequence[str], float]]) -> Iterator[forks.Ended]:
        """Yield, by the number of a condition, the first of some tests that fails without it.

        Args:
            trials: number of a condition, names of tests, and the CPU seconds that they may take.
        """
        works = (
            forks.Work(
                str(number),
                functools.partial(self._notice, number, [self.items[name] for name in names]),
                seconds,
            )
            for number, names, seconds in trials
        )
        yield from forks.run(works, self._jobs)

    def _record(self, items: list[pytest.Item]) -> dict[str, Any]:
        tests: dict[str, tuple[float, list[int]]] = {}
        reached: set[int] = set()
        failed: list[str] = []
        for item, following in _pairs(items):
            # Or only the first of two tests would reach what is computed for both.
            for cache in self._caches:
                cache.cache_clear()
            SWITCH.reached.clear()
            SWITCH.differed.clear()
            SWITCH.recording = True
            started = time.process_time()
            passed = _passes(item, following)
            seconds = time.process_time() - started
            SWITCH.recording = False
            if passed:
                tests[item.nodeid] = (round(seconds, 4), sorted(SWITCH.differed))
                reached |= SWITCH.reached
            else:
                failed.append(item.nodeid)
        return {"tests": tests, "reached": sorted(reached), "failed": failed}

    def _notice(self, number: int, items: list[pytest.Item]) -> str:
        for cache in self._caches:
            cache.cache_clear()
        SWITCH.removed[number] = 1
        for item, following in _pairs(items):
            if not _passes(item, following):
                return item.nodeid
        return ""


def _pairs(items: Sequence[pytest.Item]) -> Iterator[tuple[pytest.Item, pytest.Item | None]]:
    yield from zip(items, [*items[1:], None], strict=True)


def _passes(item: pytest.Item, following: pytest.Item | None) -> bool:
    reports = runtestprotocol(item, log=False, nextitem=following)
    return not any(report.failed for report in reports)


def _caches(root: Path) -> list[Any]:
    """Return the cached functions of the package and of its tests."""
    modules = {name: getattr(module, "__file__", None) for name, module in sys.modules.items()}
    return [
        thing
        for thing in gc.get_objects()
        if isinstance(thing, functools._lru_cache_wrapper)
        and (modules.get(thing.__module__) or "").startswith(f"{root}/")
    ]
