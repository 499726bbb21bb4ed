"""Compile every example: `examples/NAME/recipe.yaml` to `examples/NAME/after/TARGET/`.

With --check nothing is written; the exit code is 1 if a committed file is not what the current
crosscast emits. A target that cannot express the recipe has a `unsupported.txt` instead.
"""

from __future__ import annotations

import sys
from pathlib import Path

from crosscast.emit.compiler import compile_recipe
from crosscast.messages.diagnostics import DiagnosticError, render
from crosscast.readers.recipe_yaml import load
from crosscast.targets.backend import program_names

EXAMPLES = Path(__file__).resolve().parent


def expected() -> dict[Path, tuple[str, bool]]:
    """Return path to (text, executable) of everything below the `after` folders."""
    files: dict[Path, tuple[str, bool]] = {}
    for path in sorted(EXAMPLES.glob("*/recipe.yaml")):
        recipe = load(str(path))
        for target in program_names():
            folder = path.parent / "after" / target
            try:
                (compiled,) = compile_recipe(recipe, [target])
            except DiagnosticError as error:
                files[folder / "unsupported.txt"] = (render(error.diagnostics) + "\n", False)
                continue
            for name, file in compiled.files.items():
                files[folder / name] = (file.text, file.executable)
    return files


def main() -> int:
    """Write or check the compiled examples."""
    wanted = expected()
    present = {p for p in EXAMPLES.glob("*/after/*/*") if p.suffix != ".pyc" and p.is_file()}
    stale = sorted(present - wanted.keys())
    stale += [p for p, (text, _) in wanted.items() if not p.exists() or p.read_text() != text]
    if "--check" in sys.argv:
        for path in stale:
            print(f"stale: {path.relative_to(EXAMPLES)} (run: make generate)")
        return 1 if stale else 0
    for path in present - wanted.keys():
        path.unlink()
    for path, (text, executable) in wanted.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755 if executable else 0o644)
    return 0


if __name__ == "__main__":
    sys.exit(main())
