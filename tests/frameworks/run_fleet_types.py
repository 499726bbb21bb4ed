"""Build the program of an emitted static-graph script as on a GPU, and tell what is half in it.

Argument: the script. Prints as JSON the operations with a float16 input.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from crosscast_parity.inside.emitted import prepared
from crosscast_parity.inside.script import load_script


def main() -> None:
    train: Any = load_script(Path(sys.argv[1]))
    from paddle.static.amp import fp16_lists

    # A build without CUDA takes every operation for one that has no half kernel.
    found = fp16_lists._get_sys_unsupported_list
    fp16_lists._get_sys_unsupported_list = lambda dtype: ("GPU", set(), found(dtype)[2])
    block = prepared(train, "cpu").program.global_block()
    half = {
        name
        for name, var in block.vars.items()
        if str(var.type).endswith("LOD_TENSOR") and str(var.dtype).endswith(("FP16", "float16"))
    }
    print(json.dumps(sorted({op.type for op in block.ops if set(op.input_arg_names) & half})))


if __name__ == "__main__":
    main()
