"""Compile every example: `examples/NAME/recipe.yaml` to `examples/NAME/after/TARGET/`.

It also writes examples/README.md, which counts the lines of what is emitted.

With --check nothing is written; the exit code is 1 if a committed file is not what the current
crosscast emits. A target that cannot express the recipe has a `unsupported.txt` instead.

The text of `runtime/` depends on the dialect alone, so only the examples in WITH_RUNTIME have it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

from crosscast.emit.compiler import compile_recipe
from crosscast.messages.diagnostics import DiagnosticError, render
from crosscast.recipe.load import load
from crosscast.targets.backend import program_names

EXAMPLES = Path(__file__).resolve().parent
_OWN = distribution("crosscast").entry_points.select(group="crosscast.backends").names
TARGETS = [name for name in program_names() if name in _OWN]
"""The frameworks of crosscast itself, without plug-ins that are installed."""
WITH_RUNTIME = ("bert-small", "data-parallel-from-scratch")
README = """\
# Examples

An example is a `recipe.yaml` and, in `after`, the files that crosscast emits for each framework;
most also have the script that the recipe replaces (`before`). `make generate` compiles them again.

Every script needs the package `runtime/` beside it. Its text is the same for all scripts of a
framework and API generation, so only bert-small and data-parallel-from-scratch have a copy here.
To run another example, compile its recipe: `crosscast compile recipe.yaml --to torch -o out`.

In three examples the models are not crosscast's own. Each has `model_torch.py`,
`model_tensorflow.py` and `model_paddle.py`, one function written three times, and `data.py`, which
makes its rows; [Own models](../docs/reference/own-models.md) walks through one of them.

- [resnet-cifar](resnet-cifar/recipe.yaml): a ResNet-18 for images of 32 x 32 pixels. Batch
  normalization, SGD with Nesterov momentum, cosine schedule.
- [gpt](gpt/recipe.yaml): a GPT with tied embeddings and dropout. The loss is a mean over labels
  that are not -100; AdamW with groups; float16 with a dynamic loss scale.
- [lstm-forecast](lstm-forecast/recipe.yaml): a regression with an LSTM. Squared error, clipping by
  value.

Lines of `train.py`:

| example | {titles} |
|---|{rule}
{rows}

Lines of the modules of `runtime/`, in bert-small:

| module | {titles} |
|---|{rule}
{modules}
"""


def expected() -> dict[Path, tuple[str, bool]]:
    """Return path to (text, executable) of everything below the `after` folders."""
    files: dict[Path, tuple[str, bool]] = {}
    for path in sorted(EXAMPLES.glob("*/recipe.yaml")):
        recipe = load(str(path))
        for target in TARGETS:
            folder = path.parent / "after" / target
            try:
                (compiled,) = compile_recipe(recipe, [target])
            except DiagnosticError as error:
                files[folder / "unsupported.txt"] = (render(error.diagnostics) + "\n", False)
                continue
            for name, file in compiled.files.items():
                if name.startswith("runtime/") and path.parent.name not in WITH_RUNTIME:
                    continue
                files[folder / name] = (file.text, file.executable)
    return files


def readme(files: dict[Path, tuple[str, bool]]) -> str:
    """Return the page that counts the lines of the emitted files."""
    lines = {path: len(text.splitlines()) for path, (text, _) in files.items()}
    names = sorted({path.relative_to(EXAMPLES).parts[0] for path in files})
    emitted = EXAMPLES / "bert-small" / "after"
    modules = sorted({path.name for path in files if path.parent.name == "runtime"})

    def row(name: str, paths: Iterator[Path]) -> str:
        counts = (str(lines.get(path, "")) for path in paths)
        return f"| {name} | {' | '.join(counts)} |"

    targets = TARGETS
    return README.format(
        titles=" | ".join(targets),
        rule="---|" * len(targets),
        rows="\n".join(
            row(name, (EXAMPLES / name / "after" / target / "train.py" for target in targets))
            for name in names
        ),
        modules="\n".join(
            row(f"`{name}`", (emitted / target / "runtime" / name for target in targets))
            for name in modules
        ),
    )


def main() -> int:
    """Write or check the compiled examples."""
    wanted = expected()
    wanted[EXAMPLES / "README.md"] = (readme(wanted), False)
    present = {p for p in EXAMPLES.glob("*/after/**/*") if p.suffix != ".pyc" and p.is_file()}
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
