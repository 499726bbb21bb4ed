"""What the parity harness must know of a framework, and where the modules lie that it runs there.

Facts that the harness reads in its own process are data here. What needs the framework is a module
in the package `inside` of the backend, which is loaded in the framework's process by its name; that
interpreter may have nothing of crosscast but copies of `crosscast_parity.inside` and of this
package. Which of these there are is found by looking:

    observe      make_watcher(): what a window does to weights and gradients
    manifest     make_tap(): which operation ran in which type
    emulate      install(): half precision computed in float32
    poison       make_cell(), make_gradients(): faults; only where hooks on parameters will not do
    cleanup      clean_up(): what a run leaves in the process
    toy          a program that runs emitted steps on the harness's toy
    updates      install(): every update that the framework's optimizers make
    allocations  a program that watches the allocator
    trace        a program that traces a model of the user's
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

Module = Literal[
    "observe",
    "manifest",
    "emulate",
    "poison",
    "cleanup",
    "toy",
    "updates",
    "allocations",
    "trace",
]


@dataclass(frozen=True, slots=True)
class Edit:
    """An exact text of an emitted file, its replacement, and how often the text occurs there."""

    old: str
    new: str
    file: str = "train.py"
    times: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Bugs:
    """Spellings of the bugs that a self-test plants and that no two frameworks spell alike."""

    half_mark: str
    """What stands only in scripts that compute in half."""
    tanh_gelu: Edit
    """GELU is computed by tanh."""
    no_autocast: tuple[Edit, ...]
    """Nothing is computed in half."""
    half_loss: tuple[Edit, ...]
    """The loss is computed in half."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Updates:
    """What is special about the updates of a user's script, seen from outside (`updates`)."""

    modules: tuple[str, ...]
    """Modules at whose import the framework is watched."""
    notes: tuple[str, ...] = ()
    """What such runs do not show; if empty, scripts run as they would by themselves."""
    skips_counted: str = ""
    """Set where some versions count a skipped update: what then is not compared, in words."""
    rounds_betas: bool = False
    """Whether versions round the share that a moment keeps in orders of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How long runs of a framework take on a CPU, compared with PyTorch's.

    Measured with BERT-small in float32, and rounded; runs are ordered and packed by it.
    """

    factor: float = 1.0
    """CPU time of a window, by PyTorch's."""
    start: float = 0.5
    """Seconds of CPU time of a run before its first window."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Harness:
    """What the harness must know of a framework."""

    inside: str
    """The package of the modules that are loaded in the framework's process."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables of every process of a comparison; `{threads}` is the number of threads."""
    numeric_variables: tuple[str, ...] = ()
    """How variables begin that can decide about numbers."""
    packages: tuple[str, ...] = ()
    """Distributions besides the framework's own whose versions a report shows."""
    rank_variable: str = "RANK"
    """In which a launcher tells a process its number: plain, or as JSON below `task.index`."""
    float32_betas: bool = False
    """Whether optimizers hold the betas in float32."""
    float32_powers: bool = False
    """Whether they multiply the powers of the betas up in float32, too."""
    pace: Pace = Pace()
    bugs: Bugs | None = None
    """None keeps the scripts out of `parity --self-test`."""
    updates: Updates | None = None
    """None if runs of users' scripts cannot be watched."""

    @property
    def folder(self) -> Path:
        """Where the package `inside` lies."""
        spec = find_spec(self.inside)
        assert spec is not None  # part of the package that the backend came from
        assert spec.submodule_search_locations
        return Path(spec.submodule_search_locations[0])

    def has(self, module: Module) -> bool:
        """Whether the package has a module."""
        return (self.folder / f"{module}.py").is_file()
