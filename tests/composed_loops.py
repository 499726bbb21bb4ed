"""Training loops put together at random, in many styles, with known mistakes.

What lint must say of such a program follows from its parts, not from an earlier run of lint.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from textwrap import indent


@dataclass(frozen=True)
class Mistake:
    """What is done to a loop.

    Attributes:
        code: the rule that must say it.
        part: what it changes; a loop has one mistake of a part.
        needs: traits of the loop without which it is none.
        without: traits that turn it into another mistake.
        hides: parts in which nothing is wrong any more, or something else.
    """

    code: str
    part: str
    needs: frozenset[str]
    without: frozenset[str]
    hides: frozenset[str]


def _mistake(code: str, part: str, needs: str = "", without: str = "", hides: str = "") -> Mistake:
    sets = (frozenset(words.split()) for words in (needs, without, hides))
    return Mistake(code, part, *sets)


MISTAKES = {
    "losses are not divided": _mistake("CL101", "division", "windows"),
    "losses are divided twice": _mistake("CL102", "division", "windows"),
    "the first window has one micro-batch": _mistake("CL104", "test", "from_zero"),
    "the rest of an epoch leaks": _mistake("CL105", "test", "windows", "inner"),
    "gradients are never cleared": _mistake("CL107", "clearing"),
    "gradients are cleared too often": _mistake("CL108", "clearing", "windows", hides="test"),
    "every micro-batch is a step": _mistake(
        "CL113", "step", "windows", "scaled clip schedule inner", "division test clearing"
    ),
    "the scale is updated too often": _mistake("CL201", "step", "windows scaled"),
    "the scale is never updated": _mistake("CL202", "step", "scaled"),
    "the optimizer steps by itself": _mistake("CL204", "step", "scaled", "clip"),
    "gradients are unscaled twice": _mistake("CL205", "unscaling", "scaled clip"),
    "norms are clipped scaled": _mistake("CL301", "unscaling", "scaled norm"),
    "values are clipped scaled": _mistake("CL302", "unscaling", "scaled value"),
    "micro-batches are clipped": _mistake("CL303", "clip", "windows clip", "scaled"),
    "what was applied is clipped": _mistake("CL307", "clip", "clip", hides="unscaling"),
    "clipped to nothing": _mistake("CL309", "clip", "norm"),
    "the loss is not scaled": _mistake(
        "CL211", "backward", "scaled", hides="unscaling step scaler"
    ),
    "float16 without a scale": _mistake("CL206", "scaler", "float16", "scaled"),
    "a scale for bfloat16": _mistake("CL207", "scaler", "bfloat16 scaled"),
    "the schedule moves first": _mistake("CL501", "schedule", "schedule"),
    "graphs of losses are kept": _mistake("CL114", "total", "total"),
}


@dataclass(frozen=True)
class Composed:
    """A program, and what must be said of it."""

    text: str
    mistakes: tuple[str, ...]

    @property
    def codes(self) -> set[str]:
        return {MISTAKES[name].code for name in self.mistakes}


@dataclass
class _Loop:
    """A loop as it is put together."""

    random: Random
    mistakes: Sequence[str]
    traits: frozenset[str]
    style: str
    steps: str
    names: dict[str, str] = field(default_factory=dict)

    def has(self, *mistakes: str) -> bool:
        return any(name in self.mistakes for name in mistakes)

    def any(self, *traits: str) -> bool:
        return any(trait in self.traits for trait in traits)

    def __getitem__(self, name: str) -> str:
        return self.names[name]


_NAMES = {
    "model": ("model", "net", "network"),
    "optimizer": ("optimizer", "opt", "optim"),
    "scaler": ("scaler", "grad_scaler"),
    "schedule": ("scheduler", "lr_scheduler", "schedule"),
    "loader": ("loader", "train_loader", "batches"),
    "criterion": ("criterion", "loss_fn"),
}
WINDOWS = ("from_zero", "from_one", "counted", "reset", "skipping", "inner")
"""How windows are counted: numbered from 0 or 1, by a counter that goes on or starts again, with
a `continue` until the end, or as a loop over the micro-batches of each."""
STYLES = ("script", "function", "methods", "helper")


FRAMEWORKS = ("torch", "paddle")


def composed(framework: str, seed: int, mistakes: int) -> Composed:
    """Return a program with so many mistakes, or fewer if its parts have no room for them."""
    random = Random(seed)
    traits = _traits(random, framework, scaled_wrong=random.random() < 0.2)
    chosen: list[str] = []
    names = [*MISTAKES]
    random.shuffle(names)
    for name, mistake in MISTAKES.items():  # these come with the traits
        fits = mistake.needs <= traits and not mistake.without & traits
        if fits and mistake.part == "scaler":
            chosen.append(name)
    for name in names:
        mistake = MISTAKES[name]
        others = [MISTAKES[other] for other in chosen]
        taken = {other.part for other in others}
        hidden = frozenset[str]().union(*(other.hides for other in others))
        fits = mistake.needs <= traits and not mistake.without & traits
        free = mistake.part not in taken | hidden and not mistake.hides & taken
        if fits and free and len(chosen) < mistakes and mistake.part != "scaler":
            chosen.append(name)
    style = random.choice(STYLES)
    steps = random.choice(("4", "args.accumulate", "accumulation_steps"))
    if style == "methods" and steps == "accumulation_steps":
        steps = "self.accumulation_steps"
    prefix = "self." if style == "methods" else ""
    own = {name: prefix + random.choice(words) for name, words in _NAMES.items()}
    loop = _Loop(random, chosen, traits, style, steps, own)
    return Composed(_program(loop), tuple(chosen))


def _traits(random: Random, framework: str, *, scaled_wrong: bool) -> frozenset[str]:
    found = {trait for trait in ("windows", "schedule", "total", "flag") if random.random() < 0.5}
    found.add(framework)
    if "windows" in found:
        found.add(random.choice(WINDOWS))
    precision = random.choice(("float32", "float16", "bfloat16"))
    found.add(precision)
    if (precision == "float16") != (scaled_wrong and precision != "float32"):
        found.add("scaled")
    if framework == "paddle":  # its optimizers clip
        found |= {"clipping optimizer"} if random.random() < 0.5 else set()
    elif random.random() < 0.6:
        found |= {"clip", random.choice(("norm", "norm", "value"))}
    return frozenset(found)


def _program(loop: _Loop) -> str:
    name = "paddle" if loop.any("paddle") else "torch"
    head = ["import argparse", "", f"import {name}", f"import {name}.nn.functional as F", ""]
    head += ["parser = argparse.ArgumentParser()"]
    build = {"script": _script, "function": _function, "methods": _methods, "helper": _script}
    body = build[loop.style](loop)
    for flag, default in (("accumulate", 4), ("half", 1)):
        if f"args.{flag}" in body:
            head.append(f'parser.add_argument("--{flag}", type=int, default={default})')
    head.append("args = parser.parse_args()")
    if "% accumulation_steps" in body or "== accumulation_steps" in body:
        head.append("accumulation_steps = 8")
    return "\n".join(head) + "\n" + body


def _script(loop: _Loop) -> str:
    update = _update(loop)
    text = _made(loop)
    if loop.style == "helper":
        given = ", ".join(loop[name] for name in _used(loop))
        text = f"\n\ndef update({given}):\n{indent(update, '    ')}\n\n" + text
        update = f"update({given})\n"
    return text + "for epoch in range(3):\n" + indent(_epoch(loop, update), "    ")


def _function(loop: _Loop) -> str:
    given = ", ".join(dict.fromkeys([*(loop[n] for n in _used(loop)), loop["loader"]]))
    body = indent(_epoch(loop, _update(loop)), "    ")
    calls = f"for epoch in range(3):\n    train_epoch({given})\n"
    return f"\n\ndef train_epoch({given}):\n{body}\n\n{_made(loop)}{calls}"


def _methods(loop: _Loop) -> str:
    made = _made(loop) + f"{loop['loader']} = data\n"
    epoch = _epoch(loop, "self.update()\n")
    if loop.steps in epoch and loop.steps.startswith("self"):
        made += f"{loop.steps} = 8\n"
    methods = {
        "__init__(self, data)": made,
        "train_epoch(self)": epoch,
        "update(self)": _update(loop),
        "fit(self)": "for epoch in range(3):\n    self.train_epoch()\n",
    }
    texts = (f"    def {head}:\n{indent(body, ' ' * 8)}" for head, body in methods.items())
    return "\n\nclass Trainer:\n" + "\n".join(texts) + "\n\nTrainer(rows).fit()\n"


def _used(loop: _Loop) -> list[str]:
    names = ["model", "optimizer"]
    names += ["scaler"] if loop.any("scaled") else []
    return names + (["schedule"] if loop.any("schedule") else [])


def _made(loop: _Loop) -> str:
    model, optimizer = loop["model"], loop["optimizer"]
    if loop.any("paddle"):
        return _made_in_paddle(loop)
    lines = [
        f"{model} = torch.nn.Linear(16, 4).cuda()",
        f"{optimizer} = torch.optim.AdamW({model}.parameters(), lr=1e-3)",
        f"{loop['criterion']} = torch.nn.CrossEntropyLoss()",
    ]
    if loop.any("scaled"):
        on = ", enabled=bool(args.half)" if loop.any("flag") else ""
        lines.append(f'{loop["scaler"]} = torch.amp.GradScaler("cuda"{on})')
    if loop.any("schedule"):
        made = f"torch.optim.lr_scheduler.StepLR({optimizer}, step_size=100)"
        lines.append(f"{loop['schedule']} = {made}")
    return "\n".join(lines) + "\n"


def _made_in_paddle(loop: _Loop) -> str:
    model, rate = loop["model"], "1e-3"
    lines = [
        f"{model} = paddle.nn.Linear(16, 4)",
        f"{loop['criterion']} = paddle.nn.CrossEntropyLoss()",
    ]
    if loop.any("schedule"):
        rate = loop["schedule"]
        lines.append(f"{rate} = paddle.optimizer.lr.StepDecay(learning_rate=1e-3, step_size=100)")
    clip = ""
    if loop.any("clipping optimizer"):
        clip = ", grad_clip=paddle.nn.ClipGradByGlobalNorm(1.0)"
    given = f"learning_rate={rate}, parameters={model}.parameters(){clip}"
    lines.append(f"{loop['optimizer']} = paddle.optimizer.AdamW({given})")
    if loop.any("scaled"):
        on = ", enable=bool(args.half)" if loop.any("flag") else ""
        lines.append(f"{loop['scaler']} = paddle.amp.GradScaler(init_loss_scaling=1024.0{on})")
    return "\n".join(lines) + "\n"


def _epoch(loop: _Loop, update: str) -> str:
    """Return what an epoch does, with the lines that end a window."""
    optimizer, windows = loop["optimizer"], loop.any("windows")
    clears = f"{optimizer}.zero_grad({loop.random.choice(('', 'set_to_none=True'))})\n"
    if loop.any("paddle"):
        clears = f"{optimizer}.clear_grad()\n"
    cleared = not loop.has("gradients are never cleared")
    first = cleared and (not windows or loop.any("inner")) and loop.random.random() < 0.5
    micro = _forward(loop)
    if loop.has("gradients are cleared too often") or (first and not windows):
        micro = clears + micro
    if loop.has("micro-batches are clipped"):
        micro += _clip(loop)
    if loop.any("total"):
        kept = loop.has("graphs of losses are kept")
        micro += f"total += {'loss' if kept else 'loss.item()'}\n"
    if loop.has("every micro-batch is a step"):
        micro += f"{optimizer}.step()\n"
    if loop.has("the scale is updated too often"):
        micro += f"{loop['scaler']}.update()\n"
    ends = update + (clears if cleared and not first else "")
    before = "total = 0.0\n" if loop.any("total") else ""
    if windows and cleared and not first and not loop.has("the rest of an epoch leaks"):
        before += clears
    if not windows:
        return f"{before}for inputs, targets in {loop['loader']}:\n" + indent(micro + ends, "    ")
    if loop.any("inner"):
        inner = "for inputs, targets in micro_batches:\n" + indent(micro, "    ")
        start = f"{before}for micro_batches in {loop['loader']}:\n"
        return start + indent((clears if first else "") + inner + ends, "    ")
    return before + _counted(loop, micro, ends)


def _counted(loop: _Loop, micro: str, ends: str) -> str:
    """Return a loop over micro-batches that counts them up to the end of a window."""
    loader, steps = loop["loader"], loop.steps
    before = counts = ""
    header, number = f"for step, (inputs, targets) in enumerate({loader}):\n", "step + 1"
    test = f"(step + 1) % {steps} == 0"
    if loop.has("the first window has one micro-batch"):
        test = f"step % {steps} == 0"
    if loop.any("from_one"):
        header = header.replace("):", ", start=1):")
        number, test = "step", f"step % {steps} == 0"
    elif loop.any("counted", "reset"):
        before, counts, test = "micro = 0\n", "micro += 1\n", f"micro % {steps} == 0"
        if loop.any("reset"):
            test, ends = f"micro == {steps}", f"micro = 0\n{ends}"
    last = f"{number} == len({loader})"
    if loop.any("skipping"):
        test = test.replace("==", "!=")
        if not loop.has("the rest of an epoch leaks"):
            test += f" and {last.replace('==', '!=')}"
        body = f"{micro}if {test}:\n    continue\n{ends}"
    else:
        if not loop.has("the rest of an epoch leaks"):
            test += f" or {last}"
        body = f"{micro}{counts}if {test}:\n{indent(ends, '    ')}"
    return before + header + indent(body, "    ")


def _forward(loop: _Loop) -> str:
    random = loop.random
    value = f"{loop['criterion']}({loop['model']}(inputs), targets)"
    if random.random() < 0.3:
        value = f"F.cross_entropy({loop['model']}(inputs), targets)"
    lines = [f"loss = {value}"]
    divided = loop.any("windows") and not loop.has("losses are not divided")
    within = divided and random.random() < 0.5
    number = "len(micro_batches)" if loop.any("inner") else loop.steps
    if within:
        lines = [f"loss = {value} / {number}"]
    if not loop.any("float32"):
        on = ", enabled=bool(args.half)" if loop.any("flag") else ""
        dtype = "float16" if loop.any("float16") else "bfloat16"
        context = f'with torch.autocast("cuda", dtype=torch.{dtype}{on}):'
        if loop.any("paddle"):
            context = (
                f'with paddle.amp.auto_cast(dtype="{dtype}"{on.replace("enabled", "enable")}):'
            )
        lines = [context, *(f"    {line}" for line in lines)]
    if divided and (not within or loop.has("losses are divided twice")):
        lines.append(f"loss = loss / {number}")
        if not within and loop.has("losses are divided twice"):
            lines.append(f"loss /= {number}")
    scaled = loop.any("scaled") and not loop.has("the loss is not scaled")
    lines.append(f"{loop['scaler']}.scale(loss).backward()" if scaled else "loss.backward()")
    return "\n".join(lines) + "\n"


def _clip(loop: _Loop) -> str:
    parameters = f"{loop['model']}.parameters()"
    if loop.any("value"):
        return f"torch.nn.utils.clip_grad_value_({parameters}, 0.5)\n"
    most = "0.0" if loop.has("clipped to nothing") else loop.random.choice(("1.0", "max_norm=5.0"))
    return f"torch.nn.utils.clip_grad_norm_({parameters}, {most})\n"


def _update(loop: _Loop) -> str:
    """Return what ends a window: a step, and what belongs to it."""
    optimizer, scaler = loop["optimizer"], loop["scaler"]
    scaled = loop.any("scaled")
    unscale = clip = ""
    if loop.any("clip"):
        clip = _clip(loop)
        if scaled and not loop.has("norms are clipped scaled", "values are clipped scaled"):
            unscale = f"{scaler}.unscale_({optimizer})\n"
            unscale *= 2 if loop.has("gradients are unscaled twice") else 1
    by_itself = not scaled or loop.has("the optimizer steps by itself")
    step = f"{optimizer}.step()\n" if by_itself else f"{scaler}.step({optimizer})\n"
    if loop.has("every micro-batch is a step"):
        step = ""
    update = ""
    if scaled and not loop.has("the scale is never updated", "the scale is updated too often"):
        update = f"{scaler}.update()\n"
    schedule = f"{loop['schedule']}.step()\n" if loop.any("schedule") else ""
    if loop.has("micro-batches are clipped"):
        clip = ""
    if loop.has("what was applied is clipped"):
        unscale, clip, step = "", "", f"{unscale}{step}{clip}"
    if loop.has("the schedule moves first"):
        return unscale + clip + schedule + step + update
    return unscale + clip + step + update + schedule or "pass\n"
