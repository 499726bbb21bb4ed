"""Data-parallel training from scratch: LeNet on several processes.

Every process holds a copy of the model. For each batch,

1. the rows are split: every process takes its share;
2. every process computes the gradients of its share;
3. an all-reduce adds the gradients of all processes, and the sum is divided by their number;
4. every process makes the same update.

The copies start equal and get equal updates, so they stay equal, and the course of training is
that of one process with the whole batch.

    python train.py --processes 2                       starts its processes itself
    torchrun --nproc-per-node 2 train.py                or is started as them
    python train.py --processes 2 --average by-hand     with an all-reduce made of send and recv
    python train.py --processes 2 --average ddp         what PyTorch has for all this
    python train.py --processes 1                       one process with the whole batch
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
import torch.distributed.nn  # the optimizer imports it; after init it would keep the group alive
from lenet import build_model, make_images
from torch import nn

SEED = 7
ROWS = 2048


def all_reduce_by_hand(tensor: torch.Tensor) -> None:
    """Replace the tensor, on every process, by the sum over all processes.

    Process 0 receives every other tensor, adds it, and sends the sum back. It is right, and slow
    where there are many processes: all that is sent passes through process 0. Libraries arrange
    the processes in a ring or a tree, so that each sends about twice the size of its tensor,
    however many there are.
    """
    rank, world = dist.get_rank(), dist.get_world_size()
    if rank == 0:
        received = torch.empty_like(tensor)
        for other in range(1, world):
            dist.recv(received, src=other)
            tensor += received
        for other in range(1, world):
            dist.send(tensor, dst=other)
    else:
        dist.send(tensor, dst=0)
        dist.recv(tensor, src=0)


def average_gradients(model: nn.Module, by_hand: bool) -> None:
    """Replace every gradient by its mean over the processes."""
    for parameter in model.parameters():
        if by_hand:
            all_reduce_by_hand(parameter.grad)
        else:
            dist.all_reduce(parameter.grad)
        parameter.grad /= dist.get_world_size()


def my_share(batch: np.ndarray, rank: int, world: int) -> np.ndarray:
    """Split a batch: process r of W takes every W-th row, beginning with its r-th."""
    return batch[rank::world]


def train(options: argparse.Namespace) -> None:
    """Train in this process, which is one of several and has joined their group."""
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.set_num_threads(1)
    torch.set_default_dtype(getattr(torch, options.dtype))
    rows = make_images(ROWS, seed=1)
    images = torch.tensor(rows["images"], dtype=torch.get_default_dtype())
    labels = torch.tensor(rows["labels"])

    # The same seed gives every process the same weights. Where they come from elsewhere, process
    # 0 sends its own to the others before the first batch.
    torch.manual_seed(SEED)
    model = build_model()
    for parameter in model.parameters():
        dist.broadcast(parameter.data, src=0)
    # DistributedDataParallel averages the gradients during backward().
    trained = nn.parallel.DistributedDataParallel(model) if options.average == "ddp" else model

    optimizer = torch.optim.SGD(trained.parameters(), lr=options.learning_rate)

    losses = []
    for step in range(options.steps):
        # All processes draw the same order, so their shares do not overlap.
        epoch, place = divmod(step * options.batch_size, ROWS)
        order = np.random.default_rng([SEED, epoch]).permutation(ROWS)
        batch = order[place : place + options.batch_size]
        share = torch.tensor(my_share(batch, rank, world))

        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(trained(images[share]), labels[share])
        loss.backward()
        if options.average != "ddp":
            average_gradients(model, by_hand=options.average == "by-hand")
        optimizer.step()

        # The loss of the batch, for the report only: the mean of the shares' losses.
        mean_loss = loss.detach().clone()
        dist.all_reduce(mean_loss)
        losses.append(mean_loss.item() / world)
        if rank == 0 and step % options.log_every == 0:
            print(f"step {step:3}  loss {losses[-1]:.6f}", flush=True)

    apart = distance_between_copies(model)
    if rank == 0:
        print(f"step {options.steps - 1:3}  loss {losses[-1]:.6f}  copies differ by {apart:g}")
        if options.output:
            options.output.mkdir(parents=True, exist_ok=True)
            result = {"losses": losses, "copies_differ_by": apart, "processes": world}
            (options.output / "result.json").write_text(json.dumps(result) + "\n")
            weights = {name: p.detach().numpy() for name, p in model.named_parameters()}
            np.savez(options.output / "weights.npz", **weights)


def distance_between_copies(model: nn.Module) -> float:
    """Return the largest difference of a weight between this process's copy and process 0's."""
    weights = nn.utils.parameters_to_vector(model.parameters()).detach()
    first = weights.clone()
    dist.broadcast(first, src=0)
    apart = (weights - first).abs().max()
    dist.all_reduce(apart, op=dist.ReduceOp.MAX)
    return apart.item()


def one_process(rank: int, options: argparse.Namespace, store: str) -> None:
    """Join the group as process number `rank`, train, and leave."""
    if store:
        dist.init_process_group("gloo", f"file://{store}", rank=rank, world_size=options.processes)
    else:  # torchrun has put all that into the environment
        dist.init_process_group("gloo")
    try:
        train(options)
    finally:
        dist.destroy_process_group()


def write_data(folder: Path) -> None:
    """Write train.npz and eval.npz for the script that crosscast compiles from recipe.yaml."""
    folder.mkdir(parents=True, exist_ok=True)
    np.savez(folder / "train.npz", **make_images(ROWS, seed=1))
    np.savez(folder / "eval.npz", **make_images(512, seed=2))


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--processes", type=int, default=2, help="processes to start; torchrun has its own flag")
    add("--average", choices=("all-reduce", "by-hand", "ddp"), default="all-reduce")
    add("--steps", type=int, default=60)
    add("--batch-size", type=int, default=64, help="rows of one step, over all processes")
    add("--learning-rate", type=float, default=0.1)
    add("--dtype", choices=("float32", "float64"), default="float32")
    add("--log-every", type=int, default=10, help="in steps")
    add("--output", type=Path, help="folder for result.json and weights.npz")
    add("--write-data", type=Path, metavar="FOLDER", help="only write train.npz and eval.npz")
    options = parser.parse_args()
    options.processes = int(os.environ.get("WORLD_SIZE", options.processes))
    if min(options.processes, options.steps, options.batch_size, options.log_every) < 1:
        parser.error("processes, steps, rows and the interval of the log are at least 1")
    # A mean of the shares' means is the mean of the batch only where the shares are equal.
    if options.batch_size % options.processes:
        parser.error(f"{options.batch_size} rows are no equal shares of {options.processes}")
    if ROWS % options.batch_size:
        parser.error(f"{ROWS} training rows are no whole batches of {options.batch_size}")
    return options


def main() -> None:
    """Start the processes, or be one of those that torchrun started."""
    options = parse_arguments()
    if options.write_data:
        write_data(options.write_data)
    elif "RANK" in os.environ:
        one_process(int(os.environ["RANK"]), options, store="")
    else:
        with tempfile.TemporaryDirectory() as folder:
            store = str(Path(folder) / "store")  # where the processes find each other
            torch.multiprocessing.spawn(one_process, (options, store), options.processes)


if __name__ == "__main__":
    main()
