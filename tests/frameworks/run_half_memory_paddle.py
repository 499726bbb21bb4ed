"""What Paddle keeps in float32, by a program and by autograd: `run_half_memory_paddle.py JOB`.

JOB is in JSON what `measure` of `benchmarks/kept_bytes/paddle_models.py` takes. Prints the bytes
that it counts in a program, and those that hooks on saved tensors see in the same micro-batch.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import paddle

from crosscast_parity.inside.script import loaded

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


def by_autograd(folder: Path, rows: int, tokens: int) -> int:
    """Run a micro-batch; return the bytes of all buffers that are kept."""
    with loaded(folder / "train.py") as script:
        model = script.build_model()
        model.train()
        names = ("input_ids", "attention_mask", "token_type_ids")
        batch = {name: paddle.ones([rows, tokens], "int64") for name in names}
        batch["labels"] = paddle.zeros([rows], "int64")
        there = {tensor.data_ptr() for tensor in (*model.parameters(), *batch.values())}
        kept: list[Any] = []

        def pack(tensor: Any) -> Any:
            kept.append(tensor)
            return tensor

        with paddle.autograd.saved_tensors_hooks(pack, lambda tensor: tensor):
            loss = script.micro_batch_loss(model, batch)
        sizes: dict[int, int] = {}
        for tensor in kept:
            size = tensor.size * tensor.element_size()
            sizes[tensor.data_ptr()] = max(size, sizes.get(tensor.data_ptr(), 0))
        del loss
        return sum(size for pointer, size in sizes.items() if pointer not in there)


def by_program(job: dict[str, Any]) -> int:
    sys.path.insert(0, str(BENCHMARKS))
    shape = import_module("kept_bytes").Shape(**job.pop("shape"))
    models = import_module("kept_bytes.paddle_models")
    (counts,) = models.measure(**job | {"shapes": [shape], "folder": Path(job["folder"])})
    return int(counts.activations)


if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    sizes = asked["shape"]
    autograd = by_autograd(Path(asked["folder"]), sizes["rows"], sizes["tokens"])
    print(json.dumps({"autograd": autograd, "program": by_program(asked)}))
