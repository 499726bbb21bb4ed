"""The command `crosscast compile`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated

from crosscast.api.parameters import Parameter
from crosscast.cli.options import ALL, JSON, options_of, output
from crosscast.cli.screens import show
from crosscast.messages.console import print_diagnostics, print_json

if TYPE_CHECKING:
    from crosscast.api.compiling import Compilation


@options_of("compiling.compile")
def compile_command(
    compile: Callable[..., Compilation],
    *,
    output: Annotated[str, output("Output folder, or - for stdout.")],
    form: str,
    force: bool,
    explore: Annotated[
        str, Parameter("Also write a page that shows which lines carry which field.", "FILE")
    ] = "",
    all: Annotated[bool, ALL] = False,
    json: Annotated[bool, JSON] = False,
) -> int:
    """Compile a recipe to training scripts or configurations, one folder per target."""
    from crosscast.api.compiling import RECIPE_FILE, check_folder

    check_folder(output)
    made = compile(out=None if output == "-" else output)
    if explore and output != "-":
        from crosscast.api.exploring import explore as page_of
        from crosscast.cli.explore import file_of, print_page

        print_page(page_of(made.recipe, made.targets, out=file_of(explore), force=force))
    if output == "-":
        if form == "step" and len(made.targets) == 1 and not json:
            scripts = (text for path, text in made.files.items() if path != RECIPE_FILE)
            print(*scripts, sep="", end="")
        else:
            _to_stdout(made.files, as_json=json)
        print_diagnostics(made.diagnostics)
    elif json:
        diagnostics = [diagnostic.to_json() for diagnostic in made.diagnostics]
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
