"""`crosscast parity` for a recipe with custom models: where do they differ?"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from crosscast.messages.diagnostics import failure
from crosscast.messages.missing_packages import parity_missing
from crosscast.messages.output import OutputFile, write_files

if TYPE_CHECKING:
    from crosscast.recipe.document import Recipe

EXIT_DIFFERENT, EXIT_NOT_TESTED = 1, 3


def compare_models(
    recipe: Recipe,
    folder: Path,
    targets: Sequence[str],
    output: Path,
    *,
    python: Sequence[str],
    timeout: float,
    unused: Sequence[str],
) -> int:
    """Compare the models of a recipe module by module, write the report, print it.

    Args:
        recipe: With `model.kind: custom`.
        folder: Of the recipe.
        targets: What is compared; the first one is the reference.
        output: Folder for the report.
        python: Interpreters, TARGET=PATH.
        timeout: Of a step of a process, in seconds.
        unused: Options of the command line that have no effect on this comparison.

    Returns:
        1 if models differ; else 3, because the levels that train are not tested.

    Raises:
        DiagnosticError: CC704 for unused options, CC760 to CC763 for the models.
    """
    if unused:
        hint = "your models are compared module by module, on a CPU in float32; nothing is trained"
        raise failure("CC704", f"{', '.join(unused)}: only with model.kind: bert", hint)
    try:
        from crosscast_parity.modules.command import compare_modules
        from crosscast_parity.modules.report import as_json, text_of
        from crosscast_parity.planning.options import read_interpreters
        from crosscast_parity.weights.command import Request
    except ModuleNotFoundError as error:
        raise parity_missing("the parity harness needs", error) from None
    from crosscast.weights.document import NAME
    from crosscast.weights.writer import text_of as weights_text

    result = compare_modules(
        Request(
            recipe=recipe,
            folder=folder,
            targets=targets,
            python=read_interpreters(python, targets),
            timeout=timeout,
        )
    )
    lines = text_of(result)
    files = {
        "modules.txt": OutputFile("\n".join([*lines, ""])),
        "modules.json": OutputFile(json.dumps(as_json(result), indent=1) + "\n"),
    }
    if result.matched:
        files[NAME] = OutputFile(weights_text(result.known))
        lines.append(f"weights were matched on the way: {output / NAME}")
    write_files(output, files, force=True, manifest=False)
    print(*lines, f"report: {output / 'modules.txt'}", sep="\n")
    return EXIT_NOT_TESTED if result.same else EXIT_DIFFERENT
