"""How far emulated half precision is from native, operation by operation, on this CPU.

    python benchmarks/half_ops.py [--frameworks torch,tensorflow,paddle] [--dtype float16,bfloat16]

Every operation runs on the same numbers, forward and backward, native and emulated, one process
each. Printed, for the outputs and then for the gradients: the share of entries that are equal bit
by bit, the largest distance of two entries in units in the last place of the half type (large where
a sum nearly cancels), and the largest in units of the largest entry of the tensor.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from half_toolboxes import BENCHES, OPERATIONS, Arrays, inputs

from crosscast_parity.processes.process import child_environment

HAS_NATIVE = ("torch", "tensorflow")


def work(framework: str, dtype: str, how: str, path: str) -> None:
    """Run all operations in this process and save what they gave."""
    if how == "emulated":
        from crosscast_parity.inside.emulate import install

        install(f"crosscast_{framework}.inside")
    bench, arrays, found = BENCHES[framework](dtype), inputs(), {}
    for name, (wanted, operation) in OPERATIONS.items():
        results = bench.run(operation, wanted, arrays)
        for what, array in zip(("output", *wanted), results, strict=True):
            found[f"{name}|{what}"] = array
    np.savez(path, **found)


def order(array: np.ndarray, dtype: str) -> np.ndarray:
    """Number the values of a half type in their order; neighbours differ by 1."""
    if dtype == "float16":
        with np.errstate(over="ignore"):
            bits = array.astype(np.float16).view(np.uint16).astype(np.int64)
    else:
        bits = (array.astype(np.float32).view(np.uint32) >> 16).astype(np.int64)
    return np.where(bits & 0x8000, 0x8000 - bits, bits)


def compare(ours: Arrays, theirs: Arrays, dtype: str) -> list[str]:
    """Return one line of a table per operation; outputs first, then gradients."""
    lines = []
    for name in OPERATIONS:
        keys = [key for key in ours if key.startswith(f"{name}|")]
        outputs = [key for key in keys if key.endswith("|output")]
        cells = [name]
        for chosen in (outputs, [key for key in keys if key not in outputs]):
            pairs = [(ours[key], theirs[key]) for key in chosen]
            equal = np.concatenate([(a == b).ravel() for a, b in pairs])
            nearest = max(np.abs(order(a, dtype) - order(b, dtype)).max() for a, b in pairs)
            largest = max(float(np.abs(a - b).max()) / unit(b, dtype) for a, b in pairs)
            cells += [f"{100 * equal.mean():.2f} %", str(nearest), f"{largest:.2g}"]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def unit(array: np.ndarray, dtype: str) -> float:
    """The unit in the last place of the largest entry."""
    exponent = np.floor(np.log2(np.abs(array).max()))
    return float(2.0 ** (exponent - (10 if dtype == "float16" else 7)))


def main() -> None:
    """Start the processes, compare, print Markdown tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--frameworks", default="torch,tensorflow,paddle")
    parser.add_argument("--dtype", default="float16,bfloat16")
    parser.add_argument("--worker", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("--onednn", action="store_true", help="let TensorFlow use oneDNN")
    options = parser.parse_args()
    if options.worker:
        work(*options.worker)
        return
    names = options.frameworks.split(",")
    columns = "| equal | max ulp | of the largest " * 2
    head = f"| operation {columns}|\n{'|---' * 7}|"
    with tempfile.TemporaryDirectory() as folder:
        for dtype in options.dtype.split(","):
            found = {
                (name, how): run(name, dtype, how, Path(folder), options.onednn)
                for name in names
                for how in ("native", "emulated")
                if how == "emulated" or name in HAS_NATIVE
            }
            pairs = [((n, "emulated"), (n, "native")) for n in names if (n, "native") in found]
            pairs += [((n, "emulated"), ("torch", "emulated")) for n in names if n != "torch"]
            for ours, theirs in pairs:
                if theirs in found:
                    print(f"\n{dtype}: {' '.join(ours)} against {' '.join(theirs)}\n\n{head}")
                    print("\n".join(compare(found[ours], found[theirs], dtype)), flush=True)


def run(framework: str, dtype: str, how: str, folder: Path, onednn: bool) -> Arrays:
    """Run the operations in a process of their own, set up as the parity harness does."""
    path = folder / f"{framework}-{dtype}-{how}.npz"
    command = [sys.executable, __file__, "--worker", framework, dtype, how, str(path)]
    extra = {"KERAS_BACKEND": "tensorflow", "TF_ENABLE_ONEDNN_OPTS": str(int(onednn))}
    environment = child_environment(threads=1, device="cpu", extra=extra)
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL, env=environment)
    return dict(np.load(path))


if __name__ == "__main__":
    main()
