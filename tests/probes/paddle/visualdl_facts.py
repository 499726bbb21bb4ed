"""Write a number with VisualDL, and look for it with TensorBoard: `visualdl_facts.py FOLDER`."""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path

if __name__ == "__main__":
    name = "tensorboard.compat.notf"  # TensorFlow is not needed to read
    sys.modules[name] = types.ModuleType(name)
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from visualdl import LogReader, LogWriter

    folder = Path(sys.argv[1])
    with LogWriter(logdir=str(folder)) as writer:
        writer.add_scalar("train/loss", 0.5, 1)
    files = sorted(path.name for path in folder.iterdir())
    events = EventAccumulator(str(folder))
    events.Reload()
    reader = LogReader(file_path=str(folder / files[0]))
    facts = {
        "files": files,
        "scalars": events.Tags()["scalars"],
        "read by visualdl": [[e.id, e.value] for e in reader.get_data("scalar", "train/loss")],
    }
    print(json.dumps(facts))
