"""Calls main() of an emitted train.py once: `run_tracked.py FOLDER ARGUMENTS ABSENT CRASH`.

ARGUMENTS is a command line as JSON. The module ABSENT cannot be imported. After CRASH windows the
training raises an exception; 0 for never. Prints what main() returned, null if it raised.
"""

from __future__ import annotations

import json
import sys
import types
from typing import Any

# Wherever TensorFlow is installed, TensorBoard's package imports it too, into a process of another
# framework: with this module, it does without.
WITHOUT = "tensorboard.compat.notf"


def crashing(cls: Any, windows: int) -> None:
    record = cls.record

    def recorded(self: Any, state: Any, row: dict[str, Any]) -> None:
        record(self, state, row)
        if state.windows == windows:
            raise RuntimeError("the test ends this run")

    cls.record = recorded


if __name__ == "__main__":
    folder, arguments, absent, crash = sys.argv[1:]
    sys.path.insert(0, folder)
    if "tensorflow" not in folder:
        sys.modules[WITHOUT] = types.ModuleType(WITHOUT)
    if absent:
        sys.modules[absent] = None  # type: ignore[assignment]
    import train  # type: ignore[import-not-found]

    if int(crash):
        crashing(train.Run, int(crash))
    code = None
    try:
        code = train.main(json.loads(arguments))
    except RuntimeError as error:
        if "the test ends" not in str(error):
            raise
    print(json.dumps(code))
