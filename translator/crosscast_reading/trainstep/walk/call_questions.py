"""Small questions that several actions ask."""

from __future__ import annotations

from crosscast_reading.pysource.libraries.packages import framework_of_name, is_foreign
from crosscast_reading.trainstep.frames.frame import CallFrame


def framework(frame: CallFrame) -> str:
    """Return the framework other than PyTorch that a module imports."""
    for name in frame.module.imported:
        if is_foreign(name, "pytorch"):
            return framework_of_name(name)
    return "tensorflow" if any("tf" in name.split(".") for name in frame.module.imported) else ""
