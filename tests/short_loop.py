"""The few tests that show whether a change to one thing is right: `python -m short_loop KIND NAME`.

KIND is `rule` (CL523), `template` (paddle/scaler.j2) or `level` (L1b). Which tests these are is
read off the tests: those that name the rule, print the template's framework, or import the modules
that make the level's checks. What follows NAME goes to pytest.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
UNIT = ROOT / "tests" / "unit"
EMISSION = ROOT / "tests" / "emission"
LEVELS = ROOT / "parity" / "crosscast_parity" / "levels"
KEPT = "(golden or kept or whole or reports)"
"""In the names of tests that compare with kept files."""


def of_rule(code: str) -> list[str]:
    """Return arguments of pytest: the rule's examples, its readings, and tests that name it."""
    readings = [path.stem for path in mentioning(UNIT / "readings", "*.md", code)]
    tests = [*mentioning(UNIT, "test_*.py", code)]
    if not readings and not tests and not (ROOT / f"docs/reference/rules/{code}.md").exists():
        sys.exit(f"no such rule: {code}")
    every = [UNIT / "lint" / "test_rules.py", UNIT / "readings" / "test_readings.py", *tests]
    return [*map(str, every), "-k", " or ".join([code, *readings, *(t.stem for t in tests)])]


def of_template(name: str) -> list[str]:
    """Return arguments of pytest: files that are kept of the template's framework, their style."""
    templates = ROOT / "templates"
    if not (templates / name).is_file():
        sys.exit(f"no such template: {templates / name}")
    framework = name.partition("/")[0]
    wanted = KEPT if framework.startswith("_") else f"{KEPT} and {framework}"
    tests = [*mentioning(EMISSION, "test_*.py", "goldens")]
    return [*map(str, tests), "-k", wanted]


def of_level(level: str) -> list[str]:
    """Return arguments of pytest: the unit tests named after what makes the level's checks.

    If there are none, those that import it.
    """
    modules = [path.stem for path in LEVELS.glob("*.py") if f'"{level}"' in path.read_text()]
    if not modules:
        sys.exit(f"no such level: {level}")
    names = "|".join(modules)
    imports = re.compile(rf"crosscast_parity\.levels(\.| import .*)\b({names})\b")
    tests = [str(path) for path in UNIT.rglob("test_*.py") if imports.search(path.read_text())]
    own = {f"test_{prefix}{module}" for prefix in ("", "levels_") for module in modules}
    return [test for test in tests if Path(test).stem in own] or tests


def mentioning(folder: Path, pattern: str, word: str) -> Iterator[Path]:
    """Yield the files below a folder that have a word in them."""
    whole = re.compile(rf"\b{re.escape(word)}\b")
    for path in sorted(folder.rglob(pattern)):
        if whole.search(path.read_text(encoding="utf-8")):
            yield path


KINDS: dict[str, Callable[[str], list[str]]] = {
    "rule": of_rule,
    "template": of_template,
    "level": of_level,
}


def main(kind: str, name: str, *more: str) -> None:
    """Become pytest."""
    chosen = KINDS[kind](name)
    options = ("-q", "-m", "not exhaustive", *more)
    os.chdir(ROOT)
    os.execv(sys.executable, [sys.executable, "-m", "pytest", *options, *chosen])


if __name__ == "__main__":
    main(*sys.argv[1:])
