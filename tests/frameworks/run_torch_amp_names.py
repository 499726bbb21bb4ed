"""Prints facts about names of torch.amp, as a JSON object; the argument holds program texts.

`squares`: results and gradients of the function `Square` that each program defines.
"""

from __future__ import annotations

import inspect
import json
import sys
import warnings
from typing import Any

import torch
import torch.cuda.amp  # the old names

NAMES = ("autocast", "GradScaler")


def squares(text: str) -> list[float]:
    """Return the square of 3 and its derivative, as a program defines them."""
    names: dict[str, Any] = {}
    exec(compile(text, "program", "exec"), names)  # written by this project
    x = torch.tensor(3.0, requires_grad=True)
    y = names["Square"].apply(x)
    y.backward()
    return [float(y), float(x.grad)]


def main() -> None:
    warnings.simplefilter("ignore")
    old, new = torch.cuda.amp, torch.amp
    print(
        json.dumps(
            {
                "subclasses": [issubclass(getattr(old, n), getattr(new, n)) for n in NAMES],
                "first": [next(iter(inspect.signature(getattr(new, n)).parameters)) for n in NAMES],
                "old": {
                    n: list(inspect.signature(getattr(old, n)).parameters)
                    for n in (*NAMES, "custom_fwd", "custom_bwd")
                },
                "squares": [squares(text) for text in json.loads(sys.argv[1])],
            }
        )
    )


if __name__ == "__main__":
    main()
