"""Command-line flags: their definitions, defaults and values.

A flag is read through the namespace that the parser returns: `args.x`, `vars(args)["x"]`,
`FLAGS.x`, a field of a dataclass that a parser fills, a parameter that click or fire fills.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from crosscast_reading.pysource.names.containers import chase
from crosscast_reading.pysource.programs.flag import Flag
from crosscast_reading.pysource.programs.meaning import meanings_of
from crosscast_reading.pysource.values.value import Known, Unknown, Value

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program
    from crosscast_reading.pysource.programs.scopes import Binding


_NAMESPACES = frozenset(
    {
        *("args", "arg", "opt", "opts", "option", "options", "flags", "config", "cfg", "conf"),
        *("hparams", "hps", "hp", "params", "p", "a", "arguments", "namespace", "c", "ns"),
        *("param", "parameters", "parsed", "settings", "para", "argv"),
    }
)
_PARSED = (
    *("parse_args", "parse_known_args", "parse_intermixed_args", "parse_args_and_config"),
    *("flags.FLAGS", "parse_known_intermixed_args", "gflags.FLAGS"),
    *("tyro.cli", "simple_parsing.parse", "draccus.parse", "pyrallis.parse"),
)


def is_namespace(name: str) -> bool:
    """Whether what has a qualified name holds parsed flags."""
    return name.endswith(_PARSED)


def value_of(flag: Flag, text: str) -> Value:
    """Return the value of a flag that the source reads as `text`."""
    if flag.given is not None:
        return Known(flag.given.value, "flag", text[:200])
    default = flag.default
    if isinstance(default, Known):
        return Known(default.value, "flag", text[:200])
    if isinstance(default, Unknown):
        if default.has_default:
            return Unknown(text[:200], default.reason, "flag", default.default, True, (text[:200],))
        return Unknown(text[:200], default.reason, "flag", names=(text[:200],))
    return default


def flag_read(node: ast.expr, module: Module) -> Flag | None:
    """Return the flag that an expression reads."""
    program = module.program
    if not program.all_flags:
        return None
    if isinstance(node, ast.Subscript):
        key = node.slice
        if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
            return None
        base, dest = node.value, key.value
        if _is_vars(base, module):
            return program.flag_named(dest, module)
    elif isinstance(node, ast.Attribute):
        base, dest = node.value, node.attr
    else:
        return None
    if dest == "value" and isinstance(base, ast.Name | ast.Attribute):
        return _absl_holder(base, module, program)
    if not program.has_flag(dest):
        return None
    owner = _owner(base, module, program)
    return program.flag_named(dest, module, owner) if owner is not None else None


def _is_vars(base: ast.expr, module: Module) -> bool:
    for origin, where in chase(base, module):
        if isinstance(origin, ast.Call) and where.resolve(origin.func) == "vars":
            return True
        if isinstance(origin, ast.Attribute) and origin.attr == "__dict__":
            return True
    return False


def _owner(base: ast.expr, module: Module, program: Program) -> str | None:
    """Return whose flags an expression holds: empty for a namespace, None if it holds none."""
    has_meaning = False
    for name in module_meanings(base, module):
        has_meaning = True
        if name.endswith(_PARSED):
            return ""
        if ":" in name and program.is_flag_owner(name):
            return name
    if has_meaning and not _open(base, module):
        return "" if _is_parsed_elsewhere(base, module) else None
    return "" if _is_called_so(base, module) else None


def _is_parsed_elsewhere(base: ast.expr, module: Module) -> bool:
    """Whether an expression is another file's result for a parser: `read_config(parser)`."""
    return any(
        isinstance(origin, ast.Call)
        and len(origin.args) == 1
        and ":" not in where.resolve(origin.func)
        and where.resolve(origin.args[0]).endswith("ArgumentParser")
        for origin, where in chase(base, module)
    )


def _is_called_so(base: ast.expr, module: Module) -> bool:
    """Whether an expression, or what it was assigned from, has a name that parsed flags have."""
    for origin, _ in chase(base, module):
        written = origin.attr if isinstance(origin, ast.Attribute) else ""
        written = origin.id if isinstance(origin, ast.Name) else written
        small = written.lower().strip("_")
        if small in _NAMESPACES or "args" in small or "flags" in small or small.endswith("opt"):
            return True
    return False


def module_meanings(base: ast.expr, module: Module) -> tuple[str, ...]:
    """Return the qualified names of an expression."""
    return module.resolve_all(base)


def _open(base: ast.expr, module: Module) -> bool:
    """Whether what an expression is known to be is only an annotation or a plain container."""
    names = module.resolve_all(base)
    plain = ("argparse.Namespace", "types.SimpleNamespace", "easydict.EasyDict", "dict")
    wraps = ("EasyDict", "Namespace", "DotDict", "AttrDict", "edict", "Dict", "Any")
    return all(n in plain or n.endswith(wraps) for n in names)


def _absl_holder(base: ast.expr, module: Module, program: Program) -> Flag | None:
    for meaning in meanings_of(base, module):
        if meaning.call is not None and ".DEFINE_" in meaning.name:
            for flag in program.all_flags:
                if flag.node is meaning.call:
                    return flag
    return None


def flag_of_parameter(binding: Binding, program: Program) -> Flag | None:
    """Return the flag that fills a parameter of a function (click, fire)."""
    if not isinstance(binding.node, ast.arg) or not program.has_flag(binding.node.arg):
        return None
    owner = f"{binding.module.source.name}:{binding.scope.qualname}"
    if not program.is_flag_owner(owner):
        return None
    return program.flag_named(binding.node.arg, binding.module, owner)


def is_given(text: str, program: Program) -> bool:
    """Whether the launch command sets the flag that the source reads as `text`."""
    dest = text.rpartition(".")[2].strip("]\"'").rpartition("[")[2].strip("\"'")
    return any(f.dest == dest and f.given is not None for f in program.all_flags)


def environment(key: str, text: str, default: Value | None, program: Program) -> Value:
    """Return the value of a variable of the environment."""
    launch = program.launch
    for variable in launch.environment if launch is not None else ():
        if variable.expression == key and variable.known:
            return Known(variable.value, "shell_variable", key)
    reason = f"the environment variable {key}"
    if isinstance(default, Known):
        return Unknown(text[:200], reason, "shell_variable", default.value, True, (key,))
    return Unknown(text[:200], reason, "shell_variable", names=(key,))
