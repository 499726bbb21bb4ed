"""End a process whose parent is gone."""

from __future__ import annotations

import os
import threading
import time

PARENT_POLL_SECONDS = 1.0


def end_with_parent() -> None:
    """End this process soon after the one that started it is gone, whatever killed that."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(PARENT_POLL_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
