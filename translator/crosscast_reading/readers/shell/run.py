"""Follow a shell script without running it, to find the simple commands it starts.

Both ways of a condition that is not known are followed; a loop is followed once, with what it
changes taken as unknown.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import eq, ge, gt, le, lt, ne
from typing import TYPE_CHECKING

from crosscast_reading.pysource.syntax.truth import joined, negated
from crosscast_reading.readers.shell.expand import Scope
from crosscast_reading.readers.shell.flow import (
    assigned_in,
    branches,
    is_test,
    merged,
    not_known,
    short,
)
from crosscast_reading.readers.shell.simple_commands import MAX_STEPS, Commands
from crosscast_reading.readers.shell.text import ShellText, Word, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from crosscast_reading.readers.shell.expand import Expander

_WORDS = frozenset(
    (
        *("string", "raw_string", "word", "number", "simple_expansion", "expansion"),
        *("concatenation", "extglob_pattern", "command_substitution", "arithmetic_expansion"),
    )
)
_NUMBERS: dict[str, Callable[[int, int], bool]] = {
    "-eq": eq,
    "-ne": ne,
    "-lt": lt,
    "-le": le,
    "-gt": gt,
    "-ge": ge,
}

_TRANSPARENT = frozenset(
    (
        *("program", "compound_statement", "do_group", "negated_command", "pipeline", "ERROR"),
        *("else_clause", "variable_assignments"),
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
        if kind == "compound_statement" and node.children[0].type == "((":
            self.expander(text).arithmetic(node)
        elif kind in _TRANSPARENT:
            self.statements(node.children, text)
        elif kind == "command":
            self._command(node, text)
        elif kind == "variable_assignment":
            self._assign(node, text)
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
            self.functions[text.of(text.part(node, "name"))] = (text, text.part(node, "body"))
        elif kind == "unset_command":
            for child in node.children[1:]:
                self.scope.variables.pop(text.of(child), None)

    def _list(self, node: Node, text: ShellText) -> None:
        match [c for c in node.children if c.type != "comment"]:
            case [left, operator, right]:
                self._either(left, operator.type == "&&", right, text)
            case parts:
                self.statements(parts, text)

    def _either(self, left: Node, wanted: bool, right: Node, text: ShellText) -> None:
        """Follow `left && right`, or `left || right` if the right is wanted after a failure."""
        outcome = _decide(left, self.expander(text))
        if outcome is None:
            self.statement(left, text)
            if wanted and not is_test(left, text):
                self.statement(right, text)
                return
            shown = short(text, left)
            self._ways([(shown if wanted else f"not {shown}", [right])], text, whole=False)
        elif outcome is wanted:
            self.statement(right, text)

    def _if(self, node: Node, text: ShellText) -> None:
        ways: list[tuple[str, list[Node]]] = []
        whole = False
        denied: list[str] = []
        for condition, body in branches(node):
            if condition is None:
                ways.append((" and ".join(denied), body))
                whole = True
                break
            outcome = _decide(condition, self.expander(text))
            self.statement(condition, text)  # often a program
            shown = short(text, condition)
            if outcome is not False:
                ways.append(("" if outcome and not denied else shown, body))
                denied.append(f"not {shown}")
            if outcome:
                whole = True
                break
        self._ways(ways, text, whole=whole)

    def _case(self, node: Node, text: ShellText) -> None:
        subject = text.part(node, "value")
        shown = text.of(subject)
        value = text_of(self.expander(text).word(subject))
        ways: list[tuple[str, list[Node]]] = []
        whole = False
        for item in (c for c in node.children if c.type == "case_item"):
            close = next((i for i, c in enumerate(item.children) if c.type == ")"), 0)
            patterns = [text.of(c).strip("\"'") for c in item.children[:close] if c.is_named]
            body = item.children[close + 1 :]
            plain = not any(mark in p for p in patterns for mark in "$`(\\")
            matches = plain and value is not None
            if matches and not any(fnmatch.fnmatchcase(value or "", each) for each in patterns):
                continue
            sure = matches and not ways
            ways.append(("" if sure else f"{shown} is {' or '.join(patterns)}", body))
            if matches or patterns == ["*"]:
                whole = True
                break
        self._ways(ways, text, whole=whole)

    def _loop(self, node: Node, text: ShellText) -> None:
        body = node.children[-1]
        changed = assigned_in(node, text)
        place = text.place(node)
        for name in changed:
            if name in self.scope.variables:
                value = not_known(name, place, "a loop changes it")
                self.scope.variables[name] = value
        if node.type == "for_statement":
            self._each(node, text.of(text.part(node, "variable")), text)
        elif node.type == "c_style_for_statement":
            for name in re.findall(r"\(\(\s*(\w+)\s*=", text.of(node)[:80]):
                self.scope.variables[name] = not_known(name, place, "it counts a loop")
        else:
            self.statement(node.children[1], text)
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
        reason = f"a loop over {listed}" if len(options) == len(texts) else "a loop"
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


def _decide(node: Node, expander: Expander) -> bool | None:
    """Return the outcome of a condition, None if it is not known."""
    match node.type, node.children:
        case "negated_command", [_, inner]:
            return negated(_decide(inner, expander))
        case "test_command", [_, inner, _]:
            return _test(inner, expander)
        case "command", children:
            return _simple([w for c in children for w in expander.words(c)])
    return None


def _test(node: Node, expander: Expander) -> bool | None:
    match node.type, node.children:
        case "parenthesized_expression", [_, inner, _]:
            return _test(inner, expander)
        case "unary_expression", [operator, operand]:
            if operator.type == "!":
                return negated(_test(operand, expander))
            return _emptiness(expander.text.of(operator), _text(operand, expander))
        case "binary_expression", [left, operator, right]:
            return _binary(expander.text.of(operator), left, right, expander)
    text = _text(node, expander)
    return None if text is None else bool(text)


def _binary(operator: str, left: Node, right: Node, expander: Expander) -> bool | None:
    if operator in ("&&", "||", "-a", "-o"):
        sides = [_test(side, expander) for side in (left, right)]
        return joined(sides, decisive=operator in ("||", "-o"))
    if any(mark in expander.text.of(right) for mark in "*?["):
        return None  # a pattern
    return _compare(operator, _text(left, expander), _text(right, expander))


def _simple(words: list[Word]) -> bool | None:
    """Return the outcome of `true`, `false` and `test`."""
    match [text_of(word) for word in words]:
        case ["true" | ":"]:
            return True
        case ["false"]:
            return False
        case ["test", str(operator), operand]:
            return _emptiness(operator, operand)
        case ["test", left, str(operator), right]:
            return _compare(operator, left, right)
    return None


def _text(node: Node, expander: Expander) -> str | None:
    return text_of(expander.word(node)) if node.type in _WORDS else None


def _emptiness(operator: str, text: str | None) -> bool | None:
    if text is None or operator not in ("-z", "-n"):
        return None
    return (text == "") is (operator == "-z")


def _compare(operator: str, left: str | None, right: str | None) -> bool | None:
    if left is None or right is None:
        return None
    if operator in ("=", "=="):
        return left == right
    if operator == "!=":
        return left != right
    try:
        return _NUMBERS[operator](int(left), int(right))
    except (KeyError, ValueError):
        return None
