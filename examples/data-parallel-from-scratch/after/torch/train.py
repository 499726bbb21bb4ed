"""lenet-two-processes: training for PyTorch 2.4 or newer.

Written by crosscast 0.1.0 from recipe d884c11efb521bda.
Edit freely: nothing here imports crosscast.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import math
import os
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import torch
import torch.distributed.nn  # imported later, it would keep the process group
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file
from torch import nn

# isort: split
from lenet import build_model

MADE_FOR = "PyTorch 2.4 or newer"
RECIPE = "d884c11efb521bda"
SEED = 7
MICRO_BATCH_SIZE = 32
ACCUMULATION_STEPS = 1
PROCESSES = 2
GLOBAL_BATCH_SIZE = MICRO_BATCH_SIZE * ACCUMULATION_STEPS * PROCESSES
WINDOWS = 60
TRAIN_DATA = "data/train.npz"
EVAL_DATA = "data/eval.npz"
OUTPUT = "runs/lenet-two-processes-torch"

LEARNING_RATE = 0.1
WEIGHT_DECAY = 0.0

Batch = dict[str, np.ndarray]


def named_parameters(model: nn.Module) -> dict[str, nn.Parameter]:
    """Trainable parameters by name."""
    return {n: p for n, p in model.named_parameters() if p.requires_grad}


def exchange_layout(name: str, array: np.ndarray) -> np.ndarray:
    """Weights are exchanged in PyTorch's own layout."""
    return array


class Stop(Exception):
    """End of the run with a status, an exit code and a message for the user."""

    def __init__(self, status: str, exit_code: int, message: str) -> None:
        super().__init__(message)
        self.status, self.exit_code = status, exit_code


