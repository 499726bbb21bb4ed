"""The answer of a process that is asked once about an emitted script, as JSON in a file.

What the user's code prints is its own affair.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from crosscast_parity.inside.user_code import failure_of

Find = Callable[[Path, dict[str, Any]], dict[str, Any]]


def answer(find: Find, kind_of: Callable[[BaseException], str] = lambda error: "raised") -> None:
    """Answer as the arguments say, and end the process; whatever the user's code does.

    The arguments are the script and options as JSON: `answer` is the file, `folder` the user's.

    Args:
        find: Returns the answer.
        kind_of: Returns a word for what stopped it.
    """
    options = json.loads(sys.argv[2])
    try:
        document = {"found": find(Path(sys.argv[1]), options)}
    except BaseException as error:  # sys.exit, too
        failure = failure_of(error, Path(options["folder"]))
        document = {"stopped": {"kind": kind_of(error), **failure}}
    Path(options["answer"]).write_text(json.dumps(document), encoding="utf-8")
    sys.stdout.flush()
    os._exit(0)  # threads of the user's code do not hold it up
