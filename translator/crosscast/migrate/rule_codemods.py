"""Codemods from rules of lint whose repair is a migration."""

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
    """Return the codemod that makes the repairs of a rule; what it cannot repair it refuses.

    Args:
        rule: its wrong and right example are the first example.
        code: of the codemod.
        api: what it brings programs to.
        title: what it changes into what.
        done: what a change says that was made.
        note: what becomes different all the same.
        examples: more of them: programs that stay, programs of which something is refused.
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
