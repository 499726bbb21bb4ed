"""Calls main() of an emitted train.py several times: `run_main.py SCRIPT RUNS`.

RUNS is a JSON list of command lines. Prints as JSON a list with the exit code, what went to stderr
and stdout, and the traceback (empty without one) of each.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import traceback
from pathlib import Path
from typing import Any


def call(main: Any, argv: list[str]) -> dict[str, Any]:
    output, errors, code, trouble = io.StringIO(), io.StringIO(), None, ""
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        try:
            code = main(argv)
        except SystemExit as stop:
            code = stop.code
        except Exception:
            trouble = traceback.format_exc()
    said = {"stdout": output.getvalue(), "stderr": errors.getvalue()}
    return {"code": code, **said, "traceback": trouble}


if __name__ == "__main__":
    sys.path.insert(0, str(Path(sys.argv[1]).parent))
    import train  # type: ignore[import-not-found]

    print(json.dumps([call(train.main, argv) for argv in json.loads(sys.argv[2])]))
