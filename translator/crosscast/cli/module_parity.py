"""`crosscast parity` for a recipe with custom models: are they the same, module by module?"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from crosscast.messages.diagnostics import failure
from crosscast.messages.output import OutputFile, write_files

if TYPE_CHECKING:
    from crosscast_parity.modules.command import Result
    from crosscast_parity.weights.command import Request

EXIT_DIFFERENT = 1


def compare_models(request: Request, output: Path, *, unused: Sequence[str]) -> Result:
    """Compare the models of a recipe module by module, write the report, print it.

    Args:
        request: The recipe, what is compared, and how.
        output: Folder for the report.
        unused: Options of the command line that have no effect on this comparison.

    Raises:
        DiagnosticError: CC704 for unused options, CC760 to CC763 for the models.
    """
    if unused:
        hint = "your own models are compared without them"
        raise failure("CC704", f"{', '.join(unused)}: only with model.kind: bert", hint)
    from crosscast.weights.document import NAME
    from crosscast.weights.writer import text_of as weights_text
    from crosscast_parity.modules.command import compare_modules
    from crosscast_parity.modules.report import as_json, text_of

    result = compare_modules(request)
    lines = text_of(result)
    files = {
        "modules.txt": OutputFile("\n".join([*lines, ""])),
        "modules.json": OutputFile(json.dumps(as_json(result), indent=1) + "\n"),
    }
    if result.matched:
        files[NAME] = OutputFile(weights_text(result.known))
        lines.append(f"weights were matched on the way: {output / NAME}")
    write_files(output, files, force=True, manifest=False)
    print(*lines, f"report: {output / 'modules.txt'}", sep="\n", flush=True)
    return result
