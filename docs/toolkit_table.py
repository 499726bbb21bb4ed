"""The toolkit: modules of `crosscast_reading` that packages of frameworks build on."""

from __future__ import annotations

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TOOLKIT = {
    "Programs": (
        *("pysource.programs.program", "pysource.programs.module", "pysource.programs.call"),
        *("pysource.programs.scopes", "pysource.programs.flag", "pysource.programs.evaluate"),
        *("pysource.programs.once", "pysource.syntax.nodes", "pysource.names.lookup"),
        *("pysource.names.containers", "readers.python.library_calls"),
        *("readers.python.module_words", "readers.python.value_flow", "readers.python.conditions"),
    ),
    "Values": ("pysource.values.value", "pysource.values.combine"),
    "Names of libraries": (
        *("pysource.libraries.words", "pysource.libraries.packages"),
        "pysource.libraries.precision_words",
        *("trainstep.frames.object_kinds", "readers.python.frameworks"),
    ),
    "Facts": (
        *("facts.fact", "facts.vocabulary", "readers.fact_builder", "readers.python.fact_writer"),
        *("readers.python.decisions", "readers.python.default_conditions"),
        *("readers.python.loaders", "readers.python.losses", "readers.python.optimizers"),
        *("readers.python.origins", "readers.python.shuffling"),
        *("readers.python.parameter_lists", "readers.python.precision"),
        *("readers.python.rate_curves", "readers.python.scale_bounds"),
        *("readers.python.scaler_switches", "readers.python.schedule_parts"),
        *("readers.python.schedules", "readers.python.seeds"),
    ),
    "Facts of configurations": (
        *("readers.settings", "readers.tree", "readers.words", "readers.schedule_names"),
        "readers.config.yaml_format",
    ),
    "Training steps": ("trainstep.events", "trainstep.steps.search"),
    "Rules": (
        *("sources.subject", "sources.connected", "lint.rule", "lint.outdated_apis"),
        "lint.answers.loop",
    ),
    "Edits": ("edits.edit", "edits.node_edits", "edits.layout"),
}
"""By subject, without `crosscast_reading`."""


@cache
def imported_names(folder: Path) -> dict[str, set[str]]:
    """Return the modules of `crosscast_reading` that a folder imports, with the names of each."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                package, _, module = node.module.partition(".")
                if package == "crosscast_reading":
                    found[module].update(alias.name for alias in node.names)
    return found


def toolkit_table() -> str:
    """Return the modules as Markdown, with the names that more than one framework imports."""
    users: dict[tuple[str, str], int] = defaultdict(int)
    for folder in (ROOT / "backends").iterdir():
        for module, names in imported_names(folder).items():
            for name in names:
                users[module, name] += 1
    lines = []
    for subject, modules in TOOLKIT.items():
        lines += [f"### {subject}", "", "| module | what it has | |", "|---|---|---|"]
        for module in modules:
            path = ROOT / "translator/crosscast_reading" / f"{module.replace('.', '/')}.py"
            about = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").split(
                "\n"
            )[0]
            shared = sorted(
                name for (home, name), count in users.items() if home == module and count > 1
            )
            lines.append(
                f"| `{module}` | {about.rstrip('.')} | {', '.join(f'`{n}`' for n in shared)} |"
            )
        lines.append("")
    return "\n".join(lines)
