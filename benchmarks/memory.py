"""Predicted against measured peak memory of emitted scripts, and other estimators beside it.

    python benchmarks/memory.py --results docs/explanation/memory.json \\
      --docs docs/explanation/memory.md

Every case is a process of its own: two windows of the emitted script under a watch on the
framework's allocator. `--docs` writes the tables of the page between its
markers, also from results that are there.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from crosscast.memory.estimate import estimate
from crosscast.memory.simple_formula import parameter_count
from crosscast.recipe.document import BertModel, Recipe
from crosscast.recipe.validate import build_recipe
from crosscast.recipe.yaml_source import parse
from crosscast.targets.backend import find_target
from crosscast_parity.memory.processes import measure

RECIPE = """
version: 1
name: memory
model: {{kind: bert, preset: {preset}, labels: 3, dropout: 0.1}}
data: {{source: synthetic, sequence_length: {length}}}
batch: {{micro_batch_size: {rows}}}
precision: {precision}
accumulation: {{steps: 2}}
clipping: {{kind: global_norm, max_norm: 1.0}}
optimizer: {{name: adamw, learning_rate: 1e-4}}
schedule: {{name: linear, total_steps: 10}}
activation_checkpointing: {checkpointing}
"""
PRECISIONS = {
    "float32": "{mode: none, compute_dtype: float32}",
    "bfloat16": "{mode: mixed, compute_dtype: bfloat16}",
    "float16": "{mode: mixed, compute_dtype: float16}",
}
SIZES = (("mini", 4, 128), ("small", 4, 64), ("mini", 16, 64), ("small", 8, 128))
HALVES = {
    "torch": tuple(PRECISIONS),
    "paddle": ("float32",),
    "tensorflow": tuple(PRECISIONS),
}
"""On a CPU, Paddle has no half precision."""
ESTIMATORS = ("crosscast", "simple formula", "accelerate", "16 bytes", "DeepSpeed", "Korthikanti")
ACCELERATE = """
import json, sys
from importlib.metadata import version
from accelerate.commands.estimate import estimate_training_usage
asked = json.loads(sys.argv[1])
found = [max(estimate_training_usage(size, dtype).values()) for size, dtype in asked]
print(json.dumps({"found": found, "version": version("accelerate")}))
"""


def recipe_of(case: dict[str, Any]) -> Recipe:
    text = RECIPE.format(
        **case
        | {
            "precision": PRECISIONS[case["dtype"]],
            "checkpointing": str(case["checkpointing"]).lower(),
        }
    )
    return build_recipe(parse(text, "memory.yaml"))


def cases(framework: str) -> list[dict[str, Any]]:
    return [
        {
            "framework": framework,
            "preset": preset,
            "rows": rows,
            "length": length,
            "dtype": dtype,
            "checkpointing": checkpointing,
        }
        for preset, rows, length in SIZES
        for dtype in HALVES[framework]
        for checkpointing in (False, True)
    ]


def others(recipe: Recipe, accelerate: int) -> dict[str, int]:
    """Published memory formulas, in bytes; docs/explanation/memory.md lists their sources."""
    model = recipe.model
    assert isinstance(model, BertModel)
    count, rows = parameter_count(model), recipe.batch.micro_batch_size
    length, width = recipe.data.sequence_length, model.hidden_size
    token = rows * length * width
    if recipe.activation_checkpointing:
        layer = 2.0 * token
    else:
        layer = token * (34 + 5 * model.attention_heads * length / width)
    return {
        "accelerate": accelerate,
        "16 bytes": 16 * count,
        "DeepSpeed": 4 * count + 16 * count,
        "Korthikanti": 16 * count + int(model.layers * layer),
    }


def ask_accelerate(recipes: list[Recipe]) -> dict[str, Any]:
    requests = []
    for recipe in recipes:
        assert isinstance(recipe.model, BertModel)
        requests.append((4 * parameter_count(recipe.model), recipe.precision.compute_dtype))
    command = [sys.executable, "-c", ACCELERATE, json.dumps(requests)]
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    answer: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return answer


def run(frameworks: list[str], path: Path) -> None:
    results = json.loads(path.read_text()) if path.exists() else {"rows": [], "versions": {}}
    chosen = [case for framework in frameworks for case in cases(framework)]
    answer = ask_accelerate([recipe_of(case) for case in chosen])
    results["versions"]["accelerate"] = answer["version"]
    for case, accelerate in zip(chosen, answer["found"], strict=True):
        recipe = recipe_of(case)
        old = [row for row in results["rows"] if all(row[key] == case[key] for key in case)]
        if old:
            row = old[0]
        else:
            found = measure(recipe, case["framework"], sys.executable)
            results["versions"][case["framework"]] = found.version
            row = {**case, "measured": found.peak_bytes}
            results["rows"].append(row)
        predicted = estimate(recipe, find_target(case["framework"]), device="cpu")
        row["predicted"] = {
            "crosscast": predicted.peak_bytes,
            "simple formula": predicted.simple_formula_bytes,
            **others(recipe, accelerate),
        }
        row["phase"] = predicted.peak_phase
        path.write_text(json.dumps(results, indent=1) + "\n")
        error = predicted.peak_bytes / row["measured"] - 1
        print(f"{' '.join(map(str, case.values()))}: {error:+.2%}", flush=True)


def error_of(row: dict[str, Any], name: str) -> float:
    return float(row["predicted"][name] / row["measured"] - 1)


def summary(rows: list[dict[str, Any]]) -> list[str]:
    lines = ["| estimate | cases | median error | worst error |", "|---|---|---|---|"]
    for framework in dict.fromkeys(row["framework"] for row in rows):
        own = [row for row in rows if row["framework"] == framework]
        for name in ESTIMATORS:
            errors = [error_of(row, name) for row in own]
            median = statistics.median(map(abs, errors))
            worst = max(errors, key=abs)
            lines.append(f"| {framework}: {name} | {len(own)} | {median:.2%} | {worst:+.2%} |")
    return lines


def details(rows: list[dict[str, Any]]) -> list[str]:
    head = ("case", "measured MiB", "predicted MiB", "peak in", *ESTIMATORS)
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for row in rows:
        recompute = ", checkpointing" if row["checkpointing"] else ""
        name = f"{row['framework']} {row['preset']} {row['rows']} x {row['length']} {row['dtype']}"
        cells = [
            name + recompute,
            f"{row['measured'] / 2**20:.1f}",
            f"{row['predicted']['crosscast'] / 2**20:.1f}",
            row["phase"],
            *(f"{error_of(row, estimator):+.1%}" for estimator in ESTIMATORS),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def write_page(path: Path, results: dict[str, Any]) -> None:
    text = path.read_text(encoding="utf-8")
    versions = ", ".join(
        f"{name} {version}" for name, version in sorted(results["versions"].items())
    )
    parts = {
        "summary": [*summary(results["rows"]), "", f"Measured on a CPU: {versions}."],
        "details": details(results["rows"]),
    }
    for name, lines in parts.items():
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        before, rest = text.split(begin)
        text = before + begin + "\n".join(lines) + "\n" + end + rest.split(end)[1]
    path.write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frameworks", default="torch", help="joined by commas")
    parser.add_argument("--results", type=Path, default=Path("docs/explanation/memory.json"))
    parser.add_argument("--docs", type=Path)
    options = parser.parse_args()
    run([name for name in options.frameworks.split(",") if name], options.results)
    if options.docs:
        write_page(options.docs, json.loads(options.results.read_text()))


if __name__ == "__main__":
    main()
