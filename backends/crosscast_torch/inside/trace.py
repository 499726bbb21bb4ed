"""What forward and backward of a user's model allocate, found without computing anything.

`python -m crosscast_torch.inside.trace SCRIPT JSON`, in a process of its own: SCRIPT is the
emitted train.py, whose model is the user's. Tensors are fake: they have shapes and storages of a
size, and no numbers. Every storage counts from the operation that creates it until it is released.
Two batch sizes make two sequences of totals, operation by operation; each pair is a line in the
rows of a micro-batch. A third size must lie on the lines.
"""

from __future__ import annotations

import gc
import weakref
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from crosscast_parity.inside.answer import answer
from crosscast_parity.inside.emitted import prepared
from crosscast_parity.inside.script import load_script
from crosscast_parity.inside.user_code import search_in

SIZES = (2, 4)
"""Rows of the two traces; not 1, for which kernels have ways of their own."""
CHECKED = 8
"""Rows of the trace that must agree with what the two others say."""
TOLERANCE = 0.001


class Refused(Exception):
    """The model cannot be traced; the text says why."""


class Watch(TorchDispatchMode):  # type: ignore[misc]
    """Counts the bytes of storages that are alive, after every operation."""

    def __init__(self) -> None:
        super().__init__()
        self.total = self.gradients = 0
        self.phase = "forward"
        self.points: list[tuple[str, int, int]] = []
        self.known: dict[int, Any] = {}
        self.exempt: dict[int, Any] = {}

    def leave_out(self, tensor: torch.Tensor) -> None:
        """Never count the storage of a tensor that is there already.

        It is held: if the model replaces a buffer, another storage could get its address.
        """
        for alias in (tensor, tensor.detach()):
            storage = alias.untyped_storage()
            self.exempt[storage._cdata] = storage

    def watch(self, tensor: torch.Tensor) -> None:
        """Follow the storage of a tensor until it is gone."""
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key in self.known or key in self.exempt:
            return
        size = storage.nbytes()
        self.total += size
        self.known[key] = weakref.finalize(storage, self._gone, key, size)

    def _gone(self, key: int, size: int) -> None:
        self.total -= size
        self.known.pop(key, None)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(out):
            if isinstance(leaf, torch.Tensor):
                self.watch(leaf)
        self.points.append((self.phase, self.total, self.gradients))
        return out


def batch_of(inputs: dict[str, Any], rows: int) -> dict[str, torch.Tensor]:
    """Return a micro-batch of fake tensors."""
    return {
        name: torch.zeros((rows, *description["shape"]), dtype=getattr(torch, description["dtype"]))
        for name, description in inputs.items()
    }


def stay(to: Any) -> Any:
    """Return `Module.to` that does nothing about a model that is there already.

    PyTorch cannot swap fake parameters for others.
    """

    def moved(module: Any, *args: Any, **settings: Any) -> Any:
        to_cpu = args == (torch.device("cpu"),) and not settings
        return module if to_cpu else to(module, *args, **settings)

    return moved


def trace(script: Any, options: dict[str, Any], rows: int) -> dict[str, Any]:
    """Return the totals of two micro-batches of so many rows."""
    with FakeTensorMode(allow_non_fake_inputs=True):
        state = prepared(script, torch.device("cpu"))
        model = state.model
        watch = Watch()
        for tensor in (*model.parameters(), *model.buffers()):
            for weights in (tensor, getattr(tensor, "master", tensor)):
                watch.leave_out(weights)  # a view of a copy.deepcopy has another storage
        outputs = count_outputs(model)

        def arrived(parameter: torch.Tensor) -> None:
            if parameter not in held:
                held.add(parameter)
                assert parameter.grad is not None
                watch.gradients += parameter.grad.nbytes

        held: set[torch.Tensor] = set()
        trained = [p for p in model.parameters() if p.requires_grad]
        for parameter in trained:
            parameter.register_post_accumulate_grad_hook(arrived)
        parts = []
        for number in range(2):
            gc.collect()  # when Python collects by itself depends on chance
            batch = batch_of(options["inputs"], rows)
            watch.points, watch.phase = [], "forward"
            with watch:
                half = options["autocast"]
                dtype = getattr(torch, half) if half else None
                with torch.autocast("cpu", dtype=dtype) if half else nullcontext():
                    loss = script.micro_batch_loss(model, batch)
                loss = loss / rows
                end = len(watch.points)
                watch.phase = "backward"
                loss.backward()
            parts.append(watch.points)
            if not number:
                forward_end = watch.points[end - 1][1]
        return {
            "parts": parts,
            "forward_end": forward_end,
            "outputs": outputs[0] // 2,
            "weights": [
                (p.numel(), str(p.dtype).removeprefix("torch."), p.shape[0] if p.dim() > 1 else 0)
                for p in trained
            ],
            "frozen": sum(p.nbytes for p in model.parameters() if not p.requires_grad)
            + sum(b.nbytes for b in model.buffers()),
        }


