"""Commands that read a recipe: compile, check, show, explain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

import typer

from crosscast.cli.completion import complete_fields, complete_targets
from crosscast.cli.screens import AllOption, show, show_head
from crosscast.messages.console import print_diagnostics, print_json
from crosscast.targets.choice import Only

RecipeArgument = Annotated[
    str, typer.Argument(metavar="RECIPE", help="A recipe file, or - for stdin.")
]
ToOption = Annotated[
    list[str],
    typer.Option(
        "--to",
        autocompletion=complete_targets,
        metavar="TARGET,...",
        help="Targets: NAME, NAME@VERSION or NAME@DIALECT.",
    ),
]
OnlyOption = Annotated[
    Only | None, typer.Option("--only", help="Only fields with this verdict.", show_default=False)
]
FieldOption = Annotated[
    list[str] | None,
    typer.Option(
        "--field",
        autocompletion=complete_fields,
        metavar="FIELD,...",
        help="Only these fields, or all fields of a section.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
AllowFillInOption = Annotated[
    bool,
    typer.Option(
        "--allow-fill-in", help="Accept values that are still marked FILL IN, with a warning."
    ),
]
StrictOption = Annotated[
    bool, typer.Option("--strict", help="Reject every field whose verdict is not exact.")
]


def compile_command(
    recipe: RecipeArgument,
    to: ToOption,
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="DIR", help="Output folder, or - for stdout.")
    ],
    form: Annotated[
        Literal["script", "step"],
        typer.Option(help="Emit a complete training script, or only the training step."),
    ] = "script",
    strict: StrictOption = False,
    allow_fill_in: AllowFillInOption = False,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite files that crosscast did not write.")
    ] = False,
    explore: Annotated[
        str,
        typer.Option(
            "--explore",
            metavar="FILE",
            help="Also write a page that shows which lines carry which field.",
        ),
    ] = "",
    all: AllOption = False,
    json: JsonOption = False,
) -> int:
    """Compile a recipe to training scripts or configurations, one folder per target."""
    from crosscast.api.compiling import RECIPE, check_folder, compile

    check_folder(output)
    made = compile(
        recipe,
        to,
        form=form,
        strict=strict,
        allow_fill_in=allow_fill_in,
        out=None if output == "-" else output,
        force=force,
    )
    if explore and output != "-":
        from crosscast.api.exploring import explore as page_of
        from crosscast.cli.explore import file_of, print_page

        print_page(page_of(made.recipe, made.targets, out=file_of(explore), force=force))
    if output == "-":
        if form == "step" and len(made.targets) == 1 and not json:
            print(*(text for path, text in made.files.items() if path != RECIPE), sep="", end="")
        else:
            _to_stdout(made.files, as_json=json)
        print_diagnostics(made.diagnostics)
    elif json:
        diagnostics = [found.to_json() for found in made.diagnostics]
        print_json({"files": sorted(made.files), "diagnostics": diagnostics})
    else:
        show(made, all=all)
    return 0


def _to_stdout(files: Mapping[str, str], *, as_json: bool) -> None:
    if as_json:
        print_json(dict(files))
        return
    for path, text in files.items():
        print(f"# ==> {path} <==")
        print(text)


def check_command(
    recipes: Annotated[list[str], typer.Argument(metavar="RECIPE...", help="Recipe files.")],
    to: Annotated[
        list[str] | None,
        typer.Option(
            "--to",
            autocompletion=complete_targets,
            metavar="TARGET,...",
            help="Also check that these targets can express the recipe.",
        ),
    ] = None,
    strict: StrictOption = False,
    allow_fill_in: AllowFillInOption = False,
    json: JsonOption = False,
) -> int:
    """Check recipes and report all problems."""
    from crosscast.api.recipes import check

    found = check(recipes, to, strict=strict, allow_fill_in=allow_fill_in)
    if json:
        print_diagnostics(found.diagnostics, as_json=True)
    else:
        show(found)
    return found.exit_code


def show_command(recipe: RecipeArgument, json: JsonOption = False) -> None:
    """Print a recipe with every default and derived value written out."""
    from crosscast.api.recipes import show as shown_recipe

    shown = shown_recipe(recipe)
    if json:
        print_diagnostics(shown.open)
        print_json(shown.to_json())
        return
    show_head(shown)
    print_diagnostics(shown.open)
    print(shown.text, end="")


def explain_command(
    recipe: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="A recipe (or - for stdin), a script or a launch script."
        ),
    ],
    to: Annotated[
        list[str] | None,
        typer.Option(
            "--to",
            autocompletion=complete_targets,
            metavar="TARGET,...",
            help="Targets; default: all frameworks.",
        ),
    ] = None,
    only: OnlyOption = None,
    field: FieldOption = None,
    all: AllOption = False,
    strict: StrictOption = False,
    json: JsonOption = False,
) -> int:
    """Explain how targets implement a recipe, or show the training step of a script.

    For a recipe: numbers of verdicts, and every field that is not exact. For a script: its step
    next to the neutral one.
    """
    from crosscast.api.explaining import explain

    found = explain(recipe, to, strict=strict, only=only, field=field)
    if not json:
        show(found, all=all)
    elif found.plan is not None:
        print_json({"plan": found.plan.to_json(), "steps": [s.to_json() for s in found.steps]})
    else:
        print_diagnostics(found.diagnostics)
        print_json([verdict.to_json() for verdict in found.verdicts])
    return found.exit_code
