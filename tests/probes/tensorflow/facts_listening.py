"""Asks on which addresses a process of MultiWorkerMirroredStrategy listens; prints JSON."""

from __future__ import annotations

import json
import os
import socket

import tensorflow as tf


def reached(address: str, port: int) -> bool:
    """Whether somebody listens there."""
    try:
        socket.create_connection((address, port), timeout=10).close()
    except OSError:
        return False
    return True


if __name__ == "__main__":
    # Two addresses of this machine; whoever listens on one of them is not met at the other.
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = int(held.getsockname()[1])
        found = {"a socket": [reached(address, port) for address in ("127.0.0.1", "127.0.0.2")]}
    worker = {"cluster": {"worker": [f"127.0.0.1:{port}"]}, "task": {"type": "worker", "index": 0}}
    os.environ["TF_CONFIG"] = json.dumps(worker)
    tf.distribute.MultiWorkerMirroredStrategy()
    found["a process"] = [reached(address, port) for address in ("127.0.0.1", "127.0.0.2")]
    print(json.dumps(found))
