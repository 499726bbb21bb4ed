"""The programs of a comparison: the source and the interpreter of each."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from crosscast.messages.diagnostics import Collector, Diagnostic, DiagnosticError
from crosscast.recipe.document import Recipe
from crosscast.targets.backend import (
    backend_names,
    find_target,
    harness_of,
    without_script,
)
from crosscast_parity.adapters.registry import ADAPTERS

NAME = re.compile(r"\A[A-Za-z0-9][A-Za-z0-9._@-]{0,39}\Z", re.ASCII)
KEYS = ("python", "recipe", "script", "adapter")
FORM = "NAME=TARGET[,python=PATH][,recipe=PATH][,script=PATH][,adapter=NAME]"

Edit = Callable[[Path], object]
"""Changes the emitted files of a folder, as a mutation does."""


class Kept(Protocol):
    """Runs that were made earlier, see `kept_reference.StoredReference`."""

    @property
    def execution(self) -> Literal["native", "emulated"]:
        """How its half precision was computed."""

    @property
    def script(self) -> str:
        """Short hash of the script that made them."""

    @property
    def own(self) -> bool:
        """Whether that was a user's script."""

    def find(self, spec: Any) -> Path:
        """Return the folder of a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contestant:
    """One program.

    `target`: what the compiler emits for, or the framework of the user's script. `script`: such
    a script, which is run as it is. `adapter`: a third-party trainer that runs the recipe instead
    of the emitted loop. `edits`: applied to every emitted folder. `stored`: runs that were made
    earlier, instead of any that could be made now.
    """

    name: str
    target: str
    recipe: Recipe
    python: str = sys.executable
    script: Path | None = None
    adapter: str = ""
    edits: tuple[Edit, ...] = field(default=(), compare=False)
    stored: Kept | None = field(default=None, compare=False)
    folder: Path | None = field(default=None, compare=False)
    """Of a recipe of its own."""

    @property
    def framework(self) -> str:
        """Whose process it is: that of a backend that the harness knows, or `none`."""
        return self.target.partition("@")[0] if self.inside else "none"

    @property
    def inside(self) -> str:
        """The package that the framework's backend loads in the process; empty for none."""
        harness = harness_of(self.target.partition("@")[0])
        # A third-party trainer has a loop of its own, with nothing to wrap.
        return harness.inside if harness is not None and not self.adapter else ""

    @property
    def emitted(self) -> bool:
        """Whether its script was compiled here from the recipe, and is run as it came out."""
        return not self.own and not self.adapter and self.framework != "none"

    @property
    def on_toy(self) -> bool:
        """Whether its script can be given the toy; one of the user's own may still refuse it."""
        harness = harness_of(self.framework)
        return bool(self.inside) and not self.stored and bool(harness and harness.has("toy"))

    @property
    def own(self) -> bool:
        """Whether it is a user's script, of which no variants can be compiled."""
        return self.script is not None or bool(self.stored and self.stored.own)


def of_targets(
    targets: Sequence[str], recipe: Recipe, python: Mapping[str, str]
) -> list[Contestant]:
    """Return one contestant for every target of `--to`.

    Raises:
        DiagnosticError: CC306 for targets that emit no training script.
    """
    _check_scripts(targets)
    return [
        Contestant(name=t, target=t, recipe=recipe, python=python.get(t, sys.executable))
        for t in targets
    ]


def parse_contestant(
    text: str, recipe: Recipe, read: Callable[[Path], Recipe], python: Mapping[str, str]
) -> Contestant:
    """Read `NAME=TARGET[,python=PATH][,recipe=PATH][,script=PATH][,adapter=NAME]`.

    Args:
        text: what the user wrote.
        recipe: of the comparison; used unless the text names another.
        read: reads a recipe file.
        python: interpreters by target, used unless the text names one.

    Raises:
        DiagnosticError: CC707 for another form, CC306 for a target that emits no training script.
    """
    name, equals, rest = text.partition("=")
    target, *settings = rest.split(",")
    if not equals or not NAME.match(name) or not target:
        raise refuse(f"{text!r} is not {FORM}")
    values: dict[str, str] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if key not in KEYS or not value or key in values:
            raise refuse(f"{text!r} is not {FORM}")
        values[key] = value
    if "script" in values and "adapter" in values:
        raise refuse(f"{text!r}: a custom script needs no adapter")
    script = Path(values["script"]).absolute() if "script" in values else None
    if script is not None and not script.is_file():
        raise refuse(f"{script} is not a file")
    adapter = values.get("adapter", "")
    if adapter and adapter not in ADAPTERS:
        raise refuse(f"{text!r}: adapters are {', '.join(ADAPTERS)}")
    if adapter and target != ADAPTERS[adapter].framework:
        raise refuse(f"{text!r}: {adapter} runs {ADAPTERS[adapter].framework}")
    if script is None:
        _check_scripts([target])
    interpreter = values.get("python", python.get(target, sys.executable))
    return Contestant(
        name=name,
        target=target,
        recipe=read(Path(values["recipe"])) if "recipe" in values else recipe,
        python=str(Path(interpreter).absolute()) if os.sep in interpreter else interpreter,
        script=script,
        adapter=adapter,
        folder=Path(values["recipe"]).absolute().parent if "recipe" in values else None,
    )


def _check_scripts(targets: Sequence[str]) -> None:
    collect = Collector()
    for name in targets:
        if name.partition("@")[0] not in backend_names():
            continue  # the compiler reports it
        try:
            runs = find_target(name).runs
        except DiagnosticError:
            continue  # likewise
        if not runs:
            hint = "a third-party trainer runs as an adapter: NAME=torch,adapter=NAME"
            collect.add(without_script(name, hint))
    collect.raise_errors()


def check_names(contestants: Sequence[Contestant]) -> None:
    """Refuse two contestants of one name, and none at all.

    Raises:
        DiagnosticError: CC707.
    """
    names = [contestant.name for contestant in contestants]
    if not names or len(set(names)) != len(names):
        raise refuse("name at least one contestant, each once")


def check_custom(
    contestants: Sequence[Contestant], frameworks: Collection[str], folder: Path
) -> None:
    """Refuse programs that cannot train the custom models of a comparison.

    Args:
        contestants: The first one has the recipe of the comparison.
        frameworks: Those whose models are compared.
        folder: Of the first recipe, which the code of the models is imported from.

    Raises:
        DiagnosticError: CC707.
    """
    first = contestants[0].recipe
    for contestant in contestants:
        name, recipe = contestant.name, contestant.recipe
        if contestant.adapter or "@" in contestant.target:
            raise refuse(f"{name}: only scripts for current versions train custom models here")
        if contestant.framework not in frameworks:
            raise refuse(
                f"{name}: its model is not compared, only those of {', '.join(frameworks)}"
            )
        if (recipe.model, recipe.loss) != (first.model, first.loss):
            raise refuse(f"{name}: its recipe has another model or loss")
        if contestant.folder is not None and contestant.folder.resolve() != folder.resolve():
            raise refuse(f"{name}: its recipe must be in {folder}, where the models are")


def refuse(message: str) -> DiagnosticError:
    """Return the error for an option that makes no sense."""
    return DiagnosticError(Diagnostic(code="CC707", message=message))
