"""Are the emitted scripts the same training: four models, three types, four frameworks.

    python benchmarks/equivalence.py --docs

Every comparison is `crosscast parity --check model` in a process of its own. What has been compared
is kept in docs/measurements/equivalence.json with the commands' output folder left out, so an
interrupted run goes on; `--again` compares again.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from equivalence_page import DATA, PAGE, PROBLEMS, REFERENCE, TYPES, page

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
TARGETS = ("torch", "tensorflow", "paddle", "jax")
PRECISION = {
    "float32": ("{mode: none, compute_dtype: float32}", "none"),
    "float16": ("{mode: mixed, compute_dtype: float16}", "dynamic"),
    "bfloat16": ("{mode: mixed, compute_dtype: bfloat16}", "none"),
}
FIELDS = ("precision:", "loss_scaling:")
"""Lines of a recipe that are replaced; each of the examples has them in one line, or not at all."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One recipe whose scripts for all frameworks are compared."""

    problem: str
    dtype: str

    @property
    def key(self) -> str:
        """Its name among the results."""
        return f"{self.problem}/{self.dtype}"

    def write(self, folder: Path) -> Path:
        """Write the recipe, and the modules that it names, into a folder."""
        problem = PROBLEMS[self.problem]
        source = EXAMPLES / problem.recipe
        for module in source.parent.glob("*.py"):
            shutil.copy(module, folder)
        text = source.read_text()
        for before, after in problem.changes.items():
            if before not in text:
                raise SystemExit(f"{source}: there is no {before!r} to replace")
            text = text.replace(before, after)
        kept = [line for line in text.splitlines() if not line.startswith(FIELDS)]
        precision, scaling = PRECISION[self.dtype]
        kept += [f"precision: {precision}", f"loss_scaling: {{mode: {scaling}}}"]
        path = folder / "recipe.yaml"
        path.write_text("\n".join(kept) + "\n")
        return path


def compare(comparison: Comparison, options: argparse.Namespace) -> dict[str, Any]:
    """Run one comparison; return what of its report the page shows."""
    with tempfile.TemporaryDirectory(dir=options.work) as name:
        folder = Path(name)
        recipe, out = comparison.write(folder), folder / "out"
        command = [sys.executable, "-m", "crosscast", "parity", str(recipe), "-o", str(out)]
        command += ["--to", ",".join(options.targets), "--check", "model"]
        command += ["--windows", str(options.windows), "--jobs", str(options.jobs)]
        start = time.monotonic()
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        seconds = time.monotonic() - start
        report = out / "report.json"
        if not report.exists():
            raise SystemExit(f"{comparison.key}: no report\n{done.stdout}{done.stderr}")
        document = json.loads(report.read_text())
        if options.keep:
            shutil.copytree(out, options.keep / comparison.key.replace("/", "-"))
    pairs = {pair["contestant"]: _pair(pair) for pair in document["pairs"]}
    weights = max(stage["weights"] for stage in document["stages"])
    return {
        "windows": options.windows,
        "weights": weights,
        "seconds": round(seconds),
        "pairs": pairs,
    }


def _pair(pair: dict[str, Any]) -> dict[str, Any]:
    """Verdict of one pair, its failed checks, and the trajectory's largest share of its limit."""
    results = [check["result"] for check in pair["checks"]]
    return {
        "verdict": pair["verdict"],
        "checks": {result: results.count(result) for result in sorted(set(results))},
        "share": max(_shares(pair["checks"]), default=None),
        "failed": [c["wording"] for c in pair["checks"] if c["result"] == "fail"],
    }


def _shares(checks: list[dict[str, Any]]) -> Iterator[float]:
    """How much of its limit each check of the loss trajectory used."""
    for check in checks:
        if check["level"] == "L2" and check["limit"] and isinstance(check["value"], float):
            yield check["value"] / check["limit"]


def main() -> int:
    """Compare what has not been compared; return 1 if a pair is not EQUIVALENT."""
    options = _arguments()
    known: dict[str, Any] = json.loads(DATA.read_text()) if DATA.exists() else {}
    for problem in options.problems:
        for dtype in options.types:
            comparison = Comparison(problem, dtype)
            entry = known.get(comparison.key, {"pairs": {}})
            missing = set(options.targets) - {REFERENCE} - set(entry["pairs"])
            if missing or options.again:
                known[comparison.key] = compare(comparison, options)
                DATA.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
            print(comparison.key, json.dumps(known[comparison.key]), flush=True)
    if options.docs:
        PAGE.write_text(page(known))
    verdicts = {p["verdict"] for entry in known.values() for p in entry["pairs"].values()}
    return int(verdicts != {"EQUIVALENT"})


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--problems", type=lambda text: text.split(","), default=list(PROBLEMS))
    add("--types", type=lambda text: text.split(","), default=list(TYPES))
    add("--targets", type=lambda text: text.split(","), default=list(TARGETS))
    add("--windows", type=int, default=24)
    add("--jobs", type=int, default=2)
    add("--work", type=Path, help="folder for temporary files")
    add("--keep", type=Path, help="folder to keep the reports in")
    add("--again", action="store_true", help="compare what has been compared, too")
    add("--docs", action="store_true", help=f"write docs/measurements/{PAGE.name}")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
