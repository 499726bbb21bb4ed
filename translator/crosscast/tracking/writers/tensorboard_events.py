"""Write event files with TensorBoard's own writer, a folder for each run."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

from crosscast.tracking.writers import read_request


def main() -> None:
    """Write all runs."""
    # TensorBoard then uses its own stand-in for TensorFlow, which would take seconds to import.
    notf = "tensorboard.compat.notf"
    sys.modules[notf] = ModuleType(notf)
    from tensorboard.summary import Writer

    request = read_request()
    for run in request["runs"]:
        writer = Writer(str(Path(request["folder"], run["name"])))
        for step, values in run["points"]:
            for name, value in values.items():
                writer.add_scalar(name, value, step, wall_time=run["time"])
        writer.close()


if __name__ == "__main__":
    main()
