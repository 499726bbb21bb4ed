"""Framework information for the parity harness, and the modules that it runs in the framework.

Information for the harness's own process is data here. Code that needs the framework is in modules
of the backend's package `inside`, which the framework's process loads by name; that interpreter may
have no part of crosscast except copies of `crosscast_parity.inside` and of this package. All of the
modules are optional:

    observe      make_watcher(): what a window does to weights and gradients
    manifest     make_tap(): which operation ran in which type
    emulate      install(): half precision computed in float32
    masks        make_dropout(): dropout with given masks
    poison       make_poison(): faults; only where hooks on parameters will not do
    prepare      prepare(): what a loaded script needs before its functions are wrapped
    dropout      switch_off(): the dropout of a model; or switch_off_state() of a script's state
    cleanup      clean_up(): what a run leaves in the process
    toy          a program that runs emitted steps on the harness's toy
    updates      install(): every update that the framework's optimizers make
    builds       install(): models that are built, and what the framework refuses
    allocations  a program that watches the allocator, or asks the compiler for its plan
    trace        a program that traces a model of the user's
    weights      a program that lists the weights of the user's model and computes with them
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
    "masks",
    "poison",
    "prepare",
    "dropout",
    "cleanup",
    "toy",
    "updates",
    "builds",
    "allocations",
    "trace",
    "weights",
]


@dataclass(frozen=True, slots=True)
class Edit:
    """An exact text in an emitted file, its replacement, and its number of occurrences.

    `or_more`: it occurs in more places where the recipe needs them; it is replaced in all.
    """

    old: str
    new: str
    file: str = "train.py"
    times: int = 1
    or_more: bool = False

    def fits(self, texts: Mapping[str, str]) -> bool:
        """Tell whether these files, by name, hold the text as often as stated."""
        count = self.count(texts)
        return count >= self.times if self.or_more else count == self.times

    def count(self, texts: Mapping[str, str]) -> int:
        """Count the text in its file."""
        return texts.get(self.file, "").count(self.old)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bugs:
    """Framework-specific edits for the bugs that a self-test plants."""

    half_mark: str
    """Text that occurs in train.py or model.py with half precision, and not without it."""
    tanh_gelu: Edit
    """GELU is computed by tanh."""
    no_autocast: tuple[Edit, ...]
    """Nothing is computed in half."""
    no_autocast_in_own: tuple[Edit, ...] = ()
    """The same for your own model, where its types are not written into the shipped one."""
    half_loss: tuple[Edit, ...]
    """The loss is computed in half."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallEpsilon:
    """How runs of a version with another Adam are made comparable.

    `below`: the first major version without the difference. `classes`: the optimizers that have it.
    `variable`: the environment variable with which both sides use a small epsilon. `note`: what is
    not compared then.
    """

    below: int
    classes: tuple[str, ...]
    variable: str
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Updates:
    """Properties of the observed updates of a user's script (`updates`)."""

    modules: tuple[str, ...]
    """Modules whose import starts the observation."""
    notes: tuple[str, ...] = ()
    """Limitations of observed runs; empty if scripts run as usual."""
    session_notes: tuple[str, ...] = ()
    """Limitations of observed runs that train in sessions."""
    forced_scaler: str = ""
    """Name of the scaler that is enabled without a GPU, where programs would have it disabled."""
    skips_counted: str = ""
    """Description of what is not compared if a version counts skipped updates; otherwise empty."""
    rounds_betas: bool = False
    """Whether versions differ in the rounding order of the moments' decay."""
    small_epsilon: SmallEpsilon | None = None
    """Versions whose Adam adds epsilon at another place; None if there are none."""
    stand_ins: tuple[str, ...] = ()
    """Packages of which the backend's folder `stand_ins` has one for programs that miss them."""
    stays_on_cpu: bool = False
    """Whether runs can keep on the CPU what programs move to a GPU."""
    without_gpu: tuple[str, ...] = ()
    """What errors say where there is no GPU and that does not name one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """Relative CPU time of a framework's runs.

    Measured with BERT-small in float32, and rounded; used to order and pack runs.
    """

    factor: float = 1.0
    """CPU time of a window relative to PyTorch."""
    start: float = 0.5
    """CPU seconds of a run before its first window."""
    load: float = 2.0
    """CPU seconds of a process before its first run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Harness:
    """Framework information for the harness."""

    inside: str
    """The package with the modules for the framework's process."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Environment variables of every process; `{threads}` is the number of threads."""
    numeric_variables: tuple[str, ...] = ()
    """Prefixes of environment variables that can affect results."""
    packages: tuple[str, ...] = ()
    """Other distributions whose versions a report lists."""
    rank_variable: str = "RANK"
    """Environment variable with the rank of a process: plain, or JSON with `task.index`."""
    float32_betas: bool = False
    """Whether optimizers store the betas in float32."""
    float32_powers: bool = False
    """Whether they also compute the powers of the betas in float32."""
    repeats_bits: bool = True
    """Whether equal runs in one process always leave equal bits; otherwise rounding is allowed."""
    pace: Pace = Pace()
    bugs: Bugs | None = None
    """None excludes the scripts from `parity --self-test`."""
    refusal_hints: Mapping[str, str] = field(default_factory=dict)
    """What to do about what the framework refuses (`builds`): patterns of its messages to hints."""
    updates: Updates | None = None
    """None if runs of users' scripts cannot be observed."""

    @property
    def folder(self) -> Path:
        """Folder of the package `inside`."""
        spec = find_spec(self.inside)
        assert spec is not None  # part of the backend's package
        assert spec.submodule_search_locations
        return Path(spec.submodule_search_locations[0])

    def stand_in(self, package: str) -> Path | None:
        """Return the folder of what stands in for a missing package; None without one."""
        known = self.updates is not None and package in self.updates.stand_ins
        return self.folder.parent / "stand_ins" / package if known else None

    def has(self, module: Module) -> bool:
        """Whether the package has a module."""
        return (self.folder / f"{module}.py").is_file()
