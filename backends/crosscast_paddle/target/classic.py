"""Recipe to the flags of a classic Paddle script: run.sh and the encoder's configuration."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap

from crosscast.emit.frame import frame_of
from crosscast.emit.view import script_header
from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast.plan.canonical import canonical_plan
from crosscast.recipe.document import BertModel, Recipe, SyntheticData
from crosscast.targets.backend import Dialect, File, Form, Lowered
from crosscast.targets.capability import Judgement, Verdict
from crosscast_paddle.target.classic_scripts import SCRIPTS, Script, Variable
from crosscast_paddle.target.classic_values import encoder_config, flag_text, flag_values

WIDTH = 86


@dataclass(frozen=True, slots=True, kw_only=True)
class FlagLines:
    """The flags of the script."""

    given: tuple[str, ...]
    """Those always given, as lines."""
    dead: tuple[str, ...]
    """Those that the script never uses, as lines."""
    optional: tuple[tuple[str, str], ...]
    """Those given if the user sets a variable, each with that variable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicView:
    """What the templates of run.sh and of the encoder's configuration see."""

    header: tuple[str, ...]
    notes: tuple[str, ...]
    """What the script does otherwise than the recipe, as lines."""
    source: str
    """Where the flags were read."""
    recipe: Recipe
    config: str
    """Name of the encoder's configuration."""
    encoder: str
    """The encoder's configuration, in JSON."""
    variables: tuple[str, ...]
    """Assignments of the user's variables."""
    tasks: str
    """Pattern of the tasks with the recipe's number of classes; empty for any."""
    gpus: str
    """Numbers of the GPUs, if the user does not choose."""
    rows: int | None
    """Rows of the training data; None if only the user knows."""
    flags: FlagLines


def lower(
    recipe: Recipe,
    judgements: Sequence[Judgement],
    templates: Path,
    dialect: Dialect,
    form: Form,
) -> Lowered:
    """Return plan and files of a recipe for a script that the user has.

    Raises:
        DiagnosticError: CC386 for the form `step`: flags hold no step to import.
    """
    if form == "step":
        raise DiagnosticError(
            Diagnostic(
                code="CC386",
                message=f"paddle@{dialect.name}: only flags are emitted, there is no step",
                hint="leave --form step out",
            )
        )
    script, data = SCRIPTS[dialect.name], recipe.data
    view = ClassicView(
        header=script_header(frame_of(recipe), dialect.title, form),
        notes=_notes(judgements),
        source=script.source,
        recipe=recipe,
        config=script.config,
        encoder=json.dumps(encoder_config(recipe), indent=2),
        variables=tuple(_assignment(variable, recipe, script) for variable in script.variables),
        tasks=" | ".join(_tasks(recipe, script)),
        gpus=",".join(str(index) for index in range(recipe.processes)),
        rows=data.train_rows if isinstance(data, SyntheticData) else None,
        flags=_flags(recipe, script),
    )
    context = {"view": view}
    run, config = (f"paddle/classic/{name}.j2" for name in ("run.sh", "config.json"))
    files = (
        File(path="run.sh", template=run, view=context, executable=True),
        File(path=script.config, template=config, view=context),
    )
    return Lowered(plan=canonical_plan(recipe), files=files)


def _notes(judgements: Sequence[Judgement]) -> tuple[str, ...]:
    """Return comment lines, from the rows, on deviations of the script from the recipe."""
    decided = (judgement.row for judgement in judgements)
    comments = dict.fromkeys(
        f"{row.code} {row.path}: {row.how}" for row in decided if row.verdict is not Verdict.EXACT
    )
    indent = "      "
    return tuple(
        line for comment in comments for line in wrap(comment, WIDTH, subsequent_indent=indent)
    )


def _tasks(recipe: Recipe, script: Script) -> tuple[str, ...]:
    assert isinstance(recipe.model, BertModel)
    return dict(script.tasks).get(recipe.model.labels, ())


def _assignment(variable: Variable, recipe: Recipe, script: Script) -> str:
    default = variable.default
    if variable.name == "TASK_NAME":
        default = _tasks(recipe, script)[0]
    elif variable.name == "CHECKPOINTS":
        default = f"runs/{recipe.name}-paddle-{script.name}"
    comment = f"  # {variable.help}" if variable.help else ""
    name = variable.name
    return f"{name}=${{{name}:-{shlex.quote(default) if default else ''}}}{comment}"


def _flags(recipe: Recipe, script: Script) -> FlagLines:
    optional = {variable.name for variable in script.variables if not _has_default(variable)}
    values = flag_values(recipe, script)
    words: list[str] = []
    dead: list[str] = []
    optional_flags: list[tuple[str, str]] = []
    for flag in script.flags:
        value = values.get(flag.name, flag.default)
        if flag.variable in optional:
            optional_flags.append((flag.name, flag.variable))
            continue
        if flag.variable:
            word = f'"${flag.variable}"'
        else:
            assert value is not None, flag.name
            word = shlex.quote(flag_text(flag, value))
        (dead if flag.dead else words).append(f"--{flag.name} {word}")
    return FlagLines(given=tuple(words), dead=tuple(dead), optional=tuple(optional_flags))


def _has_default(variable: Variable) -> bool:
    return bool(variable.default) or variable.name in ("TASK_NAME", "CHECKPOINTS")
