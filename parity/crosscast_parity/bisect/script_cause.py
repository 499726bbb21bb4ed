"""Find the recipe that a script follows if it deviates from its own.

First by its records: every variation of the recipe is compared with them (`records`). Fields that
they cannot show (the model, the order of the rows) are tried by training, with a function that the
harness passes (`runs`).
"""

from __future__ import annotations

from collections.abc import Sequence

from crosscast.variations.table import shown_path
from crosscast_parity.bisect.judgement import RecordedRuns
from crosscast_parity.bisect.search_by_records import RecordSearch, Set
from crosscast_parity.bisect.search_by_training import RunSearch
from crosscast_parity.bisect.trials import Bisection, Protocol, Trial, from_to, headline, title
from crosscast_parity.checks.check import Check, failures


def bisect_script(recorded: RecordedRuns, checks: Sequence[Check] = ()) -> Bisection:
    """Search for the recipe that explains a script's runs.

    Args:
        recorded: The recipe it claims, its records and, to go on where they end, `run`.
        checks: Those of the comparison that the records do not repeat: of gradients, trajectory.
    """
    base = recorded.by_records(())
    if not any(failures((*base, *checks))):
        return Bisection(outcome="no difference", sentence="no check fails: nothing to explain")
    protocol = Protocol(headline(base) or headline(checks))
    first = claimed = protocol.note((), "records", base)
    best: Set = ()
    last, others = claimed, []
    if claimed.failing:
        search = RecordSearch(recorded, protocol)
        best = search.search(claimed)
        last, others = search.tried[best], search.others
    if any(failures(checks)) and (last.closed or not claimed.failing):
        if recorded.run is not None:
            protocol.headline = headline(checks)
            first = protocol.note((), "run", checks)
            runs = RunSearch(recorded, protocol)
            best = runs.search(best, checks)
            last = runs.trials.get(best, first)
        elif not best:
            last = protocol.note((), "run", checks)
    return _result(protocol, best, others, first, last)


def explaining(recorded: RecordedRuns) -> Set | None:
    """Return the smallest set of variations to which the records object nothing; None if none."""
    base = recorded.by_records(())
    protocol = Protocol(headline(base))
    search = RecordSearch(recorded, protocol)
    best = search.search(protocol.note((), "records", base))
    return best if search.explains(best) else None


def _result(
    protocol: Protocol, best: Set, others: Sequence[Set], first: Trial, last: Trial
) -> Bisection:
    """Say what was found."""
    texts = tuple(map(str, best))
    words = " and ".join(texts)
    change = from_to(protocol.headline, first, last)
    explained = bool(best) and last.closed
    if explained:
        sentence = f"the script behaves as {words} does; {change}"
        if others:
            also = "; or ".join(" and ".join(map(str, other)) for other in others[:3])
            sentence += f" (the records do not tell it from {also})"
    else:
        sentence = "no field of the recipe, alone or with others, explains it"
        sentence += f"; the nearest is {words}: {change}" if best else ""
    return Bisection(
        outcome="explained" if explained else "not explained",
        sentence=sentence,
        fields=tuple(shown_path(blamed.path) for blamed in best) if explained else (),
        changes=texts,
        others=tuple(tuple(map(str, other)) for other in others) if explained else (),
        check=title(protocol.headline),
        trials=tuple(protocol.trials),
    )
