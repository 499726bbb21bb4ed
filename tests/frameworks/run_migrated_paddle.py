"""Executes scripts on CPU as they are and prints what they trained, as JSON.

Run as `run_migrated_paddle.py FILE...`, static scripts last:

- a dynamic one leaves `losses` and `scaler` behind; its GradScaler is the real one, which only asks
  whether there is a GPU, and is told so;
- a static one leaves `losses` and `scales`. Half kernels are missing on CPU, so the operations that
  `auto_cast` would compute in half are computed in float32. `casts` says how many values the same
  lines cast with bfloat16, for which programs can at least be built.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import paddle

from crosscast_paddle.inside.on_cpu import enable_scaler

AUTO_CAST = paddle.amp.auto_cast


def in_float32(*args: Any, **settings: Any) -> Any:
    """Enter auto_cast with nothing to cast."""
    black = {*settings.pop("custom_black_list", ()), *paddle.amp.white_list()["float16"]["O1"]}
    return AUTO_CAST(*args, custom_black_list=black, **settings)


def in_bfloat16(*args: Any, **settings: Any) -> Any:
    """Enter auto_cast with the half type that programs can be built with on CPU."""
    return AUTO_CAST(*args, **settings | {"dtype": "bfloat16"})


def casts(path: Path) -> int:
    """Return how many values of the program of a script are cast to half, gradients not counted."""
    text = path.read_text().partition("optimizer = ")[0]
    paddle.amp.auto_cast = in_bfloat16
    program = paddle.static.Program()
    with paddle.static.program_guard(program, paddle.static.Program()):
        exec(compile(text, str(path), "exec"), {})
    return str(program).count('"pd_op.cast"')


def execute(path: Path) -> dict[str, Any]:
    """Run a script and return what it left."""
    paddle.seed(7)
    variables: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(path.read_text(), str(path), "exec"), variables)
    found: dict[str, Any] = {"losses": variables["losses"]}
    if "scales" in variables:
        found["scales"] = variables["scales"]
        found["casts"] = casts(path)
    else:
        found["state"] = {
            name: value if isinstance(value, int | float | bool) else float(value[0])
            for name, value in variables["scaler"].state_dict().items()
        }
    return found


def main() -> None:
    """Run the scripts."""
    warnings.simplefilter("ignore")
    enable_scaler()
    found = {}
    for name in sys.argv[1:]:
        path = Path(name)
        if "enable_static" in path.read_text():
            paddle.amp.auto_cast = in_float32
        found[path.stem] = execute(path)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
