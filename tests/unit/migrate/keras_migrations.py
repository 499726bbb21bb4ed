"""What the tests of the codemods to Keras 3 share."""

from __future__ import annotations

from crosscast.messages.source import Source
from crosscast_migrate.in_place import InPlaceMigration, migrate_in_place
from crosscast_migrate.registry import all_codemods, codemods_to


def migrated(text: str, *codes: str, **others: str) -> InPlaceMigration:
    """Run codemods (all to Keras 3, if none is named) on `train.py` and other files.

    Args:
        text: of `train.py`.
        codes: of codemods.
        others: file, `_` for the dot (`run_sh`), and text.
    """
    chosen = [all_codemods()[code] for code in codes] or codemods_to("keras3")
    sources = [Source("train.py", text)]
    sources += [Source(name.replace("_", "."), other) for name, other in others.items()]
    found = migrate_in_place(sources, chosen)
    assert not found.problems, found.problems
    again = migrate_in_place(
        [Source(source.name, found.texts.get(source.name, source.text)) for source in sources],
        chosen,
    )
    assert not again.texts, "a second run changes something"
    return found


def after(text: str, *codes: str) -> str:
    """Return `train.py` afterwards; nothing must have been refused."""
    found = migrated(text, *codes)
    assert not found.refusals, [refusal.message for refusal in found.refusals]
    return found.texts.get("train.py", text)


def refused(text: str, *codes: str, **others: str) -> str:
    """Return reasonhing was changed, all messages together."""
    found = migrated(text, *codes, **others)
    assert not found.texts, found.texts
    assert found.refusals
    return " ".join(refusal.message for refusal in found.refusals)


def untouched(text: str, *codes: str) -> bool:
    """Whether nothing was changed and nothing refused."""
    found = migrated(text, *codes)
    return not found.texts and not found.refusals
