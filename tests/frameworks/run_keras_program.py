"""Runs a program, in Keras 2 or Keras 3, and prints the numbers in its RESULT as JSON.

Argument: the program. Runs in TensorFlow 2.5 as well.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np


def main() -> None:
    path = Path(sys.argv[1])
    given: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(path.read_text(), path.name, "exec"), given)
    print(json.dumps([np.asarray(v, "float64").ravel().tolist() for v in given["RESULT"]]))


if __name__ == "__main__":
    main()
