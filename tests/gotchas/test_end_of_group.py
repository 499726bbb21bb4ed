"""PyTorch: who must end first, a group of processes or the model that is wrapped for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from frameworks.subprocesses import start
from tiers import exhaustive

PROGRAM = """
import faulthandler
import sys

import torch
import torch.distributed
import torch.distributed.nn
from torch.nn.parallel import DistributedDataParallel

faulthandler.dump_traceback_later(20, exit=True)
sys.setswitchinterval(1000)  # no thread gets the GIL before the main thread lets go of it
for i in range(200):
    store = f"file://{sys.argv[2]}/{i}"
    torch.distributed.init_process_group("gloo", store, rank=0, world_size=1)
    model = DistributedDataParallel(torch.nn.Linear(3, 3))
    model(torch.ones(2, 3)).sum().backward()
    summed = torch.ones(1_000_000)
    torch.distributed.all_reduce(summed)
    if sys.argv[1] == "wrapper first":
        model = None
    torch.distributed.destroy_process_group()
    model = None
print("ended")
"""


ATTEMPTS = 3
"""Whether it hangs depends on which thread is faster: on a busy machine 200 groups may end well."""


@pytest.mark.torch
@exhaustive("the end of a group of processes")
@pytest.mark.parametrize("order", ["wrapper first", "group first"])
def test_a_wrapper_that_outlives_its_group_can_hang(tmp_path: Path, order: str) -> None:
    # Its reducer then has the last reference to the group, and drops it without releasing the GIL:
    # the group joins its threads, and one of those waits for the GIL to free what it has reduced.
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    for attempt in range(ATTEMPTS):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        done = start(program, "torch", order, folder, fork=False)  # it ends by its own watchdog
        hangs = "Timeout (0:00:20)!" in done.stderr
        assert done.stdout == ("" if hangs else "ended\n")
        if hangs:
            break
    assert hangs == (order == "group first")
