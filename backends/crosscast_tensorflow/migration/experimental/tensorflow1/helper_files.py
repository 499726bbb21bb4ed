"""The helper modules that migrated programs of TensorFlow 1 import."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath

from crosscast.messages.source import Source
from crosscast_migrate.written_code import written_text
from crosscast_tensorflow.migration.experimental.tensorflow1.moved_names import HELPERS

_HELPER = re.compile(rf"^[ \t]*(?:import|from)[ \t]+({'|'.join(HELPERS)})\b", re.MULTILINE)
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(?P<place>\w[\w.]*)[ \t]+import[ \t]+(?P<names>\([^)]*\)|.*)"
    r"|import[ \t]+(?P<whole>.*))",
    re.MULTILINE,
)


def helper_text(name: str) -> str:
    """Return the text of a helper module."""
    return written_text(f"tensorflow/{name}.py")


def helper_files(sources: Sequence[Source]) -> Mapping[str, str]:
    """Return path to text of the helper modules that sources import.

    A helper is written where the imports of a program start: into the folder from which other
    modules import the one that needs it, which is its own folder unless it is in a package.
    """
    texts = {source.name: source.text for source in sources if source.name.endswith(".py")}
    imported = {name for text in texts.values() for name in _imported(text)}
    found: dict[str, str] = {}
    # Those that start or are imported first: the others find the helpers of these.
    for name, text in sorted(texts.items(), key=lambda item: _is_alone(item[0], item[1], imported)):
        for helper in _HELPER.findall(text):
            path = PurePath(name)
            above = {str(folder / f"{helper}.py") for folder in path.parents}
            if not _is_alone(name, text, imported) or not above & found.keys():
                folder = _start(path, imported)
                found |= {str(folder / f"{one}.py"): helper_text(one) for one in _with_own(helper)}
    return {path: text for path, text in sorted(found.items()) if path not in texts}


def _with_own(helper: str) -> list[str]:
    """Return a helper and those that it imports."""
    return [helper, *_HELPER.findall(helper_text(helper))]


def _is_alone(name: str, text: str, imported: set[str]) -> bool:
    """Whether a module neither says that it starts nor is imported by another one."""
    return "__main__" not in text and PurePath(name).stem not in {
        part for dotted in imported for part in dotted.split(".")
    }


def _imported(text: str) -> Iterator[str]:
    """Yield the dotted names of modules that a text may import."""
    for match in _IMPORT.finditer(text):
        if match["whole"]:
            yield from re.findall(r"[\w.]+", match["whole"])
        else:
            yield match["place"]
            for name in re.findall(r"\w+", match["names"]):
                yield f"{match['place']}.{name}"


def _start(path: PurePath, imported: set[str]) -> PurePath:
    """Return the folder from which a module is imported."""
    parts = path.with_suffix("").parts
    for count in range(len(parts), 1, -1):
        if ".".join(parts[-count:]) in imported:
            return PurePath(*parts[:-count])
    return path.parent
