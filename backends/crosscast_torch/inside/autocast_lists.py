"""What autocast computes in float32 whatever it gets, by the names of `emulate`.

Measured for PyTorch 2.13 by tests/probes/torch/test_autocast_lists.py; a CPU's list has nothing but
losses, so that a run on a CPU leaves in half what one on a GPU makes float32.
"""

from __future__ import annotations

from crosscast_parity.inside.emulate import LOSSES

CUDA = LOSSES | {
    *("softmax", "log_softmax", "layer_norm", "group_norm", "rms_norm"),
    *("sum", "logsumexp", "norm", "pow", "square", "exp", "log", "rsqrt"),
}
CPU = LOSSES
