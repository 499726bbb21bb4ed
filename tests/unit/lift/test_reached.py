"""What a program only has beside it says nothing of how it trains."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lift.analysis import analyse

TRAIN = """\
import torch
{imports}

model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
{use}
for x, y in batches:
    loss = torch.nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
TOOLS = """\
import torch


{decorator}def other(model):
    return torch.nn.DataParallel(model)


def used(model):
    return model


def wraps(function):
    return function


TABLE = {{}}


def enters(function):
    TABLE[function.__name__] = function
    return function
"""


def kinds(
    imports: str, use: str, *, decorator: str = "", launch: str = "", **more: str
) -> list[object]:
    """Return the ways to run in parallel that were read."""
    files = {
        "train.py": TRAIN.format(imports=imports, use=use),
        "lib/tools.py": TOOLS.format(decorator=decorator),
        **{name.replace("__", "/") + ".py": text for name, text in more.items()},
    }
    sources = [Source(name, text) for name, text in files.items()]
    if launch:
        sources.append(Source("run.sh", launch))
    return [fact.value for fact in analyse(sources).subject.profile.all("parallel.kind")]


@pytest.mark.parametrize(
    ("imports", "use", "decorator"),
    [
        ("from lib.tools import used", "model = used(model)", ""),
        ("from lib import tools", "model = tools.used(model)", ""),
        ("import lib.tools as t", "model = t.used(model)", ""),
        ("from lib.tools import *", "model = used(model)", ""),
        ("from lib.tools import used", "model = used(model)", "@wraps\n"),
        ("from lib.tools import used", "model = used(model)", "@torch.no_grad()\n"),
        ("from lib.tools import used", "model.eval()\nprint('other', 'my.other')", ""),
        ("from lib.tools import used", "rate = getattr(model, 'rate', 0)", ""),
    ],
)
def test_a_function_that_nothing_refers_to_says_nothing(
    imports: str, use: str, decorator: str
) -> None:
    assert kinds(imports, use, decorator=decorator) == []


@pytest.mark.parametrize(
    ("imports", "use", "decorator"),
    [
        ("from lib.tools import other", "model = other(model)", ""),
        ("from lib import tools", "model = tools.other(model)", ""),
        ("import lib.tools as t", "wrap = t.other", ""),
        ("from lib.tools import *", "model = other(model)", ""),
        ("from lib import tools", "model = getattr(tools, name)(model)", ""),
        ("from lib import tools", "model = tools.__dict__[name](model)", ""),
        ("from lib.tools import *", "model = globals()[name](model)", ""),
        ("import importlib", "tools = importlib.import_module(name)", ""),
        ("from hydra.utils import instantiate", "model = instantiate('lib.tools.other')", ""),
        ("from lib.tools import used", "model = used(model)", "@enters\n"),
        ("from lib.tools import used", "model = used(model)", "@registry.register()\n"),
    ],
)
def test_a_function_that_may_run_counts(imports: str, use: str, decorator: str) -> None:
    assert kinds(imports, use, decorator=decorator) == ["dp"]


def test_names_are_followed_through_the_modules_that_hand_them_on() -> None:
    for text in ("from .tools import other", "from .tools import *", "from . import tools"):
        use = "model = lib.tools.other(model)" if "import tools" in text else "lib.other(model)"
        assert kinds("import lib", use, lib____init__=text) == ["dp"]


def test_what_a_used_function_refers_to_counts() -> None:
    more = "from lib.tools import other\n\n\ndef wrapped(model):\n    return other(model)\n"
    assert kinds("from more import wrapped", "model = wrapped(model)", more=more) == ["dp"]
    assert kinds("import more", "", more=more) == []


def test_what_runs_when_a_module_is_imported_counts() -> None:
    more = "from lib.tools import other\n\nwrapped = other(None)\n"
    assert kinds("import more", "", more=more) == ["dp"]
    guarded = "from lib.tools import other\n\nif __name__ == '__main__':\n    other(None)\n"
    assert kinds("import more", "", more=guarded) == []


def test_a_command_names_what_it_selects() -> None:
    imports, use = "from lib.tools import used", "model = used(model)"
    assert kinds(imports, use, launch="python train.py --wrap lib.tools.other\n") == ["dp"]
    assert kinds(imports, use, launch="python train.py --wrap another.other\n") == []


def test_everything_in_a_file_that_no_other_one_imports_counts() -> None:
    assert kinds("", "") == ["dp"]
