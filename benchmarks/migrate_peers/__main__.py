"""Put training scripts through the tools for migration; write docs/measurements/migration-peers.md.

python benchmarks/migrate_peers [--paconvert PYTHON] [--ivy PYTHON] [--torchfix PYTHON]
    [--tensorflow-2.5 PYTHON] [--ivy-inputs NAME,...] [--limit SECONDS] [--jobs NUMBER]
    [--only TOOL,...] [--inputs NAME,...] [--keep FOLDER]
python benchmarks/migrate_peers --public FILES [--public-only PART] [--paconvert PYTHON]
    [--paddle-upgrade PYTHON]

The page is written by a run of all tools and all inputs; one with --only or --inputs only prints.
With --public the public programs in FILES (see benchmarks/migrate_programs) are measured instead,
and their rows replace those on the page.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from cases import CASES, Case
from judge import judge, source_curve
from means import HERE, ROOT, Means, call
from page import page
from public import public_rows
from tools import TOOLS

from crosscast import __version__ as crosscast_version

RESULTS = ROOT / "docs/measurements/migration-peers.json"
PAGE = ROOT / "docs/measurements/migration-peers.md"
PACKAGES = {
    "here": ("torch", "tensorflow-cpu", "keras", "paddlepaddle"),
    "paconvert": ("paconvert",),
    "ivy": ("ivy",),
    "torchfix": ("TorchFix",),
    "paddle-upgrade": ("paddle-upgrade-tool",),
    "tensorflow-2.5": ("tensorflow-cpu",),
}


def main() -> int:
    """Run the tools that were asked for; write, if that was all of them."""
    options = _options()
    paths = {name: path for name in PACKAGES if (path := options[name.replace("-", "_")])}
    few = tuple(options["ivy_inputs"].split(",")) if options["ivy_inputs"] else ()
    means = Means(interpreters=paths, limit=options["limit"], ivy_inputs=few)
    if options["public"]:
        _write(_measured() | _public(options, means))
        return 0
    names = options["only"].split(",") if options["only"] else list(TOOLS)
    wanted = options["inputs"].split(",") if options["inputs"] else [case.name for case in CASES]
    with tempfile.TemporaryDirectory() as made, ThreadPoolExecutor(options["jobs"]) as pool:
        root = Path(options["keep"] or made).resolve()
        cases = [case for case in CASES if case.name in wanted]
        found = pool.map(lambda case: dict(_rows(case, names, root / case.name, means)), cases)
        rows = {case.name: of_case for case, of_case in zip(cases, found, strict=True)}
    if options["only"] or options["inputs"]:
        return 0
    _write(_measured() | {"versions": _versions(means), "limit": means.limit, "rows": rows})
    return 0


def _measured() -> dict[str, Any]:
    """Return what earlier runs measured."""
    found: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return found


def _public(options: dict[str, Any], means: Means) -> dict[str, Any]:
    rows = public_rows(Path(options["public"]).resolve(), means, options["public_only"])
    before = _measured().get("public", {}).get("rows", {}) if options["public_only"] else {}
    return {"public": {"versions": _versions(means), "rows": before | rows}}


def _write(result: dict[str, Any]) -> None:
    RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(result), encoding="utf-8")


def _options() -> dict[str, Any]:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    for name in PACKAGES:
        default = sys.executable if name == "here" else ""
        parser.add_argument(f"--{name}", dest=name.replace("-", "_"), default=default)
    help_ = "of processor time, for a tool and an input, and for a run of what it wrote"
    parser.add_argument("--limit", type=float, default=420.0, metavar="SECONDS", help=help_)
    help_ = "the inputs that Ivy is given, which takes minutes for each; all without it"
    parser.add_argument("--ivy-inputs", default="", metavar="NAME,...", help=help_)
    parser.add_argument("--jobs", type=int, default=1, help="inputs at a time")
    parser.add_argument("--only", default="", help=f"of {', '.join(TOOLS)}")
    parser.add_argument("--inputs", default="")
    parser.add_argument("--public", default="", metavar="FILES", help="the public programs")
    parser.add_argument("--public-only", default="", help="a part of their identifiers")
    parser.add_argument("--keep", default="", help="an empty folder for what the tools write")
    return vars(parser.parse_args())


def _versions(means: Means) -> dict[str, str]:
    commit = call(["git", "describe", "--always", "--dirty"], ROOT, 60).stdout.strip()
    found = {"crosscast": f"{crosscast_version} (commit {commit or 'unknown'})"}
    for interpreter, path in means.interpreters.items():
        for package in PACKAGES[interpreter]:
            ask = f"import importlib.metadata as m; print(m.version({package!r}))"
            done = call([path, "-c", ask], HERE, 60)
            what = f"{package} of the sources" if interpreter == "tensorflow-2.5" else package
            found[what] = done.stdout.strip() or "unknown"
    return found


def _rows(
    case: Case, names: list[str], root: Path, means: Means
) -> Iterator[tuple[str, dict[str, object]]]:
    curve: list[float] | str | None = None
    for name in names:
        tool = TOOLS[name]
        if case.framework not in tool.frameworks:
            continue
        if tool.needs not in means.interpreters:
            yield name, {"answer": "not installed"}
            continue
        if name == "ivy" and means.ivy_inputs and case.name not in means.ivy_inputs:
            yield name, {"answer": "not tried"}
            continue
        folder = root / name
        folder.mkdir(parents=True)
        if curve is None:
            curve = source_curve(case, folder, means)
            print(case.name, "source:", curve if isinstance(curve, str) else len(curve))
        row = judge(case, tool.make(case, folder, means), curve, folder, means)
        row.pop("said", None)
        print(case.name, name, row, flush=True)
        yield name, row


if __name__ == "__main__":
    sys.exit(main())
