"""Match the weights of models that others wrote, and compare them module by module.

Needs the frameworks, transformers and keras-hub. Prints a row for each pair of
frameworks: how many tensors were matched without a hand-written line, whether the models are the
same, and where the first difference is.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from problems import PROBLEMS, Problem

from crosscast.messages.diagnostics import DiagnosticError
from crosscast.recipe.load import load
from crosscast_parity.modules.command import Result, compare_modules
from crosscast_parity.modules.report import text_of
from crosscast_parity.weights.command import Request

RECIPE = """version: 1
name: registry
model: {{kind: custom, factory: {{{factories}}}}}
data: {{source: npz, train: rows.npz, eval: rows.npz}}
loss: {{kind: mse, target: target}}
batch: {{micro_batch_size: 4, global_batch_size: 4}}
optimizer: {{name: adamw, learning_rate: 1e-3}}
schedule: {{name: constant, total_steps: 10}}
"""
HEAD = ("model", "frameworks", "tensors matched", "models", "first module, differences")


def write(problem: Problem, folder: Path) -> Path:
    """Write the models of a problem, its rows and its recipe."""
    rng = np.random.default_rng(3)
    tag = "".join(filter(str.isalnum, problem.name)).lower()
    for framework, source in problem.sources.items():
        (folder / f"{tag}_{framework}.py").write_text(source)
    if problem.rows == "images":
        rows = {"image": rng.standard_normal((8, 64, 64, 3)).astype(np.float32)}
    else:
        tokens = rng.integers(3, 100, (8, 16))
        mask = np.ones((8, 16), np.int64)
        mask[1:4, 12:] = 0
        rows = {"token_ids": tokens, "padding_mask": mask, "segment_ids": tokens % 2}
        if not any("segment_ids" in source for source in problem.sources.values()):
            del rows["segment_ids"]
    np.savez(folder / "rows.npz", **rows, target=np.zeros((8, 10), np.float32))
    factories = ", ".join(f'{name}: "{tag}_{name}:build"' for name in problem.sources)
    (folder / "recipe.yaml").write_text(RECIPE.format(factories=factories))
    return folder / "recipe.yaml"


def rows_of(problem: Problem, result: Result) -> Iterator[tuple[str, ...]]:
    """Yield a row of the table for every pair."""
    first, *others = problem.sources
    for other, judgement in zip(others, result.judgements, strict=True):
        counts = []
        for name in (first, other):
            left = len(result.left.get(name, []))
            matched = len(result.known.of(name))
            counts.append(f"{matched} of {matched + left}")
        comparison, place = judgement.comparison, judgement.output
        certain = [d for d in judgement.differences if d.certain]
        words = f"off by {comparison.outputs:.1e}"
        if comparison.same:
            words = "same function"
        elif place is None:
            words = f"gradients off by {comparison.weights:.1e}"
        where = f"`{place.at.pair.a.text}`: " if place else ""
        where += ", ".join(dict.fromkeys(d.kind or "not named" for d in certain)) or "none"
        yield problem.name, f"{first}, {other}", ", ".join(counts), words, where


def main() -> int:
    """Compare the chosen problems."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="problems; default: all")
    parser.add_argument("--reports", action="store_true", help="print whole reports, too")
    options = parser.parse_args()
    chosen = [p for p in PROBLEMS if not options.names or p.name in options.names]
    print("|", " | ".join(HEAD), "|")
    print("|" + "---|" * len(HEAD))
    for problem in chosen:
        begun = time.monotonic()
        with tempfile.TemporaryDirectory() as place:
            path = write(problem, Path(place))
            request = Request(
                recipe=load(str(path)), folder=Path(place), targets=tuple(problem.sources)
            )
            try:
                result = compare_modules(request)
            except DiagnosticError as error:
                words = "; ".join(f"{d.code} {d.message}" for d in error.diagnostics)
                print(f"| {problem.name} | - | - | {words} | - |", flush=True)
                continue
        for row in rows_of(problem, result):
            print("|", " | ".join(row), "|", flush=True)
        if options.reports:
            print(*text_of(result), sep="\n")
            print(f"{time.monotonic() - begun:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
