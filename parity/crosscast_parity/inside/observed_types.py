"""Record the types of operations: of the first micro-batch, and of the evaluations of a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from crosscast_parity.inside import observed_files as files
from crosscast_parity.inside.manifest import Recorder, Tap


class ObservedTypes:
    """Starts and stops a tap, and writes the manifest; without a tap it does nothing."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._forward, self._backward, self._evaluation = Recorder(), Recorder(), Recorder()
        self._tap: Tap | None = None
        self._model: Any = None
        self._evaluating = self._trained = False

    def begin(self, tap: Tap | None) -> None:
        """Use this tap from now on."""
        self._tap = tap

    def enter(self, model: Any) -> None:
        """A micro-batch begins; only the first one is recorded."""
        if self._tap is not None and self._forward.used and not self._evaluating:
            self._tap.stop()
        idle = self._evaluating or self._trained or self._forward.used
        if self._tap is not None and not idle:
            self._model = model
            self._tap.start(self._forward, model)

    def leave(self) -> None:
        """A micro-batch has its loss, maybe in an evaluation; what follows is its backward pass.

        Of that, functions are seen which a script gives a gradient of its own.
        """
        if self._tap is None or self._evaluating:
            return
        self._tap.stop()
        if self._forward.used and not self._backward.used and not self._trained:
            self._tap.start(self._backward, self._model)

    def trained(self) -> None:
        """A window has ended."""
        if self._tap is not None and not self._trained:
            self._trained, self._model = True, None
            self._tap.stop()
            self._write()

    def evaluation(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return a script's function `evaluate`, of which all calls are recorded."""

        def evaluate(*args: Any, **kwargs: Any) -> Any:
            if self._tap is None:
                return original(*args, **kwargs)
            self._evaluating = True
            self._tap.start(self._evaluation, getattr(args[0], "model", None) if args else None)
            try:
                return original(*args, **kwargs)
            finally:
                self._evaluating = False
                self.leave()
                self._write()

        return evaluate

    def end(self) -> None:
        """Take everything back."""
        if self._tap is not None:
            self._tap.stop()
            self._tap = None

    def _write(self) -> None:
        if self._forward.used or self._evaluation.used:
            facts = self._forward.facts() | self._forward.sequence()
            if self._backward.used:
                facts["backward"] = self._backward.facts()["operations"]
            if self._evaluation.used:
                facts["evaluation"] = self._evaluation.facts()["operations"]
            files.write_manifest(self._folder, facts)
