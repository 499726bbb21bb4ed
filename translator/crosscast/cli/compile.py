"""Commands that read a recipe: compile, check, show, explain."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from crosscast.messages.console import (
    EXIT_FINDINGS,
    cell_text,
    exit_code,
    print_diagnostics,
    print_json,
    print_table,
)
from crosscast.messages.diagnostics import Collector, Diagnostic, DiagnosticError, Severity

if TYPE_CHECKING:
    from crosscast.readers.recipe_yaml import Loaded

RecipeArgument = Annotated[
    str, typer.Argument(metavar="RECIPE", help="A recipe file, or - for stdin.")
]
ToOption = Annotated[
    list[str],
    typer.Option("--to", metavar="T,...", help="Targets: NAME, NAME@VERSION or NAME@DIALECT."),
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


def targets_of(texts: Sequence[str]) -> list[str]:
    """Split the `--to` values; an unknown or repeated name is a diagnostic."""
    from crosscast.targets.backend import find_target

    names = [name.strip() for text in texts for name in text.split(",") if name.strip()]
    collect = Collector()
    for name in names:
        try:
            find_target(name)
        except DiagnosticError as error:
            collect.found += error.diagnostics
    if not names or len(set(names)) != len(names):
        message = "--to needs at least one target" if not names else "--to names a target twice"
        collect.add(Diagnostic(code="CC106", message=message))
    collect.raise_errors()
    return names


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
    json: JsonOption = False,
) -> int:
    """Compile a recipe to training scripts or configurations, one folder per target."""
    from crosscast.emit.compiler import compile_recipe
    from crosscast.messages.output import OutputFile, write_files
    from crosscast.readers.recipe_yaml import load_placed
    from crosscast.recipe.fill_in import still_open
    from crosscast.recipe.yaml_text import recipe_text

    targets = targets_of(to)
    if not output:
        message = "-o needs a folder; use . for the current one"
        raise DiagnosticError(Diagnostic(code="CC503", message=message))
    loaded = load_placed(recipe)
    marks = loaded.document.marks
    if marks and not allow_fill_in:
        raise DiagnosticError(*still_open(marks))
    try:
        compiled = compile_recipe(loaded.recipe, targets, form=form, strict=strict)
    except DiagnosticError as error:
        raise loaded.placed(error) from None
    files = {"recipe.yaml": OutputFile(recipe_text(loaded.recipe, marks))}
    for built in compiled:
        files |= {f"{built.target.folder}/{path}": file for path, file in built.files.items()}
    diagnostics = [*loaded.notices(), *(d for built in compiled for d in built.diagnostics)]
    if output == "-":
        if form == "step" and len(compiled) == 1 and not json:
            print(*(file.text for file in compiled[0].files.values()), sep="", end="")
        else:
            _to_stdout(files, as_json=json)
        print_diagnostics(diagnostics)
        return 0
    write_files(Path(output), files, force=force)
    if explore:
        from crosscast.cli.explore import write_page
        from crosscast.explore.reading import side_of_recipe

        write_page([side_of_recipe(loaded)], targets, explore, force=force)
    if json:
        print_json({"files": sorted(files), "diagnostics": [d.to_json() for d in diagnostics]})
    else:
        print_diagnostics(diagnostics)
        for path in sorted(files):
            print(Path(output) / path)
    return 0


def _to_stdout(files: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json({path: file.text for path, file in files.items()})
        return
    for path, file in files.items():
        print(f"# ==> {path} <==")
        print(file.text)


def check(
    recipes: Annotated[list[str], typer.Argument(metavar="RECIPE...", help="Recipe files.")],
    to: Annotated[
        list[str] | None,
        typer.Option(
            "--to", metavar="T,...", help="Also check that these targets can express the recipe."
        ),
    ] = None,
    strict: StrictOption = False,
    allow_fill_in: AllowFillInOption = False,
    json: JsonOption = False,
) -> int:
    """Check recipes and report all problems."""
    targets = targets_of(to) if to else []
    found: list[Diagnostic] = []
    for path in recipes:
        try:
            found += _check_one(path, targets, strict, allow_fill_in)
        except DiagnosticError as error:
            found += error.diagnostics
    print_diagnostics(found, as_json=json)
    if not json:
        print(_summary(found, len(recipes)))
    return exit_code(found)


def _summary(found: Sequence[Diagnostic], recipes: int) -> str:
    """Return the last line of `check`: the numbers of errors, warnings and recipes."""
    parts = []
    for severity in (Severity.ERROR, Severity.WARNING):
        count = sum(diagnostic.severity is severity for diagnostic in found)
        if count:
            parts.append(f"{count} {severity}{'s' * (count != 1)}")
    return f"Found {' and '.join(parts) or 'no errors'} in {recipes} recipe{'s' * (recipes != 1)}."


def _check_one(
    path: str, targets: list[str], strict: bool, allow_fill_in: bool
) -> list[Diagnostic]:
    from crosscast.emit.compiler import check_all_overrides, compile_recipe
    from crosscast.readers.recipe_yaml import load_placed
    from crosscast.recipe.fill_in import still_open

    loaded = load_placed(path)
    refused = [] if allow_fill_in else still_open(loaded.document.marks)
    try:
        check_all_overrides(loaded.recipe)
        compiled = compile_recipe(loaded.recipe, targets, strict=strict)
    except DiagnosticError as error:
        raise DiagnosticError(*refused, *loaded.placed(error).diagnostics) from None
    warnings = [notice for notice in loaded.notices() if not refused or notice.code != "CC109"]
    return [*refused, *warnings, *(d for built in compiled for d in built.diagnostics)]


def show(recipe: RecipeArgument, json: JsonOption = False) -> None:
    """Print a recipe with every default and derived value written out."""
    from crosscast.readers.recipe_yaml import load_placed
    from crosscast.recipe.yaml_text import recipe_text

    loaded = load_placed(recipe)
    warn_of_marks(loaded)
    if json:
        print_json(loaded.recipe.model_dump(mode="json"))
    else:
        print(recipe_text(loaded.recipe, loaded.document.marks), end="")


def warn_of_marks(loaded: Loaded) -> None:
    """Print a warning for every value of a recipe that is still to be filled in."""
    from crosscast.recipe.fill_in import still_open

    print_diagnostics(still_open(loaded.document.marks, Severity.WARNING))


def _plain(value: Any) -> Any:
    """Return the value of a field as JSON knows it."""
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value.model_dump(mode="json") if hasattr(value, "model_dump") else value


def explain(
    recipe: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="A recipe (or - for stdin), a script or a launch script."
        ),
    ],
    to: Annotated[
        list[str] | None,
        typer.Option("--to", metavar="T,...", help="Targets; default: all frameworks."),
    ] = None,
    strict: StrictOption = False,
    json: JsonOption = False,
) -> int:
    """Explain how targets implement a recipe, or show the training step of a script.

    For a recipe: the verdict of every field. For a script: its step next to the neutral one.
    """
    from crosscast.lift.explanation import explain_program, is_program

    if is_program(recipe):
        return explain_program(recipe, json=json)
    from crosscast.readers.recipe_yaml import load_placed
    from crosscast.targets import capability
    from crosscast.targets.backend import find_target, program_names

    loaded = load_placed(recipe)
    warn_of_marks(loaded)
    result = []
    for name in targets_of(to) if to else program_names():
        for judgement in capability.judge(loaded.recipe, find_target(name).rows):
            result.append(
                {
                    "target": name,
                    "field": judgement.path,
                    "value": _plain(judgement.value),
                    "verdict": str(judgement.row.verdict),
                    "code": judgement.row.code,
                    "evidence": str(judgement.row.evidence),
                    "how": judgement.row.how,
                }
            )
    if json:
        print_json(result)
    else:
        columns = ("target", "field", "verdict", "code", "value", "how")
        cells = [[cell_text(row[name]) for name in columns] for row in result]
        print_table(columns, cells, long=("value", "how"))
    below = {"unsupported"} | ({"adapted", "approximate"} if strict else set())
    return EXIT_FINDINGS if any(row["verdict"] in below for row in result) else 0
