"""Where `no_sync` of DistributedDataParallel counts: two processes print what is reduced.

For every order of forward pass, backward pass and block, the gradient of both ranks after one
micro-batch. Rank r feeds rows of r + 1, so the gradients of the ranks are 1 and 2; reduced, both
are 1.5.
"""

from __future__ import annotations

import json
import os
import socket
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import multiprocessing
from torch.nn.parallel import DistributedDataParallel

RANKS = 2


def gradient(forward: bool, backward: bool, by_attribute: bool = False) -> float:
    """Return the gradient of this rank: the flags say which pass no_sync encloses."""
    layer = torch.nn.Linear(1, 1, bias=False)
    model = DistributedDataParallel(layer)

    def block(held: bool) -> AbstractContextManager[Any]:
        if by_attribute:
            model.require_backward_grad_sync = not held
            return nullcontext()
        return model.no_sync() if held else nullcontext()

    rows = torch.full((1, 1), float(torch.distributed.get_rank() + 1))
    with block(forward):
        loss = model(rows).sum()
    with block(backward):
        loss.backward()
    assert layer.weight.grad is not None
    return float(layer.weight.grad.item())


def window(last_forward_held: bool) -> float:
    """Return the gradient after a held micro-batch and another one."""
    layer = torch.nn.Linear(1, 1, bias=False)
    model = DistributedDataParallel(layer)
    rows = torch.full((1, 1), float(torch.distributed.get_rank() + 1))
    with model.no_sync():
        model(rows).sum().backward()
    with model.no_sync() if last_forward_held else nullcontext():
        loss = model(rows).sum()
    loss.backward()
    assert layer.weight.grad is not None
    return float(layer.weight.grad.item())


def work(rank: int, port: int, answers: Any) -> None:
    """Measure on one rank."""
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", rank=rank, world_size=RANKS)
    answers[rank] = {
        "neither": gradient(False, False),
        "both": gradient(True, True),
        "forward": gradient(True, False),
        "backward": gradient(False, True),
        "attribute in forward": gradient(True, False, by_attribute=True),
        "attribute in backward": gradient(False, True, by_attribute=True),
        "window": window(False),
        "window, last forward held": window(True),
    }
    torch.distributed.destroy_process_group()


def main() -> None:
    """Print the answers of both ranks by case."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with multiprocessing.Manager() as manager:
        answers = manager.dict()
        # Nothing of PyTorch has run yet, so forks may begin where this process stands.
        multiprocessing.start_processes(work, (port, answers), nprocs=RANKS, start_method="fork")
        ranks = [answers[rank] for rank in range(RANKS)]
    print(json.dumps({case: [rank[case] for rank in ranks] for case in ranks[0]}))


if __name__ == "__main__":
    main()
