"""Files that a program imports and that have the old API, too, but were not named."""

from __future__ import annotations

from collections.abc import Sequence

from crosscast.messages.diagnostics import Diagnostic, Severity
from crosscast.messages.source import Source
from crosscast_migrate.codemod import Codemod
from crosscast_migrate.in_place import migrate_in_place
from crosscast_reading.lift.related_files import with_nearby
from crosscast_reading.sources.files import kind_of

_LISTED = 3


def left_out(sources: Sequence[Source], codemods: Sequence[Codemod]) -> list[Diagnostic]:
    """Return a warning if files beside the sources, which these import, would change, too."""
    names = {source.name for source in sources}
    beside = [
        source
        for source in with_nearby(sources, list(names)).sources
        if source.name not in names and kind_of(source) == "python"
    ]
    old = sorted(migrate_in_place(beside, codemods).texts) if beside else []
    if not old:
        return []
    more = f" and {len(old) - _LISTED} more" if len(old) > _LISTED else ""
    message = f"{', '.join(old[:_LISTED])}{more}: imported, with the old API, and not named"
    hint = "name these files, too, or their folder"
    return [Diagnostic(code="CC918", message=message, severity=Severity.WARNING, hint=hint)]
