"""Read YAML 1.2 into plain data with the place of every key and value, within strict limits.

ruamel.yaml parses and resolves scalars; everything that a recipe has no use for (tags, anchors,
several documents, duplicate keys, non-finite numbers) is a diagnostic here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError

from crosscast.diagnostics import Collector, Diagnostic, DiagnosticError, Span

MAX_BYTES = 1 << 20
MAX_NODES = 10_000
MAX_DEPTH = 32
MAX_INTEGER_DIGITS = 32

PathKey = tuple[str | int, ...]
_PLAIN_TAGS = {f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null")}


@dataclass(slots=True)
class YamlDocument:
    """Plain data (dict, tuple, str, int, float, bool, None) and the span of every part of it."""

    file: str
    data: Any
    keys: dict[PathKey, Span] = field(default_factory=dict)
    """Span of the key that leads to a path; the root and sequence items have none."""
    values: dict[PathKey, Span] = field(default_factory=dict)

    def span(self, path: PathKey, *, of_key: bool = False) -> Span | None:
        """Return the place of a path, or of its nearest parent that the file contains."""
        while path:
            if of_key and path in self.keys:
                return self.keys[path]
            if path in self.values:
                return self.values[path]
            path, of_key = path[:-1], True
        return self.values.get(())


def parse(text: str, file: str) -> YamlDocument:
    """Parse one YAML document.

    Raises:
        DiagnosticError: CC006-CC015, all problems of the document at once where possible.
    """
    return _Builder(text, file).build()


class _Builder:
    def __init__(self, text: str, file: str) -> None:
        self.file = file
        self.text = text
        self.lines = text.splitlines()
        self.collect = Collector()
        self.document = YamlDocument(file=file, data=None)
        self.nodes = 0
        self.yaml = YAML(typ="safe", pure=True)

    def build(self) -> YamlDocument:
        node = self._compose()
        self.document.data = self._value(node, ())
        self.collect.raise_errors()
        return self.document

    def _fail(self, code: str, message: str, span: Span | None, hint: str = "") -> DiagnosticError:
        return DiagnosticError(Diagnostic(code=code, message=message, span=span, hint=hint))

    def _compose(self) -> Node:
        """Return the document's node tree."""
        try:
            documents = list(self.yaml.compose_all(self.text))
        except MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            span = self._at(mark.line, mark.column) if mark else None
            problem = " ".join(str(error.problem or error.context or "malformed").split())
            raise self._fail("CC006", problem, span) from None
        except ReaderError as error:
            span = self._at_offset(error.position) if isinstance(error.position, int) else None
            raise self._fail("CC014", "a character YAML does not allow", span) from None
        except YAMLError as error:
            raise self._fail("CC006", str(error).splitlines()[0], None) from None
        except RecursionError:
            raise self._fail("CC008", f"nested deeper than {MAX_DEPTH} levels", None) from None
        nodes = [node for node in documents if node is not None]
        if not nodes:
            raise self._fail("CC015", "the document is empty", None, "start from `crosscast init`")
        if len(nodes) > 1:
            raise self._fail("CC011", "more than one document", self._span(nodes[1]))
        root: Node = nodes[0]
        return root

    def _at(self, line: int, column: int, end_column: int | None = None) -> Span:
        text = self.lines[line] if line < len(self.lines) else ""
        return Span(self.file, line + 1, column + 1, end_column, text)

    def _at_offset(self, offset: int) -> Span:
        before = self.text[:offset]
        return self._at(before.count("\n"), offset - (before.rfind("\n") + 1))

    def _span(self, node: Node) -> Span:
        start, end = node.start_mark, node.end_mark
        last = end.column + 1 if end.line == start.line else None
        return self._at(start.line, start.column, last)

    def _report(self, code: str, message: str, node: Node, hint: str = "") -> None:
        self.collect.add(Diagnostic(code=code, message=message, span=self._span(node), hint=hint))

    def _value(self, node: Node, path: PathKey) -> Any:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise self._fail("CC008", f"more than {MAX_NODES} values", self._span(node))
        if len(path) > MAX_DEPTH:
            span = self._span(node)
            raise self._fail("CC008", f"nested deeper than {MAX_DEPTH} levels", span)
        self.document.values[path] = self._span(node)
        if node.anchor:
            self._report(
                "CC010", f"anchor &{node.anchor}", node, "write the value out where it is needed"
            )
            return None  # an alias shares the anchored node: never walk it twice
        if isinstance(node, MappingNode):
            return self._mapping(node, path)
        if isinstance(node, SequenceNode):
            if self._custom_tag(node, "tag:yaml.org,2002:seq"):
                return None
            return tuple(self._value(item, (*path, i)) for i, item in enumerate(node.value))
        assert isinstance(node, ScalarNode)  # the third and last kind of node
        return self._scalar(node)

    def _custom_tag(self, node: Node, plain: str) -> bool:
        if str(node.tag) == plain:
            return False
        self._report("CC009", f"tag {node.tag}", node)
        return True

    def _mapping(self, node: MappingNode, path: PathKey) -> dict[str, Any]:
        result: dict[str, Any] = {}
        if self._custom_tag(node, "tag:yaml.org,2002:map"):
            return result
        for key_node, value_node in node.value:
            is_text = isinstance(key_node, ScalarNode) and str(key_node.tag).endswith(":str")
            if not is_text or key_node.anchor:
                self._report("CC012", "a key must be a plain string", key_node)
                continue
            key: str = key_node.value
            if key in result:
                self._report(
                    "CC007",
                    f"duplicate key {key!r}",
                    key_node,
                    f"first given in line {self.document.keys[(*path, key)].line}",
                )
                continue
            self.document.keys[(*path, key)] = self._span(key_node)
            result[key] = self._value(value_node, (*path, key))
        return result

    def _scalar(self, node: ScalarNode) -> Any:
        tag = str(node.tag)
        if tag not in _PLAIN_TAGS:
            self._report("CC009", f"tag {tag}", node)
            return None
        text: str = node.value
        if tag.endswith(":int") and len(text) > MAX_INTEGER_DIGITS:
            self._report("CC013", "the integer has too many digits", node)
            return None
        try:
            value = self.yaml.constructor.construct_object(node)
        except (ValueError, OverflowError, YAMLError):
            self._report("CC013", f"not a number: {text[:40]}", node)
            return None
        if isinstance(value, float) and not math.isfinite(value):
            self._report("CC013", f"{text[:40]} is not a finite number", node)
            return None
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 2**63:
            self._report("CC013", "the integer does not fit 64 bits", node)
            return None
        return value


def free_keys(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the mapping without its free `x-...` keys."""
    return {key: value for key, value in data.items() if not key.startswith("x-")}
