"""Write the rows of an input as emitted scripts read them: `python rows.py SCRIPT` -> rows.npz."""

import sys
from pathlib import Path

import numpy as np
from start import weights


def main():
    """Take the functions of the script that make data; its frameworks are not imported."""
    text = Path(sys.argv[1]).read_text(encoding="utf-8")
    start = text.index("def make_data")
    end = text.index("\n\n\n", start)
    scope = {"np": np, "ROWS": 256, "FEATURES": 16, "CLASSES": 4}
    exec(text[start:end], scope)
    rng = np.random.RandomState(0)
    for kernel in weights():  # the data come after the weights of the same generator
        rng.normal(0, 0.3, kernel.shape)
    x, labels = scope["make_data"](rng)
    np.savez("rows.npz", x=x, labels=labels.astype("int32"))


if __name__ == "__main__":
    main()
