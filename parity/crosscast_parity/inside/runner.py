"""Run an unmodified emitted script with faults or emulation (`python -m`).

Standard library only (see `crosscast_parity.inside.inject` and `crosscast_parity.inside.emulate`).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from crosscast_parity.inside.emulate import install
from crosscast_parity.inside.inject import FORM, Fault, make_injector, parse_fault
from crosscast_parity.inside.script import load_script, prepare


def _fault(text: str) -> Fault:
    try:
        return parse_fault(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _package(text: str) -> str:
    """Check that what a framework's backend loads here, as `crosscast_torch.inside`, is there."""
    try:
        spec = find_spec(text)
    except (ImportError, ValueError):
        spec = None
    if spec is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a backend's package")
    return text


def main(argv: Sequence[str]) -> int:
    """Parse the runner's own arguments, install the faults, call the script's main."""
    parser = argparse.ArgumentParser(prog="crosscast_parity.inside.runner", description=__doc__)
    parser.add_argument("--inside", type=_package, required=True, metavar="PACKAGE")
    parser.add_argument("--script", type=Path, required=True)
    parser.add_argument("--fault", type=_fault, action="append", default=[], metavar=FORM)
    parser.add_argument("--emulate", action="store_true", help="half precision in float32")
    parser.add_argument("arguments", nargs="*", help="after --: the script's own arguments")
    options = parser.parse_args(argv)
    sys.argv = [str(options.script), *options.arguments]
    adapt = install(options.inside) if options.emulate else None
    module = load_script(options.script.resolve())
    prepare(options.inside, module)
    if adapt:
        adapt(module)
    make_injector(options.inside, options.fault).install(module)
    code = module.main(options.arguments)
    return 0 if code is None else int(code)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
