"""Reads many data files with an emitted train.py: `run_rows.py FOLDER FRAMEWORK PATHS`.

PATHS is a JSON list. Prints what became of each file: `loss`, the loss of the first micro-batch,
and `eval`, loss and accuracy over all rows, as hexadecimal numbers; or `code` and `message` of the
refusal; or `trouble`, an exception that is none, or a warning of the reading.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from crosscast_parity.inside.emitted import batches, offered


def first_loss(train: Any, framework: str, state: Any) -> Callable[[dict[str, Any]], float]:
    """Return a function that computes the loss of a micro-batch as the script does."""
    if framework == "torch":
        place = state.device
        return lambda rows: float(train.micro_batch_loss(state.model, train.to_device(rows, place)))
    if framework == "paddle":
        return lambda rows: float(train.micro_batch_loss(state.model, train.to_device(rows)))
    compiled = train.tf.function(lambda rows: train.micro_batch_loss(state.model, rows))
    return lambda rows: float(compiled(rows))


def outcome(train: Any, state: Any, loss: Callable[[dict[str, Any]], float], path: Path) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            rows = offered(train, "read_rows")(path, train.SETTINGS)
        numbers = offered(train, "evaluated_rows")(len(rows["labels"]), train.SETTINGS)
        result = train.evaluate(state, [{n: a[i] for n, a in rows.items()} for i in numbers])
        first = next(batches(offered(train, "row_numbers"), rows, train.SETTINGS))[0]
        return {"loss": loss(first).hex(), "eval": [value.hex() for value in result.values()]}
    except offered(train, "Stop") as stop:
        return {"code": stop.exit_code, "message": str(stop)}
    except Exception as error:
        return {"trouble": f"{type(error).__name__}: {str(error)[:300]}"}


def measure(train: Any, folder: Path, framework: str, paths: list[str]) -> list[Any]:
    found: list[Any] = []

    def read_all(run: Any) -> dict[str, float]:
        state = train.make_state(run)
        if (folder / "weights.safetensors").exists():
            load = offered(train, "load_weights")
            load(folder / "weights.safetensors", state, train.SETTINGS)
        loss = first_loss(train, framework, state)
        found.extend(outcome(train, state, loss, Path(path)) for path in paths)
        return {}

    train.train = read_all
    code = train.main(["--output", str(folder / "out"), "--device", "cpu", "--threads", "1"])
    assert code == 0
    return found


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    sys.path.insert(0, str(folder))
    import train  # type: ignore[import-not-found]

    print(
        json.dumps(measure(train, folder, sys.argv[2], json.loads(Path(sys.argv[3]).read_text())))
    )
