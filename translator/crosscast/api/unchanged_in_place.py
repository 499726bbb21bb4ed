"""Programs of which nothing was changed: bound to a release, or with nothing to migrate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from crosscast.api.migrated_in_place import InPlace, Mode, failures
from crosscast.messages.diagnostics import Diagnostic

if TYPE_CHECKING:
    from crosscast_migrate.executed_proof import Demand
    from crosscast_migrate.in_place import InPlaceMigration
    from crosscast_reading.sources.files import Text


def bound_only(
    paths: list[str],
    api: str,
    demand: Demand | None = None,
    on_run: Callable[[str], None] = lambda name: None,
) -> InPlace:
    """Bind programs, and the files that they import, to the present release; change nothing.

    Args:
        paths: files and folders.
        api: the API whose release is meant.
        demand: the script whose models are built, if any.
        on_run: called with what is executed.

    Raises:
        DiagnosticError: CC970, no index of the release's names is known, or the demand is invalid.
    """
    from crosscast_migrate.binding.places import bind_sources, with_more
    from crosscast_migrate.chosen_proof import in_place_proof
    from crosscast_migrate.executed_proof import MigratedFiles
    from crosscast_migrate.in_place import InPlaceMigration
    from crosscast_migrate.nothing import unread_programs
    from crosscast_migrate.registry import codemods_to
    from crosscast_migrate.smoke_build import smoke_build
    from crosscast_migrate.summary import NO_RISK, NOTHING_CHANGED, Summary, decisions
    from crosscast_reading.lift.related_files import with_nearby
    from crosscast_reading.sources.files import read_all

    files, problems = read_all(paths)
    sources = [file.source for file in files.values()]
    unread = unread_programs(sources, paths, codemods_to(api))
    near = with_nearby(sources, [source.name for source in sources]).sources
    bound = bind_sources(near, api)
    problems += bound.problems
    places, words, smoke = bound.places, bound.words, None
    if demand is not None:
        smoke = smoke_build(MigratedFiles(files, api), demand, on_run)
        places, words = with_more(places, smoke.places), f"{words}; {smoke.words}"
    is_open = bool(places or unread or failures(problems))
    return InPlace(
        to=api,
        said=Summary(
            done=f"{NOTHING_CHANGED}; {words}",
            decide=decisions(places, problems, list(unread)),
            risk=NO_RISK,
            state="open" if is_open else "unchanged",
        ),
        mode="check",
        verified=False,
        proof=in_place_proof(verify=False, changed=False, compared=False, execution=None),
        smoke=smoke,
        problems=tuple(problems),
        unread=tuple(unread.values()),
        diagnostics=(*problems, *unread.values(), *(smoke.diagnostics if smoke else ())),
        _files=files,
        _migrated=InPlaceMigration(texts={}, added={}, changes=(), refusals=places, problems=()),
    )


def nothing_to_change(
    files: Mapping[str, Text],
    migrated: InPlaceMigration,
    problems: Sequence[Diagnostic],
    unread: Mapping[str, Diagnostic],
    api: str,
    never: Sequence[str],
    *,
    mode: Mode,
    verify: bool,
    demand: Demand | None,
    on_run: Callable[[str], None],
) -> InPlace:
    """Say why there is nothing to change; that is fine only for programs of the present API.

    These are bound, and built if there is a demand for it.
    """
    from crosscast.targets.source_support import migration_apis
    from crosscast_migrate.binding.places import BoundMigration, with_more, with_unbound
    from crosscast_migrate.chosen_proof import in_place_proof
    from crosscast_migrate.executed_proof import MigratedFiles
    from crosscast_migrate.nothing import (
        already_there,
        nothing_for,
        places_by_api,
        programs_of,
    )
    from crosscast_migrate.smoke_build import smoke_build
    from crosscast_migrate.summary import NO_RISK, NOTHING, Summary, decisions

    sources = [file.source for file in files.values()]
    programs = programs_of(sources)
    programs.unread |= unread
    failed = bool(failures(problems))
    words = already_there(programs, api)
    apis, own = migration_apis(), {*migration_apis()[api].modules}
    near = [name for name, other in apis.items() if not words or own & {*other.modules}]
    others = places_by_api(sources, [other for other in near if other != api])
    fits = any(others.values())
    diagnostics = [*problems, *unread.values()]
    bound = BoundMigration(migrated, "")
    if words and not failed and not fits:
        bound = with_unbound(migrated, sources, api)
    migrated, smoke = bound.migrated, None
    if demand is not None and words and not failed and not fits:
        smoke = smoke_build(MigratedFiles(files, api), demand, on_run)
        migrated = replace(migrated, refusals=with_more(migrated.refusals, smoke.places))
    decide = decisions(migrated.refusals, problems, list(unread), never if words else ())
    if not failed and (fits or not words):  # a file that is missing says enough
        diagnostics.append(nothing_for(programs, api, others))
        decide = diagnostics[-1].hint
    done = NOTHING if failed or fits or not words else words
    is_open = migrated.refusals or unread or failures(diagnostics)
    return InPlace(
        to=api,
        said=Summary(
            done="; ".join(filter(None, [done, bound.words, smoke.words if smoke else ""])),
            decide=decide,
            risk=NO_RISK,
            state="open" if is_open else "unchanged",
        ),
        mode=mode,
        verified=verify,
        proof=in_place_proof(verify=True, changed=False, compared=False, execution=None),
        smoke=smoke,
        problems=tuple(problems),
        unread=tuple(unread.values()),
        diagnostics=(*diagnostics, *(smoke.diagnostics if smoke else ())),
        _files=files,
        _migrated=migrated,
    )
