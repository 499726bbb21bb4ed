"""Recipe to the flags of a classic Paddle script: run.sh and the encoder's configuration."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any

from crosscast.emit.frame import frame_of
from crosscast.emit.lowering import shared_view
from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast.plan.canonical import canonical_plan
from crosscast.recipe.document import BertModel, Recipe, SyntheticData
from crosscast.targets.backend import Dialect, File, Form, Lowered
from crosscast.targets.capability import Judgement, Verdict
from crosscast_paddle.classic_scripts import SCRIPTS, Script, Variable
from crosscast_paddle.classic_values import encoder_config, flag_text, flag_values

WIDTH = 86


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
    script = SCRIPTS[dialect.name]
    plan = canonical_plan(recipe)
    view = shared_view(plan, frame_of(recipe), dialect.title, form)
    view |= {
        "notes": _notes(judgements),
        "source": script.source,
        "variables": tuple(_assignment(variable, recipe, script) for variable in script.variables),
        "config": script.config,
        "gpus": ",".join(str(index) for index in range(recipe.processes)),
        "tasks": " | ".join(_tasks(recipe, script)),
        "rows": recipe.data.train_rows if isinstance(recipe.data, SyntheticData) else "",
        **_flags(recipe, script),
    }
    config = json.dumps(encoder_config(recipe), indent=2)
    files = (
        File(
            path="run.sh",
            template="paddle/classic/run.sh.j2",
            view={"view": view},
            executable=True,
        ),
        File(path=script.config, template="paddle/classic/config.json.j2", view={"text": config}),
    )
    return Lowered(plan=plan, files=files)


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


def _flags(recipe: Recipe, script: Script) -> dict[str, Any]:
    """Return the lines of flags: always given, given if the user's variable is set, and dead."""
    optional = {variable.name for variable in script.variables if not _has_default(variable)}
    values = flag_values(recipe, script)
    given: list[str] = []
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
        (dead if flag.dead else given).append(f"--{flag.name} {word}")
    return {
        "flags": tuple(given),
        "optional_flags": tuple(optional_flags),
        "dead_flags": tuple(dead),
    }


def _has_default(variable: Variable) -> bool:
    return bool(variable.default) or variable.name in ("TASK_NAME", "CHECKPOINTS")
