"""Uses of apex beside its loops that are named and never changed: the loop stays with them."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from crosscast_reading.pysource.syntax.nodes import dotted_text, identifier
from crosscast_torch.migration.experimental.apex.imports import is_reexported
from crosscast_torch.migration.experimental.apex.uses import Stops, Uses

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program
    from crosscast_reading.sources.subject import Subject

_ASKING = ("importlib.util.find_spec", "pkgutil.find_loader", "importlib.import_module")
_OF_LIBRARY = "is_apex_available"
"""A function of transformers."""
_REGISTERS = re.compile(r"amp\.(?:register_)?(?:half|float|promote)_function\b")
"""Calls that apex 0.1 answers only after `amp.initialize`."""


def check_records(program: Program, uses: Uses, stops: Stops) -> None:
    """Report what tells whether apex is installed and would stay.

    Without apex it says no, and the program would train without half precision.
    """
    for module in program.modules:
        for node in module.every(ast.Try):
            record = next(filter(_is_record, _parts(node)), None)
            if record is not None and _stays(module, node, uses):
                stops.add(
                    module,
                    node,
                    f"`{module.text(record)}` records whether apex is installed, beside other "
                    "imports of apex or for other files",
                    hint="import amp of apex where losses are scaled, without a `try`; write here "
                    "what is recorded if apex is installed, and run again",
                )
        for call in module.calls:
            asks = call.name in _ASKING and call.node.args and _is_apex(call.node.args[0])
            known = identifier(call.node.func) == _OF_LIBRARY and ":" not in call.name
            if (asks or known) and not _guards_imports(module, call.node):
                stops.add(
                    module,
                    call.node,
                    f"{module.text(call.node)} asks whether apex is installed, which the migrated "
                    "program does not need",
                    hint="replace the question by True first",
                )


def _parts(node: ast.Try) -> list[ast.stmt]:
    handled = [part for handler in node.handlers for part in handler.body]
    return [*node.body, *node.orelse, *handled]


def _stays(module: Module, node: ast.Try, uses: Uses) -> bool:
    """Whether a `try` with apex.amp does not go with the imports of its module."""
    imports = [part for part in node.body if isinstance(part, ast.Import | ast.ImportFrom)]
    homes = [(part, home) for part in imports for home in _homes(part)]
    if not any(home == "apex" or f"{home}.".startswith("apex.amp.") for _, home in homes):
        return False
    names = [home for _, home in homes]
    if "apex" in names:  # and what the module uses of it
        names += [dotted_text(part) for part in module.every(ast.Attribute)]
    others = any(
        name.startswith("apex.") and not f"{name}.".startswith("apex.amp.") for name in names
    )
    return (
        others
        or module not in uses.modules()
        or any(is_reexported(module, part) for part in imports)
    )


def _homes(statement: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(statement, ast.Import):
        return [alias.name for alias in statement.names]
    return [f"{statement.module}.{alias.name}" for alias in statement.names]


def _is_record(statement: ast.stmt) -> bool:
    """Whether a statement is `has_apex = True`, `amp = None` or `return False`."""
    match statement:
        case ast.Assign(targets=[ast.Name()], value=ast.Constant()):
            return True
        case ast.Return(value=ast.Constant()):
            return True
    return False


def _guards_imports(module: Module, call: ast.Call) -> bool:
    """Whether a call only decides about imports of apex, which go."""
    match module.parent(call):
        case ast.If(test=test, body=body, orelse=[]):
            return test is call and all(
                isinstance(part, ast.Import | ast.ImportFrom)
                and all(f"{home}.".startswith("apex.") for home in _homes(part))
                for part in body
            )
    return False


def _is_apex(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=str(name)):
            return name.partition(".")[0] == "apex"
    return False


def check_registered_elsewhere(subject: Subject, uses: Uses, stops: Stops) -> None:
    """Report functions that another file of the sources registers with apex."""
    own = {module.source.name for module in subject.program.modules}
    starts = uses.of("initialize")
    for source in subject.beside if starts else ():
        registered = None if source.name in own else _REGISTERS.search(source.text)
        if registered is not None:
            stops.add(
                starts[0].module,
                starts[0].node,
                f"{source.name} calls {registered.group()}, which works only with the loop of apex",
                hint="first replace it there: torch.amp has no lists of functions",
            )
