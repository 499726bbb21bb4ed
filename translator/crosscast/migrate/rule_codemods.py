"""Codemods from lint rules whose fix is a migration."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from crosscast.lint.rule import Rule
from crosscast.migrate.codemod import Api, Change, Codemod, Example, Outcome, Refusal
from crosscast.sources.subject import Subject


def codemod_of(
    rule: Rule,
    *,
    code: str,
    api: Api,
    title: str,
    done: str,
    note: str = "",
    examples: Iterable[Example] = (),
) -> Codemod:
    """Return the codemod that applies the fixes of a rule and refuses findings without a fix.

    Args:
        rule: the lint rule; its wrong and right example become the first example.
        code: code of the codemod.
        api: the API to migrate to.
        title: the old and the new API, in one line.
        done: message of a change.
        note: remaining differences for the user.
        examples: further examples: unchanged and refused programs.
    """

    def run(subject: Subject) -> Iterator[Outcome]:
        for finding in rule.check(subject):
            if finding.edits:
                yield Change(span=finding.span, message=done, edits=finding.edits, note=note)
            else:
                yield Refusal(span=finding.span, message=finding.message, hint=finding.hint)

    return Codemod(
        code=code,
        name=rule.name,
        api=api,
        title=title,
        hints=rule.hints,
        examples=(Example(before=rule.wrong, after=rule.right), *examples),
        run=run,
    )