def parse_arguments(argv: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--train", type=Path, default=TRAIN_DATA, help="training rows, npz")
    add("--eval", type=Path, default=EVAL_DATA, help="evaluation rows, npz")
    add("--weights", type=Path, help="initial weights, safetensors")
    add("--output", type=Path, default=OUTPUT, help="folder for results")
    add("--resume", action="store_true", help="go on from the checkpoint")
    add("--windows", type=positive, default=WINDOWS, help="windows to train")
    add("--checkpoint-every", type=positive, default=6, help="in windows")
    add("--log-every", type=positive, default=10, help="in windows")
    add("--device", choices=("auto", "cpu", "gpu"), default="auto")
    add("--threads", type=threads, help="CPU threads")
    return parser.parse_args(argv)


def positive(text: str) -> int:
    """Parse a positive integer."""
    value = int(text)
    if not 0 < value < 2**31:
        raise ValueError(text)
    return value


def threads(text: str) -> int:
    """Parse a number of threads that a system may start."""
    if not 0 < int(text) <= 4096:
        raise ValueError(text)
    return int(text)


def read_rows(path: Path) -> Batch:
    """Read the arrays of an npz file: inputs by argument name, and `labels`."""
    try:
        with np.load(path, allow_pickle=False) as file:
            names = file.files
            rows = {name: np.asarray(file[name]) for name in names}
    except Exception as error:  # a damaged file raises any
        raise Stop("failed", 2, f"cannot read {path}: {error}") from error
    if len(rows) < len(names):
        raise Stop("failed", 2, f"{path}: two arrays have the same name")
    sizes = {len(array) if array.ndim else 0 for array in rows.values()}
    if "labels" not in rows or len(sizes) != 1 or 0 in sizes:
        needs = "`labels` and arrays of equal length, of one row at least"
        raise Stop("failed", 2, f"{path}: needs {needs}")
    if rows["labels"].ndim != 1:
        raise Stop("failed", 2, f"{path}: needs `labels` of one number a row")
    return {name: common_type(path, name, array) for name, array in rows.items()}


def common_type(path: Path, name: str, array: np.ndarray) -> np.ndarray:
    """Return an array as int64, float32 or bool, which all frameworks read alike."""
    types = {"b": np.bool_, "i": np.int64, "u": np.int64, "f": np.float32}
    dtype = types.get(array.dtype.kind)
    if dtype is None:
        raise Stop("failed", 2, f"{path}: `{name}` holds {array.dtype}, no numbers")
    if name == "labels":
        dtype = np.int64
    if array.dtype == dtype:
        return array
    with np.errstate(invalid="ignore", over="ignore"):
        cast = array.astype(dtype)
    lost = cast != array if dtype is np.int64 else np.isinf(cast) & np.isfinite(array)
    if lost.any():
        value = f"{array[lost][0]!s}, which cannot be {cast.dtype}"
        raise Stop("failed", 2, f"{path}: `{name}` holds {value}")
    return cast


@lru_cache(maxsize=2)
def epoch_order(n_rows: int, epoch: int) -> np.ndarray:
    """Order of the training rows in one epoch, the same on every framework."""
    return np.random.default_rng([SEED, epoch]).permutation(n_rows)


def batches(rows: Batch, start: int = 0) -> Iterator[list[Batch]]:
    """Yield windows of micro-batches for ever, from window number `start` on."""
    n_rows = len(rows["labels"])
    # A short last window counts, unless some process would get no row of it.
    per_epoch = n_rows // GLOBAL_BATCH_SIZE + (n_rows % GLOBAL_BATCH_SIZE >= PROCESSES)
    if not per_epoch:
        raise Stop("failed", 2, f"{n_rows} rows are too few for {PROCESSES} processes")
    for window in itertools.count(start):
        epoch, index = divmod(window, per_epoch)
        first = index * GLOBAL_BATCH_SIZE
        chosen = epoch_order(n_rows, epoch)[first : first + GLOBAL_BATCH_SIZE]
        chosen = chosen[process_rank() :: PROCESSES]
        cuts = range(MICRO_BATCH_SIZE, len(chosen), MICRO_BATCH_SIZE)
        micro = np.split(chosen, cuts)
        yield [{name: a[index] for name, a in rows.items()} for index in micro]


def micro_batch_loss(model: nn.Module, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    """Summed cross-entropy of one micro-batch, in float32."""
    inputs = {name: tensor for name, tensor in batch.items() if name != "labels"}
    logits = model(**inputs).float()
    labels = batch["labels"].long()
    return nn.functional.cross_entropy(logits, labels, reduction="sum")


LossFunction = Callable[[nn.Module, dict[str, torch.Tensor]], torch.Tensor]


@dataclass
class TrainState:
    """What a window reads and changes; a checkpoint holds all of it."""

    model: nn.Module
    optimizer: torch.optim.Optimizer
    device: torch.device
    windows: int = 0
    updates: int = 0


def learning_rate(position: int) -> float:
    """Rate of one optimizer step; `position` counts from 0."""
    return LEARNING_RATE


def make_optimizer(model: nn.Module) -> torch.optim.Optimizer:
    """SGD without weight decay."""
    return torch.optim.SGD(
        model.parameters(),
        lr=LEARNING_RATE,
        weight_decay=WEIGHT_DECAY,
        fused=True,
    )


def global_norm(
    parameters: Iterable[nn.Parameter], device: torch.device
) -> torch.Tensor:
    """L2 norm of all gradients together."""
    norms = [p.grad.norm() for p in parameters if p.grad is not None]
    if not norms:
        return torch.zeros((), device=device)
    return torch.linalg.vector_norm(torch.stack(norms))


def to_device(batch: dict[str, Any], device: torch.device) -> dict[str, torch.Tensor]:
    """Copy a micro-batch; from pinned memory the copy overlaps with computation."""
    tensors = {name: torch.as_tensor(array) for name, array in batch.items()}
    if device.type == "cuda":
        tensors = {n: t if t.is_cuda else t.pin_memory() for n, t in tensors.items()}
    return {name: t.to(device, non_blocking=True) for name, t in tensors.items()}


def train_window(
    state: TrainState, micro_batches: Sequence[dict[str, Any]], loss_fn: LossFunction
) -> dict[str, Any]:
    """Make one optimizer step from the window's micro-batches; return its trace row."""
    model, device = state.model, state.device
    lr = learning_rate(state.updates)
    for group in state.optimizer.param_groups:
        group["lr"] = lr
    rows = sum(len(batch["labels"]) for batch in micro_batches)
    n_micro = len(micro_batches)
    totals = torch.tensor([rows, n_micro], device=device)
    torch.distributed.all_reduce(totals)
    rows, n_micro = totals.tolist()
    window_loss = torch.zeros((), device=device)
    for index, batch in enumerate(micro_batches, start=1):
        last = index == len(micro_batches)  # the backward that reduces gradients
        with contextlib.nullcontext() if last else model.no_sync():
            batch = to_device(batch, device)
            loss = loss_fn(model, batch)
            loss = loss / (rows / PROCESSES)
            loss.backward()
            window_loss += loss.detach()
    # DistributedDataParallel took the mean of the gradients in the last backward.
    torch.distributed.all_reduce(window_loss)
    window_loss /= PROCESSES
    grad_norm = global_norm(model.parameters(), device)
    state.optimizer.step()
    state.updates += 1
    state.optimizer.zero_grad()
    window_loss, grad_norm = torch.stack([window_loss, grad_norm]).tolist()
    state.windows += 1
    return {
        "window": state.windows - 1,
        "n_micro": n_micro,
        "rows": rows,
        "loss": window_loss,
        "lr": lr,
        "grad_norm": grad_norm,
        "scale": 1.0,
        "skipped": False,
        "updates": state.updates,
    }


def model_arrays(state: TrainState) -> dict[str, np.ndarray]:
    """Parameters and buffers by name."""
    tensors = state.model.module.state_dict()
    return {name: tensor.cpu().numpy() for name, tensor in tensors.items()}


def restore_model(state: TrainState, arrays: dict[str, np.ndarray]) -> None:
    """Overwrite parameters and buffers."""
    tensors = {name: torch.tensor(array) for name, array in arrays.items()}
    state.model.module.load_state_dict(tensors)


def optimizer_arrays(state: TrainState) -> dict[str, np.ndarray]:
    """Moments as `slot/name`, in the canonical layout."""
    arrays = {}
    for name, parameter in named_parameters(state.model.module).items():
        slots = state.optimizer.state.get(parameter, {})
        for slot, value in slots.items():
            if slot != "step" and value is not None:
                array = value.detach().cpu().numpy()
                arrays[f"{slot}/{name}"] = exchange_layout(name, array)
    return arrays


def restore_optimizer(state: TrainState, arrays: dict[str, np.ndarray]) -> None:
    """Overwrite the moments."""
    parameters = named_parameters(state.model.module)
    for key, array in arrays.items():
        slot, _, name = key.partition("/")
        parameter = parameters[name]
        value = torch.tensor(exchange_layout(name, array), device=parameter.device)
        slots = state.optimizer.state[parameter]
        slots[slot] = value


def scaler_counters(state: TrainState) -> dict[str, Any]:
    """The loss scale and its counters."""
    return {}


def restore_scaler(state: TrainState, counters: dict[str, Any]) -> None:
    """Overwrite the loss scale and its counters."""


def save_arrays(path: Path, arrays: dict[str, np.ndarray], **metadata: Any) -> None:
    """Write a safetensors file whole or not at all."""
    arrays = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    folder = path.with_suffix(".saving")  # of what a killed save leaves, too
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    partial = folder / path.name
    save_file(arrays, partial, {key: json.dumps(metadata[key]) for key in metadata})
    partial.chmod(folder.stat().st_mode & 0o666)  # save_file lets only the user read
    os.replace(partial, path)
    folder.rmdir()


def save_checkpoint(path: Path, state: TrainState, n_rows: int) -> None:
    """Write weights, optimizer moments and every counter; enough to resume exactly."""
    arrays = {f"model/{name}": array for name, array in model_arrays(state).items()}
    arrays |= {f"optimizer/{name}": a for name, a in optimizer_arrays(state).items()}
    counters = {"windows": state.windows, "updates": state.updates, "rows": n_rows}
    counters |= scaler_counters(state)
    save_arrays(path, arrays, recipe=RECIPE, counters=counters)


def load_checkpoint(path: Path, state: TrainState, n_rows: int) -> None:
    """Continue from a checkpoint of the same recipe, with the same training rows."""
    arrays, metadata = read_arrays(path)
    if metadata.get("recipe") != json.dumps(RECIPE):
        raise Stop("failed", 2, f"{path} was written by another recipe")
    counters = read_counters(path, metadata.get("counters", ""), n_rows)
    weights = model_arrays(state)
    wanted = {f"model/{name}": array for name, array in weights.items()}
    check_arrays(path, arrays, wanted)
    unknown = sorted(arrays.keys() - wanted.keys())
    if unknown:
        raise Stop("failed", 2, f"{path}: {', '.join(unknown[:5])} fits no weight")
    state.windows, state.updates = counters["windows"], counters["updates"]
    restore_model(state, {name: arrays[f"model/{name}"] for name in weights})
    moments = {k[10:]: v for k, v in arrays.items() if k.startswith("optimizer/")}
    restore_optimizer(state, moments)
    restore_scaler(state, counters)


def read_counters(path: Path, text: str, n_rows: int) -> dict[str, Any]:
    """Read the counters of a checkpoint, with values that a run can have saved."""
    try:
        counters = json.loads(text)
        windows = counters.get("windows")
    except (AttributeError, RecursionError, ValueError):
        raise Stop("failed", 2, f"{path} is damaged: it has no counters") from None
    limits: dict[str, tuple[Any, Any]] = {
        "windows": (0, 2**31 - 1),
        "updates": (windows, windows),  # without loss scaling no window is skipped
        "rows": (1, 2**31 - 1),
    }
    counters.setdefault("rows", n_rows)
    for name, (least, most) in limits.items():
        value = counters.get(name)
        if type(value) is not int or not least <= value <= most:
            right = f"{name} must be a number from {least} to {most}"
            raise Stop("failed", 2, f"{path} is damaged: {right}")
    # With another number of rows the window number means another place in the data.
    if counters["rows"] != n_rows:
        there = f"{counters['rows']} training rows, not {n_rows}"
        raise Stop("failed", 2, f"{path} was written with {there}")
    return counters


def read_arrays(path: Path) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Read a safetensors file: its arrays by name, and its metadata."""
    try:
        with safe_open(path, framework="np") as file:
            arrays = {name: file.get_tensor(name) for name in sorted(file.keys())}
            return arrays, file.metadata() or {}
    except (AttributeError, OSError, TypeError, ValueError, SafetensorError) as error:
        raise Stop("failed", 2, f"cannot read {path}: {error}") from None


def load_weights(path: Path, state: TrainState) -> None:
    """Load weights by their canonical names; a new classifier may be missing."""
    arrays, _ = read_arrays(path)
    wanted = model_arrays(state)
    fresh = [n for n in wanted if n.startswith("classifier.") and n not in arrays]
    arrays |= {name: wanted[name] for name in fresh}
    for name in wanted.keys() & arrays.keys():
        array, dtype = arrays[name], wanted[name].dtype
        kinds = {array.dtype.kind, dtype.kind}
        with np.errstate(over="ignore"):
            cast = array.astype(dtype)
        # V is bfloat16, where NumPy knows it; integers must stay what they are.
        if kinds <= {"f", "V"} or (kinds <= {"i", "u"} and np.array_equal(cast, array)):
            arrays[name] = cast
    check_arrays(path, arrays, wanted)
    if fresh:
        print(f"new weights for {', '.join(fresh)}")
    restore_model(state, {name: arrays[name] for name in wanted})


def check_arrays(
    path: Path, arrays: dict[str, np.ndarray], wanted: dict[str, np.ndarray]
) -> None:
    """Refuse arrays of another name, shape or type, or that are not finite."""
    missing = [name for name in wanted if name not in arrays]
    if missing:
        raise Stop("failed", 2, f"{path} lacks {', '.join(missing[:5])}")
    for name, like in wanted.items():
        array = arrays[name]
        if (array.dtype, array.shape) != (like.dtype, like.shape):
            there = f"{array.dtype} {array.shape}, not {like.dtype} {like.shape}"
            raise Stop("failed", 2, f"{path}: {name} is {there}")
        if (np.isfinite(like) & ~np.isfinite(array)).any():  # a mask may hold -inf
            raise Stop("failed", 2, f"{path}: {name} is not finite")


@torch.no_grad()
def evaluate(state: TrainState, rows: Batch) -> dict[str, float]:
    """Mean loss and accuracy over all rows."""
    model, device, n_rows = state.model.module, state.device, len(rows["labels"])
    model.eval()
    totals = torch.zeros(2, dtype=torch.float64, device=device)  # loss, right answers
    for i in range(0, n_rows, MICRO_BATCH_SIZE):
        batch = {name: array[i : i + MICRO_BATCH_SIZE] for name, array in rows.items()}
        batch = to_device(batch, device)
        labels = batch.pop("labels").long()
        logits = model(**batch)
        totals[0] += nn.functional.cross_entropy(logits, labels, reduction="sum")
        totals[1] += (logits.argmax(-1) == labels).sum()
    model.train()
    loss, correct = totals.tolist()
    return {"loss": loss / n_rows, "accuracy": correct / n_rows}


def process_rank() -> int:
    """Number of this process among the data-parallel ones."""
    return int(os.environ.get("RANK", "0"))


def leave_processes(state: TrainState | None) -> None:
    """End the process group."""
    if state is not None:
        # As the last to hold the group, DistributedDataParallel would join the group's
        # threads without releasing the GIL, and they may need it to free a tensor.
        state.model = state.model.module
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


def select_device(args: argparse.Namespace) -> torch.device:
    """Choose the device and prepare the process for it."""
    if args.device == "gpu" and not torch.cuda.is_available():
        raise Stop("cannot_run", 3, "--device gpu, but PyTorch sees no CUDA device")
    if args.threads:
        torch.set_num_threads(args.threads)
    on_gpu = args.device != "cpu" and torch.cuda.is_available()
    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.allow_tf32 = False
    if os.environ.get("WORLD_SIZE") != str(PROCESSES):
        raise Stop("failed", 2, f"made for {PROCESSES} processes: start launch.sh")
    if on_gpu:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    torch.distributed.init_process_group("nccl" if on_gpu else "gloo")
    return torch.device("cuda" if on_gpu else "cpu")


def describe_device(device: torch.device) -> str:
    """Name of the device for status.json."""
    return torch.cuda.get_device_name() if device.type == "cuda" else "cpu"


def peak_memory() -> dict[str, int]:
    """Most bytes that tensors have held on this GPU so far; nothing on a CPU."""
    if not torch.cuda.is_initialized():
        return {}
    return {"peak_memory": torch.cuda.max_memory_allocated()}


def versions() -> dict[str, str]:
    """Versions that decide about the numbers."""
    return {"torch": torch.__version__, "numpy": np.__version__}


def make_state(device: torch.device) -> TrainState:
    """Build everything a run starts with."""
    torch.manual_seed(SEED)
    model = build_model().to(device).train()
    optimizer = make_optimizer(model)
    model = nn.parallel.DistributedDataParallel(model)
    return TrainState(model, optimizer, device)


def run(args: argparse.Namespace, state: TrainState) -> dict[str, float]:
    """Train, write trace and checkpoints, return the evaluation."""
    checkpoint = args.output / "checkpoint.safetensors"
    if checkpoint.exists() and not args.resume:
        message = f"{args.output} holds a run: pass --resume, or another --output"
        raise Stop("failed", 2, message)
    train_rows, eval_rows = read_rows(args.train), read_rows(args.eval)
    n_rows = len(train_rows["labels"])
    if args.weights:
        load_weights(args.weights, state)
    if args.resume:
        load_checkpoint(checkpoint, state, n_rows)
    started, first = time.perf_counter(), state.windows
    with open_trace(args.output / "trace.jsonl", state.windows) as trace:
        windows = batches(train_rows, state.windows)
        for micro_batches in itertools.islice(windows, max(0, args.windows - first)):
            # Dropout masks do not depend on when a run was resumed.
            torch.manual_seed(SEED + state.windows * PROCESSES + process_rank())
            row = train_window(state, micro_batches, micro_batch_loss)
            row |= peak_memory()
            print(json.dumps(finite(row)), file=trace, flush=True)
            last = state.windows == args.windows
            if last or state.windows % args.log_every == 0:
                speed = (state.windows - first) / (time.perf_counter() - started)
                report(row, args.windows, speed)
            stop_if_hopeless(state, row)
            due = last or state.windows % args.checkpoint_every == 0
            if due and not process_rank():
                save_checkpoint(checkpoint, state, n_rows)
    if not process_rank():
        save_arrays(args.output / "model.safetensors", model_arrays(state))
    return evaluate(state, eval_rows)


def open_trace(path: Path, windows: int) -> TextIO:
    """Open the trace for appending, with the rows of the first `windows` windows.

    Training does not need them: rows that are lost or damaged are told and left out.
    """
    if process_rank():
        return open(os.devnull, "w")
    kept: dict[int, bytes] = {}
    partial = path.with_suffix(".partial")
    try:
        for line in path.read_bytes().splitlines() if path.is_file() else ():
            try:
                number = json.loads(line.decode())["window"]
            except (KeyError, RecursionError, TypeError, ValueError):
                continue
            if type(number) is int and 0 <= number < windows:
                kept[number] = line + b"\n"
        partial.write_bytes(b"".join(kept[number] for number in sorted(kept)))
        os.replace(partial, path)
        trace = path.open("a")
    except OSError as error:
        raise Stop("failed", 2, f"cannot write {path}: {error}") from None
    if len(kept) < windows:
        lost = f"{windows - len(kept)} of the rows of {windows} windows"
        print(f"{path} lacks {lost}; going on without")
    return trace


def finite(row: dict[str, Any]) -> dict[str, Any]:
    """Replace inf and nan, which JSON does not know, by null."""
    bad = [k for k, v in row.items() if isinstance(v, float) and not math.isfinite(v)]
    return row | dict.fromkeys(bad)


def report(row: dict[str, Any], windows: int, speed: float) -> None:
    """Print one line of progress."""
    if process_rank():
        return
    left = (windows - row["window"] - 1) / speed
    print(
        f"window {row['window'] + 1}/{windows}  loss {row['loss']:.4f}  "
        f"lr {row['lr']:.3g}  grad norm {row['grad_norm']:.3g}  "
        f"scale {row['scale']:g}  {left:.0f} s left",
        flush=True,
    )


def stop_if_hopeless(state: TrainState, row: dict[str, Any]) -> None:
    """Stop a run that can only produce garbage from here on."""
    for name in ("loss", "grad_norm"):
        if not math.isfinite(row[name]):
            message = f"{name} is not finite in window {row['window']}"
            raise Stop("stopped", 1, message)


def check_version() -> None:
    """Refuse a version of the framework that this script was not written for."""
    version = torch.__version__
    found = tuple(map(int, re.findall(r"\d+", version)[:2]))
    # Development builds may call themselves 0.0.0.
    if any(found) and not (2, 4) <= found:
        raise Stop("cannot_run", 3, f"this script is for {MADE_FOR}, not for {version}")


def main(argv: list[str] | None = None) -> int:
    """Train as the command line says; write status.json; return the exit code."""
    args = parse_arguments(argv)
    try:
        args.output.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=args.output).close()  # files can be made there
    except (OSError, ValueError) as error:
        print(f"failed: cannot write to {args.output}: {error}", file=sys.stderr)
        return 2
    status: dict[str, Any] = {"status": "finished", "exit_code": 0, "message": ""}
    status |= {"windows": 0, "updates": 0, "eval": None}
    state: TrainState | None = None
    try:
        check_version()
        device = select_device(args)
        if not process_rank():  # the others may be late
            (args.output / "status.json").unlink(missing_ok=True)
        status |= {"device": describe_device(device), "versions": versions()}
        state = make_state(device)
        status["eval"] = finite(run(args, state))
    except Stop as stop:
        status |= {"status": stop.status, "exit_code": stop.exit_code}
        status["message"] = str(stop)
    except KeyboardInterrupt:
        status |= {"status": "stopped", "exit_code": 130, "message": "interrupted"}
    except Exception as error:
        status |= {"status": "failed", "exit_code": 1, "message": repr(error)}
        if not process_rank():
            write_status(args.output, status, state)
        raise  # a fault of the script or of the framework, not of its use
    rank = process_rank()
    leave_processes(state)
    if rank:
        return int(status["exit_code"])
    write_status(args.output, status, state)
    if status["exit_code"]:
        print(f"{status['status']}: {status['message']}", file=sys.stderr)
    else:
        print(f"finished: {json.dumps(status['eval'])}")
    return int(status["exit_code"])


def write_status(
    output: Path, status: dict[str, Any], state: TrainState | None
) -> None:
    """Write status.json, whole, with how far the run came."""
    if state is not None:
        status |= {"windows": state.windows, "updates": state.updates}
    partial = output / "status.partial"
    partial.write_text(json.dumps(status, indent=2) + "\n")
    os.replace(partial, output / "status.json")


if __name__ == "__main__":
    # A launcher whose other process died, or a queue, ends this one as Ctrl-C does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main())
