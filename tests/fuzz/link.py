"""Workers of the toy for tests: older frameworks in their own interpreters, or without graphs."""

from __future__ import annotations

import sys

from crosscast_parity.toy.worker import Worker
from frameworks.subprocesses import IMPORTS, environment, interpreter, warm

PROGRAM = "fuzz.work_{framework}"


def make_worker(target: str, *, eager: bool = False, gpu: bool = False) -> Worker:
    """Return a worker that also runs patterns of overflows, forked from a warm interpreter.

    A target with a version runs in the Python that `CROSSCAST_TORCH_2_3` or the like names, where
    it is set; else in this one, which has what older dialects call, too.

    Args:
        target: Whose step it runs.
        eager: Whether TensorFlow runs functions without compiling them: the same kernels on the
            same numbers one by one, ten times sooner, but nothing is learnt about graphs and XLA.
            The fuzzing itself compiles; this is for tests whose subject is not the compiled step.
        gpu: Whether it sees the machine's GPU; PyTorch's worker then trains there.
    """
    try:
        python = interpreter(target)
    except KeyError:
        python = sys.executable
    variables = environment(target) | {"FUZZ_EAGER": str(int(eager))}
    if target in IMPORTS and not gpu:
        python = warm(target, harness=False)
    if gpu:
        del variables["CUDA_VISIBLE_DEVICES"]
    program = PROGRAM.format(framework=target.partition("@")[0])
    return Worker(target, python=python, environment=variables, program=program)
