"""What one micro-batch of BERT-base keeps for its backward pass, in float32 and half precision.

    python benchmarks/half_memory.py --docs

Compares emitted models with the BERT of transformers and with models written by hand for half
precision. Nothing is trained and no GPU is needed: every framework counts the types and operators
that it would choose on a GPU, in a process of its own. `kept_bytes/FRAMEWORK_count.py` says how.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from half_memory_page import DATA, PAGE, page, table
from kept_bytes import (
    ALL_COMPUTE,
    FRAMEWORKS,
    FROM_RECIPES,
    NOT_COUNTED,
    STORED_HALF,
    Contestant,
    Shape,
    contestants,
)

DROPOUTS = (0.0, 0.1)
SHAPES = "32x128,8x512"
RECIPE = """\
version: {version}
name: half-memory
seed: 1234
model: {{kind: bert, layers: {layers}, hidden_size: {hidden}, attention_heads: {heads},
        intermediate_size: {inner}, vocab_size: {words}, max_positions: 512, labels: 3,
        dropout: {dropout}}}
data: {{source: synthetic, sequence_length: {tokens}, train_rows: 64, eval_rows: 64}}
batch: {{micro_batch_size: {rows}}}
accumulation: {{steps: 2}}
optimizer: {{name: adamw, learning_rate: 1e-4}}
schedule: {{name: linear, total_steps: 1000}}
precision: {precision}
"""
COMPUTE = "{pointwise: compute, reductions: compute, embeddings: compute, losses: compute}"
WORKER = Path(__file__).with_name("half_memory_worker.py")


def version_of(contestant: str) -> int:
    """The version of the recipe of a contestant's script."""
    return 2 if contestant == STORED_HALF else 1


def precision_of(contestant: str, precision: str) -> str:
    """Return the field `precision` of the recipe of a contestant's script."""
    if precision == "float32" or contestant not in FROM_RECIPES:
        return "{mode: none}"  # of other models, the script's loss is used
    ops = f", ops: {COMPUTE}" if contestant == ALL_COMPUTE else ""
    return f"{{mode: mixed, compute_dtype: {precision}{ops}}}"


class Scripts:
    """Emitted scripts below a folder, each written once."""

    def __init__(self, folder: Path, shape: Shape) -> None:
        self._folder, self._shape = folder, shape
        self._written: dict[tuple[str, int, str, float], Path] = {}

    def folder_of(self, framework: str, contestant: str, precision: str, dropout: float) -> Path:
        """Return the folder of the script that a contestant is or starts from."""
        fields = precision_of(contestant, precision)
        key = (framework, version_of(contestant), fields, dropout)
        if key not in self._written:
            self._written[key] = self._folder / str(len(self._written))
            self._write(*key)
        return self._written[key]

    def _write(self, framework: str, version: int, precision: str, dropout: float) -> None:
        from crosscast.emit.compiler import compile_recipe
        from crosscast.messages.output import write_files
        from crosscast.recipe.validate import build_recipe
        from crosscast.recipe.yaml_source import parse

        sizes = asdict(self._shape) | {"inner": 4 * self._shape.hidden}
        text = RECIPE.format(version=version, precision=precision, dropout=dropout, **sizes)
        (compiled,) = compile_recipe(build_recipe(parse(text, "half-memory")), [framework])
        write_files(self._written[framework, version, precision, dropout], compiled.files)


class Worker:
    """The process of a framework."""

    def __init__(self, framework: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(WORKER), framework],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.versions: dict[str, str] = self._answer()

    def measure(self, job: dict[str, Any]) -> list[dict[str, Any]]:
        """Return what was counted, shape by shape."""
        assert self._process.stdin is not None
        print(json.dumps(job), file=self._process.stdin, flush=True)
        counted: list[dict[str, Any]] = self._answer()
        return counted

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"a counting process ended with code {self._process.wait()}")
        return json.loads(line)

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def cases(framework: str) -> Iterator[tuple[Contestant, str, float]]:
    """Yield contestants with their precisions and dropouts."""
    for dropout, contestant in itertools.product(DROPOUTS, contestants(framework)):
        for precision in contestant.precisions:
            yield contestant, precision, dropout


