"""Put training scripts through the tools for migration; write docs/migration-peers.md.

python benchmarks/migrate_peers [--paconvert PYTHON] [--ivy PYTHON] [--torchfix PYTHON]
    [--tensorflow-2.5 PYTHON] [--only TOOL,...] [--inputs NAME,...] [--keep FOLDER]
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cases import CASES, Case
from judge import judge, source_curve
from page import page
from tools import HERE, ROOT, TOOLS, Interpreters, call

RESULTS = ROOT / "docs/migration-peers.json"
PAGE = ROOT / "docs/migration-peers.md"
PACKAGES = {
    "here": ("torch", "tensorflow-cpu", "keras", "paddlepaddle"),
    "paconvert": ("paconvert",),
    "ivy": ("ivy",),
    "torchfix": ("TorchFix",),
    "tensorflow-2.5": ("tensorflow-cpu",),
}


def main() -> int:
    """Run the tools that were asked for, and write."""
    options = _options()
    given = {name: path for name in PACKAGES if (path := options[name.replace("-", "_")])}
    found = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    found = {"versions": {}, "rows": {}} | found
    found["versions"] |= _versions(given)
    names = options["only"].split(",") if options["only"] else list(TOOLS)
    wanted = options["inputs"].split(",") if options["inputs"] else [one.name for one in CASES]
    with tempfile.TemporaryDirectory() as made:
        root = Path(options["keep"] or made).resolve()
        for case in CASES:
            if case.name in wanted:
                rows = found["rows"].setdefault(case.name, {})
                rows |= dict(_rows(case, names, root / case.name, given))
                RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(found), encoding="utf-8")
    return 0


def _options() -> dict[str, Any]:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    for name in PACKAGES:
        default = sys.executable if name == "here" else ""
        parser.add_argument(f"--{name}", dest=name.replace("-", "_"), default=default)
    parser.add_argument("--only", default="", help=f"of {', '.join(TOOLS)}")
    parser.add_argument("--inputs", default="")
    parser.add_argument("--keep", default="", help="an empty folder for what the tools write")
    return vars(parser.parse_args())


def _versions(given: Interpreters) -> dict[str, str]:
    found = {}
    for interpreter, path in given.items():
        for package in PACKAGES[interpreter]:
            ask = f"import importlib.metadata as m; print(m.version({package!r}))"
            done = call([path, "-c", ask], HERE)
            what = f"{package} of the sources" if interpreter == "tensorflow-2.5" else package
            found[what] = done.stdout.strip() or "unknown"
    return found


def _rows(
    case: Case, names: list[str], root: Path, given: Interpreters
) -> Iterator[tuple[str, dict[str, object]]]:
    curve: list[float] | str | None = None
    for name in names:
        tool = TOOLS[name]
        if case.framework not in tool.frameworks:
            continue
        if tool.needs not in given:
            yield name, {"answer": "not installed"}
            continue
        folder = root / name
        folder.mkdir(parents=True)
        if curve is None:
            curve = source_curve(case, folder, given)
            print(case.name, "source:", curve if isinstance(curve, str) else len(curve))
        row = judge(case, tool.make(case, folder, given), curve, folder, given)
        row.pop("said", None)
        print(case.name, name, row, flush=True)
        yield name, row


if __name__ == "__main__":
    sys.exit(main())
