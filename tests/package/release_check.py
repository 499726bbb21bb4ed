"""Check a release: `python -m package.release_check`, by `make release-check`.

The wheel is installed with the newest and with the oldest dependencies that it allows into empty
environments of every Python that it names, and used there as its readers would. A Python that is
not on this machine is reported as NOT TESTED, and the check fails.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from package.built_package import build, contents, new_environment, pip, run, unpacked
from source_trees import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SCRIPT = ROOT / "examples" / "apex-o1" / "before" / "train.py"
Dependencies = Literal["newest", "oldest"]
_MINOR = re.compile(r"Programming Language :: Python :: (3\.\d+)")
PYTHONS = [found[1] for line in PROJECT["classifiers"] if (found := _MINOR.fullmatch(line))]
SESSION = (
    ("--version", 0, PROJECT["version"]),
    ("init", 0, "recipe.yaml"),
    ("check recipe.yaml", 0, "Found no errors"),
    ("compile recipe.yaml --to torch,tensorflow,paddle -o out", 0, "out/torch"),
    ("show recipe.yaml", 0, "signal_seconds"),
    ("explain recipe.yaml", 0, "CC345"),
    ("matrix", 0, "clipping"),
    ("schema", 0, "patternProperties"),
    ("lint train.py", 1, "CL902"),
    ("lift train.py", 0, "FILL IN"),
    ("explain train.py", 0, "zero_grad"),
    ("diff recipe.yaml train.py", 1, "optimizer.name"),
    ("migrate train.py --to paddle -o moved", 1, "CC972"),
    ("migrate train.py --to torch.amp --experimental --write --no-run", 0, "Done: converted: 1"),
    ("drift keras 3.4 3.15 --name iterations", 0, "3.6.0"),
    ("explore recipe.yaml -o page.html", 0, "page.html"),
)
"""Commands with their exit codes and a word that they print."""
FUNCTIONS = """
import crosscast as cc

recipe = cc.load("recipe.yaml")
made = cc.compile(recipe, to=["torch", "paddle"])
results = [
    recipe, made, cc.check("recipe.yaml"), cc.explain(recipe), cc.explore(recipe),
    cc.lift("train.py"), cc.lint("train.py"), cc.migrate("train.py", "paddle"),
    cc.drift("torch"), cc.matrix(),
]
for result in results:
    assert str(result) and result._repr_html_(), result
print(*made.files)
"""
SIZES = """
import json
from importlib.metadata import distributions

found = {}
for each in distributions():
    found[each.name] = sum(file.size or 0 for file in each.files)
print(json.dumps(found))
"""
STRICT = "error::DeprecationWarning,error::PendingDeprecationWarning,error::SyntaxWarning"
"""For the newest dependencies; what is old may use what is deprecated since."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """What was measured in an environment in which everything works."""

    bytes: dict[str, int]
    """Size of every distribution in it."""
    compile_seconds: float
    """Wall time of `crosscast compile` for three frameworks, when all is compiled and cached."""


def interpreter(version: str) -> Path | None:
    """Return a Python of a minor version that is on this machine, if there is one."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    named = shutil.which(f"python{version}")
    ask = "import sys, ssl, venv; print('{}.{}'.format(*sys.version_info))"
    for path in (named, *sorted(pyenv.glob(f"versions/{version}.*/bin/python"))):
        if path is not None:
            done = subprocess.run([path, "-c", ask], capture_output=True, text=True, check=False)
            if done.stdout.strip() == version:
                return Path(path)
    return None


def oldest() -> Iterator[str]:
    """Yield the oldest releases that the dependencies allow."""
    for dependency in PROJECT["dependencies"]:
        name, least = dependency.partition(",")[0].split(">=")
        yield f"{name}=={least}"


def use(wheel: Path, python: Path, dependencies: Dependencies, folder: Path) -> Used:
    """Install the wheel into a new environment and use it.

    Raises:
        AssertionError: something does not do what it should.
    """
    programs = new_environment(folder / "venv", python)
    pinned = [*oldest()] if dependencies == "oldest" else []
    run(*pip(programs / "python"), "install", "-q", "--no-compile", wheel, *pinned)
    sizes = json.loads(run(programs / "python", "-I", "-c", SIZES).stdout)
    foreign = {"numpy", "torch", "tensorflow", "tensorflow-cpu", "paddlepaddle"} & {*sizes}
    assert not foreign, f"installed with the core: {foreign}"
    work = folder / "work"
    work.mkdir()
    shutil.copy(SCRIPT, work)
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    env |= {"XDG_CACHE_HOME": str(folder / "cache"), "COLUMNS": "120"}
    if dependencies == "newest":
        env["PYTHONWARNINGS"] = STRICT
    for words, code, told in SESSION:
        done = run(programs / "crosscast", *words.split(), cwd=work, code=code, env=env)
        assert told in done.stdout + done.stderr, f"{words}: no {told!r} in {done.stdout}"
    run(programs / "python", "-c", FUNCTIONS, cwd=work, env=env)
    run(programs / "python", "-W", "error", "-m", "compileall", "-q", "out", cwd=work)
    command = (*SESSION[3][0].split(), "--force")
    start = time.perf_counter()
    run(programs / "crosscast", *command, cwd=work, env=env)
    return Used(bytes=sizes, compile_seconds=time.perf_counter() - start)


def main() -> int:
    """Check everything, print what was found, and return the exit code."""
    failed = False
    with tempfile.TemporaryDirectory(prefix="crosscast-release-") as name:
        folder = Path(name)
        wheel = build(folder / "wheel", "--wheel")
        sdist = build(folder / "sdist", "--sdist")
        again = build(folder / "again", "--wheel", unpacked(sdist, folder / "source"))
        for path in (wheel, sdist):
            print(f"{path.name}: {_megabytes(path.stat().st_size)}")
        same = contents(again) == contents(wheel)
        print(f"the sdist builds {'the same' if same else 'ANOTHER'} wheel", flush=True)
        failed |= not same
        for version in PYTHONS:
            python = interpreter(version)
            if python is None:
                print(f"Python {version}: NOT TESTED: it is not on this machine")
                failed = True
                continue
            for dependencies in ("newest", "oldest"):
                told = f"Python {version}, {dependencies} dependencies"
                try:
                    used = use(wheel, python, dependencies, folder / version / dependencies)
                except AssertionError as error:
                    print(f"{told}: FAILED: {error}", flush=True)
                    failed = True
                else:
                    print(f"{told}: {_told(used)}", flush=True)
    return int(failed)


def _told(used: Used) -> str:
    own = used.bytes[PROJECT["name"]]
    others = _megabytes(sum(used.bytes.values()) - own)
    return (
        f"works; {_megabytes(own)} and {others} of {len(used.bytes) - 1} dependencies; "
        f"compiles for three frameworks in {used.compile_seconds:.1f} s"
    )


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"


if __name__ == "__main__":
    sys.exit(main())
