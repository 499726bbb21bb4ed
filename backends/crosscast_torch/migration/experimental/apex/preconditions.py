"""Further conditions for rewriting a loop that uses apex."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_torch.migration.experimental.apex.halves import casts_in, is_apart, is_guarded
from crosscast_torch.migration.experimental.apex.places import check_records
from crosscast_torch.migration.experimental.apex.scaled_steps import Step, branch_of, loop_of
from crosscast_torch.migration.experimental.apex.scaler_creation import Start
from crosscast_torch.migration.experimental.apex.uses import Site, Stops, Uses, starting_ifs

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.program import Program
    from crosscast_reading.sources.subject import Subject

_UNSAFE = frozenset(
    {"torch.nn.BCELoss", "torch.nn.functional.binary_cross_entropy", "torch.binary_cross_entropy"}
)
_NATIVE = ("torch.cuda.amp.", "torch.amp.", "torch.autocast")


def check_calls(
    subject: Subject, uses: Uses, start: Start, steps: Sequence[Step], stops: Stops
) -> None:
    """Report what prevents the rewrite of a loop whose parts are known."""
    program = subject.program
    if not uses.sites and not uses.of("scale_loss"):
        message, hint = _unscaled(subject)
        stops.add(start.module, start.call.node, message, hint)
    check_records(program, uses, stops)
    for site in uses.sites:
        check_site(site, uses, start, stops)
    for call in uses.of("master_params"):
        _masters(call, uses, steps, stops)
    for word in ("state_dict", "load_state_dict"):
        for call in uses.of(word):
            if start.off:
                message = f"{call.module.text(call.node.func)} is called, but level O0 has no scale"
                stops.add(call.module, call.node, message, "remove it from the checkpoint")
    if not start.off:
        check_unsafe(program, stops)
    homes = [(site.module, site.function) for site in uses.sites]
    models = {name.rpartition(".")[2] for name in start.models}
    for call in casts_in(program):
        if is_guarded(call) or is_apart(call, homes, models):
            continue
        stops.add(
            call.module,
            call.node,
            f"{call.module.text(call.node)} casts to half explicitly; autocast casts automatically",
            "remove the cast first, or keep float16 out of the model's code",
        )


def _unscaled(subject: Subject) -> tuple[str, str]:
    """Return why no loss is known to be scaled, and what to do."""
    for module in subject.program.modules:
        for call in module.calls:
            if call.method == "scale_loss":
                where = f"{module.text(call.node.func)} in {module.source.name}"
                message = f"amp.initialize, but {where} calls apex.amp through a variable"
                return message, "import amp from apex where losses are scaled, and run again"
    main = subject.sources[0].name
    if others := [source.name for source in subject.beside if "scale_loss" in source.text]:
        return (
            f"{main} runs this amp.initialize, but never amp.scale_loss, which is in {others[0]}",
            f"migrate the loop in {others[0]} first; {main} needs no amp.initialize without one",
        )
    return (
        "amp.initialize, but no amp.scale_loss in these files: cannot determine which losses "
        "are scaled",
        "pass the file with the training loop, too",
    )


def check_unsafe(program: Program, stops: Stops) -> None:
    """Report losses that autocast rejects."""
    for module in program.modules:
        for call in module.calls:
            if call.name in _UNSAFE:
                stops.add(
                    module,
                    call.node,
                    f"{module.text(call.node.func)} raises under autocast: in half precision it "
                    "is not safe",
                    "remove the sigmoid and use the variant with logits",
                )


def check_site(site: Site, uses: Uses, start: Start, stops: Stops) -> None:
    """Report what prevents the rewrite of one backward pass."""
    module, home = site.module, site.function or site.module.tree
    for node in walk(home):
        if isinstance(node, ast.Call):
            names = module.call(node).names
            if names and names[0].startswith(_NATIVE):
                stops.add(
                    module,
                    node,
                    "this function uses both torch.amp and apex",
                    "keep the branch with torch.amp and remove the one with apex",
                )
                return
    if start.off:
        return
    if site.test is not None and not starting_ifs(uses) and not start.enabled:
        stops.add(
            module,
            site.test.node,
            f"amp.initialize is always called, but the loss is scaled only if {site.test.text}",
            "put both under one condition",
        )
    if site.test is not None and _changes(site):
        message = f"{site.test.text} changes within the loop"
        stops.add(module, site.test.node, message, "evaluate the condition before the loop")
    for plain in _plain(site, uses):
        stops.add(
            module,
            plain,
            f"{module.text(plain)} adds gradients that are not scaled, while GradScaler keeps "
            "those of the other losses scaled until the step",
            "scale this loss, too: with amp.scale_loss(...), its forward pass beside the other",
        )


def _plain(site: Site, uses: Uses) -> list[ast.Call]:
    """Return the backward passes of other losses in the loop, for the same optimizers."""
    module = site.module
    scaled = {id(part) for other in uses.sites for part in walk(other.node)}
    calls = [
        (node, node.func)
        for node in walk(loop_of(module, site.node))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and module.function_of(node) is site.function
        and id(node) not in scaled
    ]
    steps = {module.text(called.value) for _, called in calls if called.attr == "step"}
    if any("opt" in name.lower() for name in steps - set(site.optimizers)):
        return []  # it may train something else
    return [
        call
        for call, called in calls
        if called.attr == "backward" and branch_of(module, call, site.test) is not False
    ]


def _changes(site: Site) -> bool:
    """Whether the condition reads a name that the loop assigns."""
    assert site.test is not None
    read = {node.id for node in walk(site.test.node.test) if isinstance(node, ast.Name)}
    loop = loop_of(site.module, site.node)
    inner = loop.body if isinstance(loop, ast.For | ast.While) else []
    return any(
        isinstance(node, ast.Name) and node.id in read and isinstance(node.ctx, ast.Store)
        for statement in inner
        for node in walk(statement)
    )


def _masters(call: Call, uses: Uses, steps: Sequence[Step], stops: Stops) -> None:
    module, statement = call.module, call.module.statement_of(call.node)
    if call.has_star or "optimizer" not in call.bound():
        stops.add(module, call.node, "amp.master_params without an optimizer", "pass the optimizer")
        return
    clipped = [clip for step in steps for clip, _ in step.clips]
    if statement in clipped or any(statement in step.readers for step in steps):
        return
    own = [site for site in uses.sites if site.module is module]
    if any(branch_of(module, call.node, site.test) is False for site in own):
        return
    if any(
        refusal.span.line == module.span(statement or call.node).line for refusal in stops.refusals
    ):
        return  # already reported
    stops.add(
        module,
        call.node,
        "amp.master_params is not used between the backward pass and the step of its optimizer, "
        "within one function",
        "call GradScaler.unscale_(optimizer) once per step, before gradients are read",
    )
