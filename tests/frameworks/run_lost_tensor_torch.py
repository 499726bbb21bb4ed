"""Receive tensors from processes that have ended: `run_lost_tensor_torch.py TRAIN_PY`.

Prints as JSON, for each way to fail, the class of the error and whether the script takes it for
that of a lost process.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from multiprocessing import resource_sharer
from multiprocessing.connection import Listener
from pathlib import Path

sys.path.insert(0, str(Path(sys.argv[1]).parent))

from runtime.device import lost_process


def receive(address: object) -> None:
    """Receive a file descriptor, as PyTorch's loader does for each tensor."""
    tensor = resource_sharer.DupFd(os.dup(0))
    vars(tensor)["_id"] = (address, 1)
    tensor.detach()


def hang_up() -> None:
    """The worker ends while the connection is made."""
    listener = Listener()
    threading.Thread(target=lambda: vars(listener)["_listener"].accept().close()).start()
    receive(listener.address)


def not_there() -> None:
    """The worker ended before."""
    receive(str(Path.cwd() / "no socket"))


def own() -> None:
    """An error of the same class, raised where rows are read."""
    raise EOFError


found = {}
for name, fail in {"hangs up": hang_up, "is not there": not_there, "rows of the user": own}.items():
    try:
        fail()
    except Exception as error:
        found[name] = [type(error).__name__, lost_process(error)]
print(json.dumps(found))
