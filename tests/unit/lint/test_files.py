"""Which files are looked at, and which of them together."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from crosscast.messages.diagnostics import Diagnostic
from crosscast.messages.source import Source
from crosscast_reading.sources.files import (
    MAX_BYTES,
    MAX_CONFIG,
    Text,
    find_files,
    kind_of,
    read_text,
)
from crosscast_reading.sources.grouping import MAX_HELPERS, group

TRAIN = "loss.backward()\noptimizer.step()\n"


def tree(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")


def found(root: Path, *paths: str, exclude: tuple[str, ...] = ()) -> list[str]:
    files, problems = find_files([str(root / path) for path in paths], exclude, str(root))
    assert problems == []
    return [path.relative_to(root).as_posix() for path in files]


def test_folders_are_searched(tmp_path: Path) -> None:
    tree(
        tmp_path,
        *("b.py", "a.sh", "sub/c.yaml", "sub/d.json", "sub/e.ipynb", "sub/f.sbatch"),
        *("no.txt", ".hidden.py", ".git/a.py", "node_modules/a.py", "build/a.py", "dist/a.py"),
        *("venv/a.py", "own/pyvenv.cfg", "own/a.py", "x.egg-info/a.py", "__pycache__/a.py"),
        *("lib/site-packages/a.py",),
    )
    everything = ["a.sh", "b.py", "sub/c.yaml", "sub/d.json", "sub/e.ipynb", "sub/f.sbatch"]
    assert found(tmp_path, ".") == everything
    assert found(tmp_path, "sub", "b.py", "b.py", "sub/c.yaml") == [*everything[2:], "b.py"]
    assert found(tmp_path, "build", "no.txt", ".hidden.py") == [
        "build/a.py",
        "no.txt",
        ".hidden.py",
    ]


@pytest.mark.parametrize("pattern", ["sub", "sub/", "./sub", "sub/*", "s?b"])
def test_exclude(tmp_path: Path, pattern: str) -> None:
    tree(tmp_path, "a.py", "sub/b.py", "sub/deep/c.py")
    assert found(tmp_path, ".", exclude=(pattern,)) == ["a.py"]
    assert found(tmp_path, "sub/b.py", exclude=(pattern,)) == []


def test_links_to_folders_are_not_followed(tmp_path: Path) -> None:
    tree(tmp_path, "a/b.py")
    (tmp_path / "a" / "loop").symlink_to(tmp_path)
    (tmp_path / "gone.py").symlink_to(tmp_path / "nothing")
    assert found(tmp_path, ".") == ["a/b.py"]


def test_paths_that_cannot_be_read(tmp_path: Path) -> None:
    _, problems = find_files([str(tmp_path / "no"), "x" * 5000, "/dev/null"])
    assert [problem.code for problem in problems] == ["CC001", "CC003", "CC002"]


def test_texts(tmp_path: Path) -> None:
    def read(data: bytes, name: str = "a.py", *, named: bool = True) -> Text | Diagnostic | None:
        (tmp_path / name).write_bytes(data)
        return read_text(tmp_path / name, named=named)

    def encoding(data: bytes, name: str = "a.py") -> tuple[str, str]:
        text = read(data, name)
        assert isinstance(text, Text)
        return text.encoding, text.source.text

    assert encoding(b"x\r\n") == ("utf-8", "x\r\n")
    assert encoding(b"\xef\xbb\xbfx") == ("utf-8-sig", "x")
    assert encoding(b"\xef\xbb\xbfx", "a.sh") == ("utf-8-sig", "x")
    assert encoding(b"# coding: latin-1\n\xe9") == ("iso-8859-1", "# coding: latin-1\n\u00e9")
    for data, name, code in (
        (b"\xff\xfe", "a.py", "CC005"),
        (b"# coding: no-such-thing\n\xff", "a.py", "CC005"),
        (b"x" * (MAX_BYTES + 1), "a.py", "CC004"),
    ):
        problem = read(data, name)
        assert isinstance(problem, Diagnostic)
        assert problem.code == code
        assert read(data, name, named=False) is None
    assert read(b"x" * (MAX_CONFIG + 1), "a.json", named=False) is None
    assert isinstance(read(b"x" * (MAX_CONFIG + 1), "a.json"), Text)


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("a.py", "", "python"),
        ("a.ipynb", "{}", "python"),
        ("A.PY", "", "python"),
        ("run", "#!/usr/bin/env python3\n", "python"),
        ("run", "#!/bin/bash\n", "shell"),
        ("a.sbatch", "", "shell"),
        ("a.yml", "", "config"),
        ("<stdin>", "import torch", "python"),
        ("<stdin>", "#!/bin/sh\n", "shell"),
    ],
)
def test_kinds(name: str, text: str, kind: str) -> None:
    assert kind_of(Source(name, text)) == kind


# groups


def groups(**texts: str) -> list[list[str]]:
    """Return the names of what belongs together; `a__b_py` is the file a/b.py."""
    sources = []
    for name, text in texts.items():
        stem, _, suffix = name.replace("__", "/").rpartition("_")
        sources.append(Source(f"{stem}.{suffix}", text))
    return [[source.name for source in members] for members in group(sources)]


def test_programs_and_their_modules() -> None:
    assert groups(
        train_py=f"from helper import step\nimport pkg.data as data\nfrom pkg import more\n{TRAIN}",
        helper_py="def step(optimizer): ...",
        pkg__data_py="loss = 1  # of no concern, but small and near",
        pkg__more_py="parser.add_argument('--lr')",
        other_py="print(1)",
    ) == [["train.py", "helper.py", "pkg/data.py", "pkg/more.py"]]


def test_relative_imports_and_chains() -> None:
    assert groups(
        pkg__sub__train_py=f"from ..tools import (\n    clip,\n)\nfrom . import step\n{TRAIN}",
        pkg__tools_py="from .deeper import x\noptimizer = 1",
        pkg__deeper_py="optimizer = 2",
        pkg__sub__step_py="optimizer = 3",
    ) == [["pkg/sub/train.py", "pkg/tools.py", "pkg/sub/step.py", "pkg/deeper.py"]]


def test_every_file_with_training_is_in_a_group() -> None:
    circle = groups(a_py=f"import b\n{TRAIN}", b_py=f"import a\n{TRAIN}")
    assert circle == [["a.py", "b.py"]]
    texts = {f"m{number}_py": TRAIN for number in range(MAX_HELPERS + 5)}
    main = "".join(f"import m{number}\n" for number in range(MAX_HELPERS + 5)) + TRAIN
    members = groups(main_py=main, **texts)
    assert {name for member in members for name in member} == {
        "main.py",
        *(f"m{number}.py" for number in range(MAX_HELPERS + 5)),
    }


def test_of_a_library_less_is_read_together(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {f"m{number}_py": f"import helper\n{TRAIN}" for number in range(4)}
    together = groups(helper_py=TRAIN * 100, **texts)
    assert together == [[f"m{number}.py", "helper.py"] for number in range(4)]
    monkeypatch.setattr("crosscast_reading.sources.grouping.ENOUGH", 0)
    apart = groups(helper_py=TRAIN * 100, **texts)
    assert sorted(apart) == [["helper.py"], *([f"m{number}.py"] for number in range(4))]


@pytest.mark.parametrize(
    "command",
    [
        "python train.py --fp16",
        "torchrun --nproc_per_node 8 ./train.py",
        'python "$ROOT/train.py"',
        "python -m train --fp16",
        "cd somewhere && python -u elsewhere/train.py",
    ],
)
def test_a_script_joins_the_program_it_starts(command: str) -> None:
    found = groups(train_py=f"import helper\n{TRAIN}", helper_py="optimizer = 1", run_sh=command)
    assert found == [["train.py", "helper.py", "run.sh"]]


def test_scripts_find_the_nearer_of_two_programs() -> None:
    found = groups(
        a__train_py=TRAIN, b__train_py=TRAIN, b__run_sh="python train.py", c_sh="python train.py"
    )
    assert found == [["b/train.py", "b/run.sh"], ["c.sh"], ["a/train.py"]]


def test_settings_join_what_mentions_them() -> None:
    settings = '{"fp16": {"enabled": true}}'
    found = groups(
        train_py=TRAIN, run_sh="deepspeed train.py --config ds.json", ds_json=settings,
        lone_json=settings, other_json='{"a": 1}',
    )  # fmt: skip
    assert found == [["train.py", "run.sh", "ds.json"], ["lone.json"]]


def test_settings_of_one_name_are_told_apart() -> None:
    settings = '{"fp16": {"enabled": true}}'
    found = groups(
        a__train_py=f"config = 'ds.json'\n{TRAIN}", a__ds_json=settings, b__ds_json=settings,
        c__ds_json=settings, train_py=f"config = 'ds.json'\n{TRAIN}",
    )  # fmt: skip
    assert found == [["a/train.py", "a/ds.json"], ["train.py"], ["b/ds.json"], ["c/ds.json"]]


def test_a_script_without_its_program_is_alone() -> None:
    assert groups(run_sh="python elsewhere.py") == [["run.sh"]]
    assert groups(run_sh="echo hello") == []


def test_a_link_that_leads_to_itself_does_not_end_the_walk(tmp_path: Path) -> None:
    (tmp_path / "loop.py").symlink_to(tmp_path / "loop.py")
    (tmp_path / "train.py").write_text("x = 1\n")
    found, problems = find_files([str(tmp_path)])
    assert ([path.name for path in found], problems) == (["train.py"], [])
    problems = find_files([str(tmp_path / "loop.py")])[1]
    assert [(problem.code, "leads nowhere" in problem.message) for problem in problems] == [
        ("CC001", True)
    ]


@pytest.mark.skipif(os.name == "nt", reason="two slashes name a computer there")
def test_doubled_slashes(tmp_path: Path) -> None:
    tree(tmp_path, "sub/a.py")
    plain = str(tmp_path / "sub" / "a.py")
    doubled = [plain.replace("/sub/", "//sub//"), f"/{plain}", f"//{plain}"]
    files, problems = find_files([plain, *doubled])
    assert ([str(path) for path in files], problems) == ([plain], [])
