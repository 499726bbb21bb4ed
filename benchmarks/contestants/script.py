"""The emitted train.py: its own `main`, unmodified, held where it asks for the next window."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from contestants.lane import Lane
from contestants.task import Task

NEVER = str(10**9)


def train(task: Task, lane: Lane, form: str = "script") -> None:
    """Run `main` with its trace, its progress lines and its look at every loss."""
    script: Any = task.load(form)
    output = task.folder / f"run-{task.framework}-{form}"
    make_state = script.make_state

    def observed(run: Any) -> Any:
        windows = run.windows

        def held(state: Any) -> Iterator[Any]:
            for window in windows(state):
                lane.next_window()
                yield window

        run.windows = held
        state = make_state(run)
        lane.describe(
            losses=lambda: [json.loads(line)["loss"] for line in (output / "trace.jsonl").open()],
            weights=lambda: task.weights_of(state if task.framework == "jax" else state.model),
            computes_in=task.dense_type(state.model),
        )
        return state

    script.make_state = observed
    flags: dict[str, Path | str] = {"--train": task.train, "--eval": task.train}
    flags |= {"--weights": task.weights}
    flags |= {"--output": output, "--checkpoint-every": NEVER, "--windows": NEVER}
    flags |= {"--device": task.device, "--threads": "1"}
    script.main([str(part) for pair in flags.items() for part in pair])
