"""Stands in for a classic script: parses its flags and prints what it would train with.

The flags, their types and defaults are in script_flags.json, as the parsers of the public scripts
declare them; STAND_IN names the dialect.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

FLAGS = Path(__file__).with_name("script_flags.json")


def boolean(text: str) -> bool:
    """Everything that is not one of three words is false, also `yes`."""
    return text.lower() in ("true", "t", "1")


def main() -> None:
    flags = json.loads(FLAGS.read_text())[os.environ["STAND_IN"]]
    kinds: dict[str, Any] = {"str": str, "int": int, "float": float, "bool": boolean}
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for name, (kind, default) in flags.items():
        if kind == "switch":
            parser.add_argument(f"--{name}", action="store_true")
        else:
            parser.add_argument(f"--{name}", type=kinds[kind], default=default)
    values = vars(parser.parse_args())
    names = ("CUDA_VISIBLE_DEVICES", "NVIDIA_TF32_OVERRIDE", "PADDLE_TRAINERS_NUM")
    print(json.dumps(values | {name: os.environ.get(name) for name in names}))


if __name__ == "__main__":
    main()
