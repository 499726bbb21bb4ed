"""A journal of a test run: it resumes where it was cut off, and says what every file costs.

`pytest --journal FILE` appends a line for every test file that came to its end. The next run with
the same journal leaves out the files that passed, as long as the sources are the same. Hooks are
re-exported by `conftest.py`.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections import Counter
from collections.abc import Collection, Generator, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pytest

from frameworks import fork_server

ROOT = Path(__file__).resolve().parents[1]
CPU, REASON = "cpu_seconds", "exhaustive"
OUTCOMES = ("passed", "failed", "skipped")


@dataclass
class TierCost:
    """Tests of one file in one tier: how many, wall and CPU seconds."""

    tests: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0


@dataclass
class FileResult:
    """What became of the tests of one file. `reasons`: of its exhaustive tests, with counts."""

    file: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    quick: TierCost = field(default_factory=TierCost)
    exhaustive: TierCost = field(default_factory=TierCost)
    reasons: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, plain: dict[str, Any]) -> FileResult:
        """Read a line of the journal."""
        tiers = {name: TierCost(**plain[name]) for name in ("quick", "exhaustive")}
        return cls(**plain | tiers)


def revision() -> str:
    """Return what identifies the sources: the commit, and a hash of what is not committed."""
    commit, changes = _git("rev-parse", "HEAD").strip(), _git("diff", "HEAD").encode()
    for name in _git("ls-files", "--others", "--exclude-standard").splitlines():
        if (ROOT / name).is_file():
            changes += name.encode() + (ROOT / name).read_bytes()
    return commit + (f"+{hashlib.sha256(changes).hexdigest()[:12]}" if changes else "")


def _git(*arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout


def read_journal(path: Path) -> tuple[str, dict[str, FileResult]]:
    """Return the revision and the last result of every file, without a line that was cut off."""
    found: dict[str, FileResult] = {}
    sources = ""
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            plain = json.loads(line)
        except ValueError:
            continue
        if "revision" in plain:
            found, sources = {}, plain["revision"]
        else:
            found[plain["file"]] = FileResult.of(plain)
    return sources, found


class Recorder:
    """Runs in every process that runs tests: leaves out files, and measures CPU time."""

    def __init__(self, skip: Collection[str]) -> None:
        self.skip = frozenset(skip)
        self.cpu = _cpu_seconds()

    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Leave out the files that passed before; refuse marks without a reason."""
        marks = {item.nodeid: item.get_closest_marker("exhaustive") for item in items}
        bare = sorted(name for name, mark in marks.items() if mark and not mark.args)
        if bare:  # noted with the costs of the tier, at the end of hours
            raise pytest.UsageError(f"marked exhaustive without a reason: {', '.join(bare)}")
        gone = [item for item in items if _file(item.nodeid) in self.skip]
        if gone:
            config.hook.pytest_deselected(items=gone)
            items[:] = [item for item in items if _file(item.nodeid) not in self.skip]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Note the CPU time since the last report, that of ended child processes included."""
        report = yield
        before, self.cpu = self.cpu, _cpu_seconds()
        report.user_properties.append((CPU, self.cpu - before))
        if mark := item.get_closest_marker("exhaustive"):
            report.user_properties.append((REASON, mark.args[0]))
        return report


class Journal:
    """Runs in the process that starts the workers: collects their reports and writes the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.revision = revision()
        sources, self.done = read_journal(path)
        if sources != self.revision:
            self.done = {}
            path.parent.mkdir(parents=True, exist_ok=True)
            self._append({"revision": self.revision})
        self.skip = sorted(name for name, result in self.done.items() if not result.failed)
        self.waiting: Counter[str] = Counter()
        self.results: dict[str, FileResult] = {}
        self.outcomes: dict[str, str] = {}

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker what to leave out: the same files, also if it replaces another one."""
        node.workerinput["journal_skip"] = self.skip

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Take over which tests will run, if they run in this process."""
        self._expect(item.nodeid for item in session.items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        """Take over which tests will run; all workers collect the same."""
        if not self.waiting:
            self._expect(ids)

    def _expect(self, ids: Iterable[str]) -> None:
        self.waiting = Counter(_file(nodeid) for nodeid in ids)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count a phase of a test; write the line of a file after its last test."""
        name = _file(report.nodeid)
        result = self.results.setdefault(name, FileResult(name))
        properties: dict[str, Any] = dict(report.user_properties)
        reason = properties.get(REASON)
        tier = result.exhaustive if reason else result.quick
        tier.seconds += report.duration
        tier.cpu_seconds += properties.get(CPU, 0.0)
        if report.outcome == "failed" or self.outcomes.get(report.nodeid, "passed") == "passed":
            self.outcomes[report.nodeid] = report.outcome
        if report.when != "teardown":
            return
        tier.tests += 1
        if reason:
            result.reasons[reason] = result.reasons.get(reason, 0) + 1
        outcome = self.outcomes.pop(report.nodeid)
        setattr(result, outcome, getattr(result, outcome) + 1)
        self.waiting[name] -= 1
        if not self.waiting[name]:
            self.done[name] = result
            self._append(asdict(result))

    def _append(self, line: dict[str, Any]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print the sums over all files of this revision, those of earlier runs among them."""
        terminalreporter.write_line(self.summary())

    def summary(self) -> str:
        """Return the closing line."""
        every = self.done.values()
        counts = [f"{sum(getattr(result, word) for result in every)} {word}" for word in OUTCOMES]
        costs = [tier.cpu_seconds for result in every for tier in (result.quick, result.exhaustive)]
        cost = f"{sum(costs) / 60:.0f} minutes of CPU time"
        return f"{', '.join(counts)} in {len(every)} files, {cost}, revision {self.revision[:12]}"


def _file(nodeid: str) -> str:
    return nodeid.partition("::")[0]


def _cpu_seconds() -> float:
    times = os.times()
    own = times.user + times.system + times.children_user + times.children_system
    return own + fork_server.cpu_seconds()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option; re-exported by conftest.py, as is the next hook."""
    parser.addoption("--journal", metavar="FILE", help="Record results by file, and resume.")


def pytest_configure(config: pytest.Config) -> None:
    """Register what the option needs, in this process and in workers."""
    path = config.getoption("--journal")
    if path is None:
        return
    worker = getattr(config, "workerinput", None)
    if worker is not None:
        config.pluginmanager.register(Recorder(worker["journal_skip"]))
        return
    journal = Journal(Path(path))
    config.pluginmanager.register(journal)
    config.pluginmanager.register(Recorder(journal.skip))
