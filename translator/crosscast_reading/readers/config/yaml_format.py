"""What all readers of YAML formats share: a cheap, reliable sniff and resolved references."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass

from crosscast.messages.diagnostics import Diagnostic
from crosscast.messages.source import Source
from crosscast_reading.readers.config.foreign_yaml import Loader, read_yaml
from crosscast_reading.readers.config.hydra_defaults import over_defaults
from crosscast_reading.readers.inheritance import Files, Inheritance
from crosscast_reading.readers.protocol import Reading
from crosscast_reading.readers.settings import SettingWriter
from crosscast_reading.readers.tree import Tree

_TOP = re.compile(r"^[ \t]{0,4}?([\"']?)([A-Za-z_][\w-]*)\1[ \t]*:(?=\s|$)", re.M)
_REFERENCE = re.compile(r"\$\{([\w.]+)\}")
_MAX_SNIFFED = 200_000
_NAMES = (".yaml", ".yml", ".json", ".cfg", ".conf", ".config", "<stdin>", "-")
_OTHERS = (
    *(".py", ".sh", ".bash", ".md", ".rst", ".toml", ".ini", ".txt", ".ipynb", ".sbatch", ".gin"),
)


@functools.lru_cache(maxsize=32)
def top_keys(source: Source) -> frozenset[str]:
    """Return the keys of the outermost mapping without parsing the text."""
    text = source.text
    if source.name.lower().endswith(_OTHERS) or len(text) > 1 << 20 or "\0" in text[:4096]:
        return frozenset()
    margin: int | None = None
    keys: set[str] = set()
    for match in _TOP.finditer(text, 0, _MAX_SNIFFED):
        indent = match.start(1) - match.start()
        margin = indent if margin is None or indent < margin else margin
        if indent == margin:
            keys.add(match[2].replace("-", "_"))
    return frozenset(keys)


@dataclass(slots=True)
class YamlFormat:
    """A reader of one YAML format."""

    name: str
    owns: Callable[[Source, frozenset[str]], bool]
    """Whether text with these outermost keys is of the format; the text is YAML or JSON-like."""
    tell: Callable[[SettingWriter, Tree], None]
    loader: Loader = "pyyaml"
    references: bool = False
    """Whether `${a.b}` refers to another entry."""

    def sniff(self, source: Source) -> bool:
        """Return whether the text is of this format."""
        keys = top_keys(source)
        return bool(keys) and self.owns(source, keys)

    def read(self, source: Source) -> Reading:
        """Return the facts of the configuration."""
        return self.read_over(source, {})

    def read_over(self, source: Source, files: Files) -> Reading:
        """Return the facts of the configuration and of what it inherits from the given files."""
        document = read_yaml(source, self.loader)
        diagnostics: list[Diagnostic] = list(document.diagnostics)
        if document.tree is None or document.tree.keys is None:
            if not diagnostics:
                diagnostics.append(Diagnostic(code="CC921", message=f"{source.name}: no mapping"))
            return Reading(diagnostics=tuple(diagnostics))
        home = document.tree.home
        tree = over_parents(source, document.tree, files, self.loader)
        if self.references:
            resolve_references(tree)
        writer = SettingWriter(self.name, home=home)
        self.tell(writer, tree)
        return Reading(
            facts=tuple(writer.facts),
            diagnostics=(*diagnostics, *writer.diagnostics),
            mentions=tuple(writer.mentions),
        )


def over_parents(source: Source, tree: Tree, files: Files, loader: Loader) -> Tree:
    """Return the tree of a configuration over those that it inherits from."""
    tree = Inheritance(files, lambda base: read_yaml(base, loader).tree).over_bases(source, tree)
    return over_defaults(source, tree, files, loader)


def resolve_references(root: Tree) -> None:
    """Replace values `${a.b}` by the entries they refer to; unresolved ones get a reason."""
    for node in list(root.walk()):
        if not isinstance(node.value, str) or "${" not in node.value or node.reason:
            continue
        target: Tree | None = node
        for _ in range(8):
            assert target is not None
            reference = _REFERENCE.fullmatch(str(target.value))
            target = _lookup(root, reference[1]) if reference else None
            if target is None or not (isinstance(target.value, str) and "${" in target.value):
                break
        if target is None or (isinstance(target.value, str) and "${" in target.value):
            node.reason = f"{node.value} is not in this file"
        elif target.keys is None:
            node.value, node.items, node.plain = target.value, target.items, target.plain
            node.origin = "config"


def _lookup(root: Tree, path: str) -> Tree | None:
    """Return the entry of a path, skipping a leading group name for the file itself."""
    parts = path.split(".")
    for start in range(min(len(parts), 3)):
        entry = root.get(*parts[start:])
        if entry is not None:
            return entry
    return None
