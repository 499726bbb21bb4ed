"""Notes the modules that a program makes, of frameworks whose modules are made of parts."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crosscast_parity.inside.build import Build


def watch_modules(build: Build, kind: Any, parts: str) -> None:
    """Note the modules that a program makes, and which of them it calls.

    Args:
        build: what is watched.
        kind: the class of all modules.
        parts: the name of the attribute that holds the modules that are parts of another one.
    """
    called: set[int] = set()
    make, call = kind.__init__, kind.__call__

    @functools.wraps(make)
    def made(module: Any, *args: Any, **kwargs: Any) -> None:
        build.making(module)
        make(module, *args, **kwargs)

    @functools.wraps(call)
    def run(module: Any, *args: Any, **kwargs: Any) -> Any:
        result = call(module, *args, **kwargs)
        called.add(id(module))
        return result

    def all_parts(module: Any) -> Iterator[Any]:
        for part in (vars(module).get(parts) or {}).values():
            if part is not None:
                yield part
                yield from all_parts(part)

    def end() -> None:
        inner = {id(part) for _, module, _ in build.made for part in all_parts(module)}
        for place, module, name in build.made:
            weights = any(vars(m).get("_parameters") for m in (module, *all_parts(module)))
            if id(module) not in inner and weights:
                why = "" if id(module) in called else "its forward pass is not reached"
                build.write("model", place, name=name, why=why)

    kind.__init__, kind.__call__ = made, run
    build.at_end.append(end)
