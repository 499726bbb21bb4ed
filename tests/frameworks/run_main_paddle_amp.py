"""As run_main.py, with Paddle's real loss scaler on CPU.

Call it as `run_main_paddle_amp.py SCRIPT RUNS FAULT...`. auto_cast still computes in float32, so
overflows come from the faults (`WINDOW:MICRO=inf`), the same in every run.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

from crosscast_paddle.inside.on_cpu import allow_cpu, enable_scaler
from crosscast_parity.inside.inject import make_injector, parse_fault
from frameworks.run_main import call

if __name__ == "__main__":
    script, runs, *faults = sys.argv[1:]
    sys.path.insert(0, str(Path(script).parent))
    import train  # type: ignore[import-not-found]

    warnings.filterwarnings("ignore", "amp_guard can only be enabled")
    enable_scaler()
    allow_cpu(train)
    originals = train.micro_batch_loss, train.train_window
    found = []
    for argv in json.loads(runs):
        train.micro_batch_loss, train.train_window = originals
        make_injector("crosscast_paddle.inside", list(map(parse_fault, faults))).install(train)
        found.append(call(train.main, argv))
    print(json.dumps(found))
