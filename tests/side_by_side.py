"""Two programs run as a migration's proof runs them; equal runs are made once."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from crosscast.messages.source import Source
from crosscast_migrate.in_place import migrate_in_place
from crosscast_migrate.registry import codemods_to
from crosscast_parity.side_by_side.places import lines_to_watch, places_of
from crosscast_parity.side_by_side.proof import Execution, prove
from crosscast_parity.side_by_side.running import Limits, Program, Ran
from crosscast_parity.side_by_side.running import run as run_once


def migrated(text: str) -> str:
    """Return what a script becomes with torch.amp."""
    return migrate_in_place([Source("train.py", text)], codemods_to("torch.amp")).texts["train.py"]


class Bench:
    """Runs programs in one folder, each text once for each way of running it."""

    def __init__(
        self, folder: Path, framework: str, limits: Limits, python: str = sys.executable
    ) -> None:
        self._folder, self._framework, self._limits = folder, framework, limits
        self._python = python
        self._made: dict[Any, Ran] = {}
        self.names: list[str] = []

    def program(self, text: str, lines: dict[str, tuple[int, ...]], **more: Any) -> Program:
        """Return a program whose script has a text."""
        return Program(
            framework=self._framework,
            python=self._python,
            folder=self._folder,
            script="train.py",
            arguments=(),
            texts={"train.py": text.encode()},
            lines=lines,
            **more,
        )

    def prove(
        self, before: str, after: str, old: dict[str, str] | None = None, old_python: str = ""
    ) -> Execution:
        """Return what comes of two texts.

        Args:
            before: the original.
            after: what became of it.
            old: more of the environment of the first.
            old_python: its interpreter, if it is another one.
        """
        places = places_of({"train.py": before.encode()}, {"train.py": after.encode()})
        self.names = []
        original = self.program(before, lines_to_watch(places, after=False), environment=old or {})
        return prove(
            replace(original, python=old_python or self._python),
            self.program(after, lines_to_watch(places, after=True)),
            self._limits,
            on_run=self.names.append,
            run=self.run,
        )

    def run(self, program: Program, limits: Limits, **how: Any) -> Ran:
        """Run a program, or return what the same run recorded before."""
        text = program.texts["train.py"]
        where = (program.python, program.stand_ins, *program.environment.items())
        key = (text, where, limits, tuple(how.items()))
        if key not in self._made:
            # All lines are watched, so that one run serves several pairs.
            every = tuple(range(1, text.count(b"\n") + 2))
            self._made[key] = run_once(replace(program, lines={"train.py": every}), limits, **how)
        return self._made[key]
