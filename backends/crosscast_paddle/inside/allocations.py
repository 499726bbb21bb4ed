"""Run windows of an emitted Paddle script and report the peak of Paddle's memory counter.

`python -m crosscast_paddle.inside.allocations SCRIPT JSON`, in a process of its own. Prints
one line of JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import paddle

from crosscast_parity.inside.emitted import prepared
from crosscast_parity.inside.script import load_script
from crosscast_parity.inside.windows import rows_of, window_of


def main() -> None:
    """Measure as the arguments say."""
    script, options = load_script(Path(sys.argv[1])), json.loads(sys.argv[2])
    state = prepared(script, paddle.device.get_device())
    window = window_of(rows_of(options), options["micro_batch"])
    for _ in range(options["windows"]):
        script.train_window(state, window, script.micro_batch_loss)
    if options["device"] == "cuda":
        peak = paddle.device.cuda.max_memory_allocated()
    else:
        peak = paddle.base.core.host_memory_stat_peak_value("Allocated", 0)
    print(json.dumps({"peak": peak, "where": [], "version": paddle.__version__}))


if __name__ == "__main__":
    main()
