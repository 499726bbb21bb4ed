"""Asks whether a process hears SIGTERM once it has a strategy of several workers; prints JSON."""

from __future__ import annotations

import json
import os
import signal
import socket
import time

import tensorflow as tf


def heard() -> bool:
    """Whether the handler of Python is called."""
    try:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(2.0)
    except KeyboardInterrupt:
        return True
    return False


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with socket.create_server(("127.0.0.1", 0)) as held:
        worker = f"127.0.0.1:{held.getsockname()[1]}"
    config = {"cluster": {"worker": [worker]}, "task": {"type": "worker", "index": 0}}
    os.environ["TF_CONFIG"] = json.dumps(config)
    tf.distribute.MultiWorkerMirroredStrategy()
    found = {"with a strategy": heard()}
    signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGTERM))
    print(json.dumps(found | {"given back": heard()}))
