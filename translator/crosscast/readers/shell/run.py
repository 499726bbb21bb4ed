"""Follow a shell script without running it, to find the simple commands it starts.

Both ways of a condition that is not known are followed; a loop is followed once, with what it
changes taken as unknown.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast.readers.shell.conditions import decide
from crosscast.readers.shell.expand import Scope
from crosscast.readers.shell.flow import assigned_in, branches, is_test, merged, not_known, short
from crosscast.readers.shell.simple_commands import MAX_STEPS, Commands
from crosscast.readers.shell.text import ShellText, Word, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_TRANSPARENT = frozenset(
    (
        *("program", "compound_statement", "do_group", "negated_command", "pipeline", "ERROR"),
        "else_clause",
    )
)


@dataclass(slots=True)
class Runner(Commands):
    """Follows the statements of one script."""

    def statements(self, nodes: Iterable[Node], text: ShellText) -> None:
        """Follow statements until one leaves."""
        for node in nodes:
            if self.stopped:
                return
            self.statement(node, text)

    def statement(self, node: Node, text: ShellText) -> None:
        """Follow one statement."""
        self.steps += 1
        if self.steps > MAX_STEPS:
            self.stopped = True
            return
        kind = node.type
        if kind in _TRANSPARENT:
            self.statements(node.children, text)
        elif kind == "command":
            self._command(node, text)
        elif kind in ("variable_assignment", "variable_assignments"):
            parts = [node] if kind == "variable_assignment" else node.children
            for part in parts:
                self._assign(part, text)
        elif kind == "declaration_command":
            self._declare(node, text)
        elif kind == "redirected_statement":
            self._redirected(node, text)
        elif kind == "subshell":
            before, stopped = self.scope, self.stopped
            self.scope = before.copy()
            self.statements(node.children, text)
            self.scope, self.stopped = before, stopped
        elif kind == "list":
            self._list(node, text)
        elif kind == "if_statement":
            self._if(node, text)
        elif kind == "case_statement":
            self._case(node, text)
        elif kind in ("for_statement", "c_style_for_statement", "while_statement"):
            self._loop(node, text)
        elif kind == "function_definition":
            name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
            if name is not None and body is not None:
                self.functions[text.of(name)] = (text, body)
        elif kind == "unset_command":
            for child in node.children[1:]:
                self.scope.variables.pop(text.of(child), None)

    def _list(self, node: Node, text: ShellText) -> None:
        parts = [c for c in node.children if c.is_named]
        operators = [text.of(c) for c in node.children if not c.is_named]
        if len(parts) != 2 or not operators:
            self.statements(node.children, text)
            return
        left, right = parts
        outcome = decide(left, self.expander(text))
        if outcome is None and not is_test(left, text):
            self.statement(left, text)
            if operators[0] == "&&":
                self.statement(right, text)
                return
            self._ways([(f"not {short(text, left)}", [right])], text, whole=False)
            return
        wanted = operators[0] == "&&"
        if outcome is None:
            shown = short(text, left)
            condition = shown if wanted else f"not {shown}"
            self._ways([(condition, [right])], text, whole=False)
        elif outcome is wanted:
            self.statement(right, text)

    def _if(self, node: Node, text: ShellText) -> None:
        ways: list[tuple[str, list[Node]]] = []
        whole = False
        denied: list[str] = []
        for condition, body in branches(node):
            outcome = True if condition is None else decide(condition, self.expander(text))
            if outcome is False:
                continue
            shown = "" if condition is None else short(text, condition)
            test = shown if shown else " and ".join(denied)
            ways.append((test if outcome is None or denied else "", body))
            if outcome is True:
                whole = True
                break
            denied.append(f"not {shown}")
        self._ways(ways, text, whole=whole)

    def _case(self, node: Node, text: ShellText) -> None:
        subject = node.child_by_field_name("value")
        shown = text.of(subject) if subject is not None else ""
        value = text_of(self.expander(text).word(subject)) if subject is not None else None
        ways: list[tuple[str, list[Node]]] = []
        whole = False
        for item in (c for c in node.children if c.type == "case_item"):
            close = next((i for i, c in enumerate(item.children) if c.type == ")"), 0)
            patterns = [text.of(c).strip("\"'") for c in item.children[:close] if c.is_named]
            body = item.children[close + 1 :]
            plain = not any(mark in p for p in patterns for mark in "$`(\\")
            if value is not None and plain:
                if not any(fnmatch.fnmatchcase(value, pattern) for pattern in patterns):
                    continue
                ways, whole = [("", body)], True
                break
            ways.append((f"{shown} is {' or '.join(patterns)}", body))
            whole = whole or patterns == ["*"]
        self._ways(ways, text, whole=whole)

    def _loop(self, node: Node, text: ShellText) -> None:
        body = next((c for c in node.children if c.type == "do_group"), None)
        if body is None:
            return
        changed = assigned_in(body, text)
        place = text.place(node)
        for name in changed:
            if name in self.scope.variables:
                value = not_known(name, place, "a loop changes it")
                self.scope.variables[name] = value
        variable = node.child_by_field_name("variable")
        if node.type == "for_statement" and variable is not None:
            self._each(node, text.of(variable), text)
        elif node.type == "c_style_for_statement":
            for name in re.findall(r"\(\(\s*(\w+)\s*=", text.of(node)[:80]):
                self.scope.variables[name] = not_known(name, place, "it counts a loop")
        self._ways([("", [body])], text, whole=False)

    def _each(self, node: Node, name: str, text: ShellText) -> None:
        expander = self.expander(text)
        words: list[Word] = []
        inside = False
        for child in node.children:
            if child.type == "in":
                inside = True
            elif child.type in (";", "do_group", "\n"):
                break
            elif inside:
                words += expander.words(child)
        texts = [text_of(word) for word in words]
        place = text.place(node)
        if len(words) == 1 and texts[0] is not None:
            self.assign(name, words[0], place)
            return
        options = tuple(text for text in texts if text is not None)
        listed = ", ".join(options[:6])
        reason = f"a loop over {listed}" if options and len(options) == len(texts) else "a loop"
        self.assign(name, not_known(name, place, reason, options[:20]), place)

    def _ways(self, ways: list[tuple[str, list[Node]]], text: ShellText, *, whole: bool) -> None:
        """Follow each branch in its own scope, then keep the values they agree on."""
        if not ways:
            return
        before, under, stopped = self.scope, self.under, self.stopped
        ends: list[Scope] = [] if whole else [before]
        for condition, body in ways:
            self.scope = before.copy()
            self.under = (*under, condition) if condition else under
            self.stopped = False
            self.statements(body, text)
            if not self.stopped:
                ends.append(self.scope)
        self.under = under
        self.scope = merged(ends, ways[0][0]) if ends else before
        self.stopped = stopped or not ends or self.steps > MAX_STEPS
