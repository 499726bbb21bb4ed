"""Counts contestants of `benchmarks/half_memory.py` in PyTorch: `run_half_memory.py JOBS`.

JOBS is a list in JSON of what `measure` takes; prints what was counted, job by job. In the place of
`plant`, one that leaves an operator in half that autocast on CUDA computes in float32.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))
torch_as_on_cuda = import_module("kept_bytes.torch_as_on_cuda")
torch_count = import_module("kept_bytes.torch_count")
torch_models = import_module("kept_bytes.torch_models")


def counted(job: dict[str, Any]) -> list[dict[str, Any]]:
    shapes = [torch_models.Shape(**shape) for shape in job.pop("shapes")]
    counts = torch_models.measure(**job | {"shapes": shapes, "folder": Path(job["folder"])})
    return [entry.as_dict() for entry in counts]


def planted() -> str:
    """What is said of an exponential that meets halves under autocast."""
    weight = torch.ones(4, 4, requires_grad=True)

    def loss() -> torch.Tensor:
        with torch_as_on_cuda.autocast(torch.bfloat16):
            return torch.exp(torch.mm(weight, weight)).sum()

    try:
        torch_count.count([weight], [], loss)
    except NotImplementedError as error:
        return str(error)
    return ""


if __name__ == "__main__":
    jobs = json.loads(sys.argv[1])
    print(json.dumps({"counts": [counted(job) for job in jobs], "planted": planted()}))
