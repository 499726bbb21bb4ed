"""Flags that are fields of dataclasses or parameters of functions (click, fire)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.pysource.names.classes import lineage
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.programs.flag import Flag
from crosscast_reading.pysource.programs.scopes import Scope
from crosscast_reading.pysource.values.value import Known, Unknown, Value

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_DATACLASS_PARSERS = frozenset(
    {
        *("transformers.HfArgumentParser", "trl.TrlParser", "tyro.cli", "simple_parsing.parse"),
        *("paddlenlp.trainer.PdArgumentParser", "transformers.hf_argparser.HfArgumentParser"),
        *("trl.commands.cli_utils.TrlParser", "draccus.parse", "pyrallis.parse"),
    }
)


def fields_and_parameters(program: Program) -> Iterator[Flag]:
    """Yield the flags that have no call of their own."""
    seen: set[str] = set()
    for module in program.modules:
        for call in module.calls:
            word = call.method
            if word in ("HfArgumentParser", "PdArgumentParser", "TrlParser", "cli", "parse"):
                if call.name in _DATACLASS_PARSERS and call.node.args:
                    yield from _dataclasses(call.node.args[0], module, program, seen)
            elif word == "Fire" and call.name == "fire.Fire" and call.node.args:
                for name in module.resolve_all(call.node.args[0]):
                    yield from _fire(name, program)
            elif word == "option" and call.name in ("click.option", "rich_click.option"):
                flag = _click(call.node, module)
                if flag is not None:
                    yield flag


def _dataclasses(
    node: ast.expr, module: Module, program: Program, seen: set[str]
) -> Iterator[Flag]:
    listed = node.elts if isinstance(node, ast.Tuple | ast.List) else [node]
    for class_ in listed:
        for name in module.resolve_all(class_):
            scope = program.class_named(name) if ":" in name else None
            if scope is not None and name not in seen:
                seen.add(name)
                yield from _fields(name, scope, program)


def _fields(owner: str, scope: Scope, program: Program) -> Iterator[Flag]:
    for here in lineage(program, scope):
        for name, bindings in here.bindings.items():
            node = bindings[-1].node
            if not isinstance(node, ast.AnnAssign):
                continue
            module = here.module
            kind = module.text(node.annotation)
            default: Value = Unknown(name, f"the field {name} has no default", "flag")
            if node.value is not None:
                default = evaluate(node.value, module)
            yield Flag(
                name=f"--{name}",
                dest=name,
                default=default,
                type=_inner_type(kind),
                span=module.span(node),
                options=(f"--{name}", f"--{name.replace('_', '-')}"),
                required=node.value is None,
                owner=owner,
                parser="dataclass",
                module=module,
                node=node,
            )


def _inner_type(kind: str) -> str:
    """Return `float` of `Optional[float]` and of `float | None`."""
    kind = kind.strip("\"'")
    if kind.startswith(("Optional[", "typing.Optional[")):
        kind = kind.partition("[")[2].rstrip("]")
    parts = [p.strip() for p in kind.split("|")]
    kind = next((p for p in parts if p != "None"), kind)
    return {"bool": "str2bool"}.get(kind, kind)


def _fire(name: str, program: Program) -> Iterator[Flag]:
    definition = program.function_named(name) if ":" in name else None
    if definition is None:
        return
    module, function = definition
    args = function.args
    names = [*args.posonlyargs, *args.args]
    defaults = [None] * (len(names) - len(args.defaults)) + list(args.defaults)
    pairs = [
        *zip(names, defaults, strict=False),
        *zip(args.kwonlyargs, args.kw_defaults, strict=True),
    ]
    for arg, default in pairs:
        value: Value = Unknown(arg.arg, f"an argument of {function.name}", "flag")
        if default is not None:
            value = evaluate(default, module)
        kind = _inner_type(module.text(arg.annotation)) if arg.annotation is not None else "literal"
        yield Flag(
            name=f"--{arg.arg}",
            dest=arg.arg,
            default=value,
            type=kind,
            span=module.span(arg),
            options=(f"--{arg.arg}", f"--{arg.arg.replace('_', '-')}"),
            required=default is None,
            owner=name,
            parser="fire",
            module=module,
            node=arg,
        )


def _click(node: ast.Call, module: Module) -> Flag | None:
    function = module.parent(node)
    if not isinstance(function, ast.FunctionDef) or node not in function.decorator_list:
        return None
    words = [a.value for a in node.args if isinstance(a, ast.Constant)]
    spellings = tuple(w for w in words if isinstance(w, str))
    long = [w for w in spellings if w.startswith("--")]
    if not long:
        return None
    given = {k.arg: k.value for k in node.keywords if k.arg is not None}
    plain = [w for w in spellings if not w.startswith("-")]
    first = long[0].partition("/")[0]
    switch = "/" in long[0] or (
        isinstance(is_flag := given.get("is_flag"), ast.Constant) and is_flag.value is True
    )
    default: Value = Known(False) if switch else Unknown(first, "the option has no default", "flag")
    if "default" in given:
        default = evaluate(given["default"], module)
    kind = module.text(given["type"])[:80] if "type" in given else ""
    if not kind and isinstance(default, Known) and default.value is not None:
        kind = type(default.value).__name__
    return Flag(
        name=first,
        dest=plain[0] if plain else first.lstrip("-").replace("-", "_"),
        default=default,
        type=kind,
        action="store_true" if switch else "",
        span=module.span(node),
        options=tuple(o for w in spellings for o in w.split("/")),
        required="required" in given,
        owner=f"{module.source.name}:{module.qualname(function)}",
        parser="click",
        module=module,
        node=node,
    )
