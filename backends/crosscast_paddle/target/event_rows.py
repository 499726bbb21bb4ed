"""The row about files for TensorBoard, of dynamic and of static graphs."""

from __future__ import annotations

from crosscast.targets.capability import Row, Verdict
from crosscast_paddle.target.adaptations import PaddleAdaptation

EVENT_FILES = Row(
    path="tracking.tensorboard",
    verdict=Verdict.ADAPTED,
    how="Paddle's own VisualDL writes files that TensorBoard does not read: tensorboardX writes",
    code="CC382",
    probe="paddle/test_visualdl.py::test_visualdl_writes_no_files_of_tensorboard",
    adapt=PaddleAdaptation.EVENT_FILES,
)