def count_outputs(model: torch.nn.Module) -> list[int]:
    """Return a place that gathers the bytes that modules without children put out."""
    total = [0]

    def put_out(module: Any, args: Any, out: Any) -> None:
        total[0] += sum(x.nbytes for x in tree_leaves(out) if isinstance(x, torch.Tensor))

    for module in model.modules():
        if not list(module.children()):
            module.register_forward_hook(put_out)
    return total


def line(few: tuple[str, int, int], many: tuple[str, int, int]) -> tuple[str, int, int, int]:
    """Return (phase, gradients, fixed, per row) of the memory held at one operation."""
    per_row = (many[1] - few[1]) // (SIZES[1] - SIZES[0])
    fixed = few[1] - SIZES[0] * per_row - few[2]
    return few[0], few[2], fixed, per_row


def highest(lines: list[tuple[str, int, int, int]]) -> list[tuple[str, int, int, int]]:
    """Return the lines that are above all others for some number of rows."""
    best: list[tuple[str, int, int, int]] = []
    for line in sorted(lines, key=lambda line: (-line[3], -(line[1] + line[2]))):
        if not best or line[1] + line[2] > max(other[1] + other[2] for other in best):
            best.append(line)
    return best


def lines_of(
    few: list[tuple[str, int, int]], many: list[tuple[str, int, int]]
) -> list[tuple[str, int, int, int]]:
    """Return the lines of a micro-batch; both traces must have made the same operations."""
    if [line[0] for line in few] != [line[0] for line in many]:
        message = (
            f"it does {len(few)} operations for {SIZES[0]} rows and {len(many)} for {SIZES[1]}"
        )
        raise Refused(message)
    return [line(a, b) for a, b in zip(few, many, strict=True)]


def check_lines(lines: list[tuple[str, int, int, int]], points: list[tuple[str, int, int]]) -> None:
    """Refuse lines whose highest point at `CHECKED` rows is not that of the trace."""
    expected = max(held + fixed + CHECKED * per_row for _, held, fixed, per_row in lines)
    seen = max(total for _, total, _ in points)
    if abs(expected - seen) > TOLERANCE * seen:
        message = (
            "what it keeps does not grow linearly with the rows of a micro-batch: "
            f"extrapolated from {SIZES[0]} and {SIZES[1]} rows, {CHECKED} rows keep {expected} "
            f"bytes, but a trace of them keeps {seen}"
        )
        raise Refused(message)


def find(path: Path, options: dict[str, Any]) -> dict[str, Any]:
    """Return the results of a trace of the model."""
    torch.nn.Module.to = stay(torch.nn.Module.to)
    search_in(options["folder"])
    script = load_script(path)
    gc.disable()
    few, many = (trace(script, options, rows) for rows in SIZES)
    lines = [lines_of(*pair) for pair in zip(few["parts"], many["parts"], strict=True)]
    third = trace(script, options, CHECKED)
    for own, points in zip(lines, third["parts"], strict=True):
        check_lines(own, points)
    end = line(("forward", few["forward_end"], 0), ("forward", many["forward_end"], 0))
    return {
        "weights": few["weights"],
        "frozen_bytes": few["frozen"],
        "first": highest(lines[0]),
        "later": highest(lines[1]),
        "forward_end": end,
        "outputs_per_row": (many["outputs"] - few["outputs"]) // (SIZES[1] - SIZES[0]),
    }


def kind_of(error: BaseException) -> str:
    """Return the kind of the error that stopped a trace."""
    if isinstance(error, Refused):
        return "refused"
    return "fake" if type(error).__module__.startswith("torch._subclasses") else "raised"


if __name__ == "__main__":
    answer(find, kind_of)
