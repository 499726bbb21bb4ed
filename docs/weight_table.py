"""Lines of code by part, and results of the migrations on unseen programs."""

from __future__ import annotations

from pathlib import Path

from crosscast.targets.source_support import Era, installed_support

ROOT = Path(__file__).resolve().parents[1]
ROOMS = {
    "the core, from a recipe to programs": ("translator/crosscast",),
    "reading, whatever the framework is": ("translator/crosscast_reading",),
    "migration, whatever the framework is": ("translator/crosscast_migrate",),
    "targets": ("backends/*/target",),
    "frameworks in the processes of the harness": ("backends/*/inside", "backends/*/stand_ins"),
    "readers, rules, models and names of frameworks": (
        *("backends/*/reading", "backends/*/answers", "backends/*/rules", "backends/*/words"),
        *("backends/*/models", "backends/*/states"),
    ),
    "migrations of frameworks, all experimental": ("backends/*/migration",),
    "the harness": ("parity/crosscast_parity",),
}
_OF_ERA = {
    "cuda_amp": ("crosscast_torch/migration/experimental/codemods_cuda_amp",),
    "apex": (
        "crosscast_torch/migration/experimental/apex",
        "crosscast_torch/migration/experimental/codemods_apex",
    ),
    "keras2": (
        "crosscast_tensorflow/migration/experimental/keras",
        "crosscast_tensorflow/migration/experimental/keras_names",
        "crosscast_tensorflow/migration/experimental/codemods_keras2",
    ),
    "tensorflow1": (
        "crosscast_tensorflow/migration/experimental/tensorflow1",
        "crosscast_tensorflow/migration/experimental/codemods_tensorflow1",
    ),
    "paddle": ("crosscast_paddle/migration/experimental",),
}
"""Folders below `backends` that hold what only one era needs."""


def eras() -> list[Era]:
    """Return the eras of crosscast's own packages."""
    found = [era for support in installed_support().values() for era in support.eras]
    return sorted(
        (era for era in found if era.name in _OF_ERA), key=lambda e: [*_OF_ERA].index(e.name)
    )


def lines_of(*patterns: str) -> int:
    """Count the lines of the modules in some folders."""
    folders = [folder for pattern in patterns for folder in ROOT.glob(pattern)]
    files = {path for folder in folders for path in folder.rglob("*.py")}
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files)


def not_experimental() -> int:
    """Count the lines of the product that no experimental migration needs."""
    experimental = (f"backends/{folder}" for folders in _OF_ERA.values() for folder in folders)
    return lines_of("translator", "backends", "parity") - lines_of(*experimental)


def _thousands(lines: int) -> str:
    return f"{max(1, round(lines / 1000))},000"


def rooms_table() -> str:
    """Return the lines of the rooms as Markdown."""
    rows = [f"| {title} | {_thousands(lines_of(*rooms))} |" for title, rooms in ROOMS.items()]
    rows.append(
        f"| all but what only experimental migrations need | {_thousands(not_experimental())} |"
    )
    return "\n".join(["| part | lines |", "|---|---:|", *rows])


def eras_table() -> str:
    """Return what every migration in place weighs and yields as Markdown."""
    rows = []
    for era in eras():
        lines = _thousands(lines_of(*(f"backends/{folder}" for folder in _OF_ERA[era.name])))
        state = "experimental" if era.is_experimental else ""
        rows.append(
            f"| {era.title} | {lines} | {era.programs} | {era.right} | {era.wrong} | {state} |"
        )
    head = "| from | lines | unseen programs | right | wrong | |"
    return "\n".join([head, "|---|---:|---:|---:|---:|---|", *rows])


def with_table(page: Path, name: str, table: str) -> str:
    """Return a page with a table between its comments `<!-- NAME -->` and `<!-- /NAME -->`."""
    text = page.read_text(encoding="utf-8")
    head, start, rest = text.partition(f"<!-- {name} -->\n")
    _, end, tail = rest.partition(f"<!-- /{name} -->\n")
    if not (start and end):
        raise ValueError(f"{page} has no place for the table {name}")
    return f"{head}{start}{table}\n{end}{tail}"
