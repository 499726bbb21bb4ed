"""What the shell completes: targets, fields, rules and other values of options.

A function takes the word so far and returns whole words. Nothing here imports a framework or reads
a user's file. Targets, rules and fields come from a generated file (`docs/completed_words.py`):
loading backends, rules and the schema takes too long for a key, as do descriptions, for which Typer
loads rich.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, MutableMapping
from pathlib import Path
from typing import Any

_BASH = "complete_bash"
_HEAD = "_CROSSCAST_COMPLETE_HEAD"
"""What stands before the word in bash, which ends words at `@` and `=`."""
_ENDS = ("@", "=")


def rejoin_words(environment: MutableMapping[str, str]) -> None:
    """Undo that bash splits `torch@2.4` and `a=b` into three words, before they are completed.

    Bash replaces only what stands behind the last `@` or `=`: the rest is kept for completion.
    """
    if environment.get("_CROSSCAST_COMPLETE") != _BASH or "COMP_WORDS" not in environment:
        return
    words = environment["COMP_WORDS"].split("\n")
    last = int(environment.get("COMP_CWORD", "0"))
    joined: list[str] = []
    for word in (*words[:last], words[last] if last < len(words) else ""):
        if joined and word == "=" and joined[-1].startswith("-"):
            joined.append("")  # `--to=torch` is `--to torch`
        elif joined and (word in _ENDS or joined[-1].endswith(_ENDS) or not joined[-1]):
            joined[-1] += word
        else:
            joined.append(word)
    split = max(joined[-1].rfind(end) for end in _ENDS) + 1
    environment[_HEAD] = joined[-1][:split]
    environment["COMP_WORDS"] = "\n".join([*joined[:-1], joined[-1][split:]])
    environment["COMP_CWORD"] = str(len(joined) - 1)


def _words() -> dict[str, Any]:
    text = (Path(__file__).parent / "completed_words.json").read_text(encoding="utf-8")
    words: dict[str, Any] = json.loads(text)
    return words


def _listed(incomplete: str, known: Iterable[str]) -> list[str]:
    """Return the known words for the last one of a list with commas, with the others before it."""
    split = os.environ.get(_HEAD, "")
    before, comma, word = f"{split}{incomplete}".rpartition(",")
    given = before.split(",")
    fitting = (name for name in known if name.startswith(word) and name not in given)
    return [f"{before}{comma}{name}"[len(split) :] for name in fitting]


def complete_targets(incomplete: str) -> list[str]:
    """Return targets: names, and versions and dialects once a name is written."""
    from importlib.metadata import entry_points

    word = f"{os.environ.get(_HEAD, '')}{incomplete}".rpartition(",")[2]
    known: list[str] = _words()["targets"]
    known += sorted(entry_points(group="crosscast.backends").names - set(known))
    if word not in known and "@" not in word:
        known = [name for name in known if "@" not in name]
    return _listed(incomplete, known)


def complete_migrations(incomplete: str) -> list[str]:
    """Return the names that `migrate` can migrate to: the APIs in place, and targets."""
    from crosscast.targets.source_support import migration_apis

    return [*_listed(incomplete, migration_apis()), *complete_targets(incomplete)]


def complete_settings(incomplete: str) -> list[str]:
    """Return the fields of a recipe, each with the `=` of a setting, or the words behind it."""
    fields: dict[str, list[str]] = _words()["fields"]
    split = os.environ.get(_HEAD, "")
    name, equals, word = f"{split}{incomplete}".partition("=")
    if equals:
        fitting = [each for each in fields.get(name, ()) if each.startswith(word)]
        return [f"{name}={each}"[len(split) :] for each in fitting]
    return [f"{field}=" for field in fields if field.startswith(name)]


def complete_fields(incomplete: str) -> list[str]:
    """Return the fields of a recipe, and the sections that begin with what is written."""
    fields: dict[str, list[str]] = _words()["fields"]
    sections = [field[:end] for field in fields for end, c in enumerate(field) if c == "."]
    return _listed(incomplete, dict.fromkeys((*sections, *fields)))


def complete_rules(incomplete: str) -> list[str]:
    """Return the codes of the rules of lint."""
    return _listed(incomplete, _words()["rules"])


def complete_changes(incomplete: str) -> list[str]:
    """Return the changes of meaning that `migrate` may be allowed to make."""
    from crosscast_migrate.allowed_changes import all_changes

    return _listed(incomplete, sorted(all_changes()))


def complete_devices(incomplete: str) -> list[str]:
    """Return the GPUs whose memory is known."""
    from crosscast.fit.devices import DEVICES

    return [device.name for device in DEVICES if device.name.startswith(incomplete)]


def complete_packages(incomplete: str) -> list[str]:
    """Return the packages whose releases were observed."""
    from crosscast.drift.observations import packages

    return [name for name in packages() if name.startswith(incomplete)]


WORDS: dict[str, Callable[[str], list[str]]] = {
    "targets": complete_targets,
    "migrations": complete_migrations,
    "settings": complete_settings,
    "fields": complete_fields,
    "rules": complete_rules,
    "changes": complete_changes,
    "devices": complete_devices,
    "packages": complete_packages,
}
"""What completes the words that a parameter takes, by their name in its description."""
