"""Write everything in the repository that is generated: schema, docs pages, compiled examples.

With --check nothing is written; the exit code is 1 if a file is not what would be written now.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from chinese_pages import chinese_codes_page, chinese_rules_page, glossary_page
from codes_page import codes_page
from commands_page import commands_page
from completed_words import completed_words
from coverage_page import coverage_page
from crosscast.recipe.document import Recipe
from crosscast.recipe.load import load
from crosscast.recipe.schema import schema_text
from crosscast.targets.default_tables import defaults_page
from crosscast.targets.matrix import markdown_page
from crosscast_migrate.schema import schema_text as migrate_schema_text
from crosscast_parity.recipes.derived import with_dtype
from crosscast_reading.lift.schema import schema_text as lift_schema_text
from drift_page import drift_page
from index_page import index_page
from lint_page import lint_page, rule_page
from own_parts import own_backends, own_rules
from python_page import python_page
from recipe_page import recipe_page
from toolkit_table import toolkit_table
from translations import promised, translation, updated
from weight_table import eras_table, rooms_table, with_table

ROOT = Path(__file__).resolve().parents[1]
RULES = ROOT / "docs" / "reference" / "rules"
CHINESE = ROOT / "docs" / "zh" / "reference"
DESIGN = ROOT / "docs" / "design.md"
MIGRATING = ROOT / "docs" / "reference" / "migrating.md"
TOOLKIT = ROOT / "docs" / "developing" / "toolkit.md"
sys.path.insert(0, str(ROOT / "tests"))

from drift.releases import ENVIRONMENTS  # noqa: E402
from emitted_checksums import checksums, is_released, kept_path  # noqa: E402


def expected() -> dict[Path, str]:
    """Return path to text of the schema and of the generated docs pages."""
    backends = own_backends()
    observed_together = [environment.releases for environment in ENVIRONMENTS]
    found = {
        ROOT / "schema" / "recipe-v1.json": schema_text(1),
        ROOT / "schema" / "recipe-v2.json": schema_text(),
        ROOT / "schema" / "lift-v1.json": lift_schema_text(),
        ROOT / "schema" / "migrate-v1.json": migrate_schema_text(),
        ROOT / "translator" / "crosscast" / "cli" / "completed_words.json": completed_words(),
        ROOT / "docs" / "index.md": index_page(),
        ROOT / "docs" / "reference" / "support-matrix.md": markdown_page(backends),
        ROOT / "docs" / "reference" / "defaults.md": defaults_page(backends),
        ROOT / "docs" / "reference" / "diagnostics.md": codes_page(backends),
        ROOT / "docs" / "reference" / "commands.md": commands_page(),
        ROOT / "docs" / "reference" / "python-reference.md": python_page(),
        ROOT / "docs" / "reference" / "recipe.md": recipe_page(),
        ROOT / "docs" / "reference" / "drift.md": drift_page(backends, observed_together),
        ROOT / "docs" / "reference" / "coverage.md": coverage_page(half_example()),
        ROOT / "docs" / "reference" / "lint-rules.md": lint_page(own_rules()),
        DESIGN: with_table(DESIGN, "rooms", rooms_table()),
        MIGRATING: with_table(MIGRATING, "eras", eras_table()),
        TOOLKIT: with_table(TOOLKIT, "toolkit", toolkit_table()),
        CHINESE / "diagnostics.md": chinese_codes_page(backends),
        CHINESE / "lint-rules.md": chinese_rules_page(own_rules()),
        CHINESE / "glossary.md": glossary_page(),
        **{RULES / f"{rule.code}.md": rule_page(rule) for rule in own_rules()},
    }
    for page in promised():
        if (chinese := ROOT / translation(page)).is_file():
            english = found.get(ROOT / page) or (ROOT / page).read_text(encoding="utf-8")
            found[chinese] = updated(page, english)
    return found


def half_example() -> Recipe:
    """Return the example of BERT-small in half precision."""
    return with_dtype(load(str(ROOT / "examples" / "bert-small" / "recipe.yaml")), "float16")


def main() -> int:
    """Write or check."""
    wanted = expected()
    stale = [
        path
        for path, text in wanted.items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    gone = [path for path in RULES.glob("*.md") if path not in wanted]
    for path in (*stale, *gone):
        if "--check" in sys.argv:
            print(f"stale: {path.relative_to(ROOT)} (run: make generate)")
        elif path in gone:
            print(f"{path.relative_to(ROOT)}: no rule with this code was loaded")
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(wanted[path], encoding="utf-8")
    examples = [sys.executable, str(ROOT / "examples" / "compile.py"), *sys.argv[1:]]
    failed = subprocess.run(examples, check=False).returncode
    if "--check" not in sys.argv and not is_released():
        kept_path().write_text(json.dumps(checksums(), indent=0) + "\n")
    return 1 if failed or ((stale or gone) and "--check" in sys.argv) else 0


if __name__ == "__main__":
    sys.exit(main())