def measure(framework: str, shapes: list[Shape], folder: Path) -> dict[str, Any]:
    """Return versions and rows of a framework."""
    scripts, worker = Scripts(folder, shapes[0]), Worker(framework)
    rows: list[dict[str, Any]] = []
    try:
        for contestant, precision, dropout in cases(framework):
            row = {"contestant": contestant.name, "precision": precision, "dropout": dropout}
            why = reason_not_to_measure(contestant, precision)
            if why:
                rows.append(row | {"not_measured": why})
                continue
            script = scripts.folder_of(framework, contestant.name, precision, dropout)
            counted = worker.measure(
                {
                    "name": contestant.name,
                    "precision": precision,
                    "dropout": dropout,
                    "shapes": [asdict(shape) for shape in shapes],
                    "folder": str(script),
                }
            )
            titles = [shape.title for shape in shapes]
            rows.append(row | {"counts": dict(zip(titles, counted, strict=True))})
            print(".", end="", file=sys.stderr, flush=True)
    finally:
        worker.close()
    print(file=sys.stderr)
    return {"versions": worker.versions, "rows": rows}


def reason_not_to_measure(contestant: Contestant, precision: str) -> str:
    """Return why a contestant cannot be measured; empty if it can."""
    if contestant.package and not importlib.util.find_spec(contestant.package):
        return f"{contestant.package} is not installed"
    return NOT_COUNTED.get((contestant.framework, precision), "")


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    add = parser.add_argument
    add("--frameworks", default=",".join(FRAMEWORKS))
    add("--shapes", default=SHAPES, help="ROWSxTOKENS, separated by commas")
    add("--layers", type=int, default=Shape.layers)
    add("--width", type=int, default=Shape.hidden, help="hidden size, a multiple of 64")
    add("--words", type=int, default=Shape.words)
    add("--json", type=Path, help="write the figures to this file")
    add(
        "--docs",
        action="store_true",
        help=f"write {DATA.name} and {PAGE.name} in docs/measurements; keeps other frameworks",
    )
    add("--page", action="store_true", help=f"write {PAGE.name} from {DATA.name}; count nothing")
    options = parser.parse_args()
    options.frameworks = options.frameworks.split(",")
    if not set(options.frameworks) <= set(FRAMEWORKS):
        parser.error(f"--frameworks: of {', '.join(FRAMEWORKS)}")
    if min(options.layers, options.words, options.width) < 1 or options.width % 64:
        parser.error("layers and words are at least 1, the width is a multiple of 64")
    try:
        sizes = [tuple(map(int, shape.split("x"))) for shape in options.shapes.split(",")]
        model = (options.layers, options.width, options.width // 64, options.words)
        options.shapes = [Shape(rows, tokens, *model) for rows, tokens in sizes]
    except ValueError:
        parser.error("--shapes: ROWSxTOKENS, separated by commas")
    if options.docs and options.shapes != [Shape(32, 128), Shape(8, 512)]:
        parser.error("--docs is for BERT-base and the usual shapes")
    return options


def main() -> int:
    """Measure, print, and write where asked."""
    options = parse_arguments()
    if options.page:
        PAGE.write_text(page(json.loads(DATA.read_text())))
        return 0
    results: dict[str, Any] = {"frameworks": {}}
    if options.docs and DATA.exists():
        results = json.loads(DATA.read_text())
    for framework in options.frameworks:
        with tempfile.TemporaryDirectory() as folder:
            measured = measure(framework, options.shapes, Path(folder))
        results["frameworks"][framework] = measured
        for dropout in DROPOUTS:
            print(f"{framework}, dropout {dropout}\n\n{table(framework, measured, dropout)}\n")
        if options.json:
            options.json.write_text(json.dumps(results, indent=1) + "\n")
    if options.docs:
        DATA.write_text(json.dumps(results, indent=1) + "\n")
        PAGE.write_text(page(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
