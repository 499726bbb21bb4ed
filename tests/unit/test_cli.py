"""The command line: what goes where, exit codes, and that no traceback is ever shown."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from crosscast import __version__
from crosscast.cli import app
from crosscast.recipe.schema import schema_text
from crosscast.recipe.yaml_source import parse
from crosscast.targets import doctor
from crosscast.targets.backend import program_names
from own_parts import own_backends
from recipe_strategies import COMPILED, LAYERS, TARGETS
from recipe_texts import FLOAT16, build, text_of

ALL = ",".join(TARGETS)
CUSTOM, NPZ = "{kind: custom, factory: {torch: 'a:b'}}", "{source: npz, train: a, eval: b}"


@pytest.fixture
def recipe(tmp_path: Path) -> str:
    path = tmp_path / "r.yaml"
    path.write_text(text_of(version="2", precision=FLOAT16))
    return str(path)


@pytest.fixture
def broken(tmp_path: Path) -> str:
    path = tmp_path / "broken.yaml"
    path.write_text(text_of(seed="-1", lr="1"))
    return str(path)


def run(*arguments: str, input: str | bytes | None = None) -> Result:
    """Run a command in this process; anything but a clean exit is an error of the test."""
    result = CliRunner().invoke(app, list(arguments), input=input, prog_name="crosscast")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert "Traceback (most recent" not in result.output  # emitted files import TracebackType
    assert "\x1b[" not in result.output
    return result


# compile


@pytest.mark.parametrize("form", ["script", "step"])
def test_compile_writes_a_folder_per_target(recipe: str, tmp_path: Path, form: str) -> None:
    result = run(
        *("compile", recipe, "--to", ALL, "-o", str(tmp_path / "out"), "--form", form, "--all")
    )
    assert result.exit_code == 0
    out = tmp_path / "out"
    assert {path.name for path in out.iterdir()} == {
        *("recipe.yaml", "crosscast-manifest.json", *TARGETS)
    }
    main = "train.py" if form == "script" else "step.py"
    assert all((out / target / main).is_file() for target in TARGETS)
    verdict, _, empty, *printed = result.stdout.splitlines()[1:]
    assert verdict.startswith(f"Verdict:   {len(printed)} files written; fields: ")
    assert empty == ""
    assert printed == sorted(printed)
    assert all(Path(path).is_file() for path in printed)
    assert "note CC310" in result.stderr
    assert build((out / "recipe.yaml").read_text()) == build(Path(recipe).read_text())


def test_compile_prints_json(recipe: str, tmp_path: Path) -> None:
    result = run("compile", recipe, "--to", "torch", "-o", str(tmp_path / "out"), "--json")
    data = json.loads(result.stdout)
    assert set(data) == {"files", "diagnostics"}
    assert "torch/train.py" in data["files"]
    assert {entry["severity"] for entry in data["diagnostics"]} == {"note"}
    assert result.stderr == ""


def test_compile_to_stdout(recipe: str, tmp_path: Path) -> None:
    result = run("compile", recipe, "--to", "torch", "-o", "-")
    assert result.exit_code == 0
    assert "# ==> torch/train.py <==" in result.stdout
    assert "note CC310" in result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.yaml"]
    files = json.loads(run("compile", recipe, "--to", "torch", "-o", "-", "--json").stdout)
    assert {"recipe.yaml", "torch/train.py", "torch/launch.sh"} <= set(files)
    compile(files["torch/train.py"], "train.py", "exec")


def test_compile_reads_stdin() -> None:
    result = run("compile", "-", "--to", "torch", "-o", "-", "--json", input=text_of())
    assert result.exit_code == 0
    assert build(json.loads(result.stdout)["recipe.yaml"]) == build(text_of())


def test_compile_twice_and_over_edited_files(recipe: str, tmp_path: Path) -> None:
    arguments = ("compile", recipe, "--to", "torch", "-o", str(tmp_path / "out"))
    assert run(*arguments).exit_code == 0
    assert run(*arguments).exit_code == 0
    (tmp_path / "out" / "torch" / "train.py").write_text("mine")
    result = run(*arguments)
    assert result.exit_code == 2
    assert "CC501" in result.stderr
    assert (tmp_path / "out" / "torch" / "train.py").read_text() == "mine"
    assert run(*arguments, "--force").exit_code == 0


@pytest.mark.parametrize(
    ("text", "arguments", "code", "exit_code"),
    [
        (text_of(seed="-1"), ["--to", "torch"], "CC104", 1),
        (text_of(model=CUSTOM, data=NPZ), ["--to", ALL], "CC3", 1),
        (text_of(precision=FLOAT16), ["--to", "torch", "--strict"], "CC301", 1),
        (text_of(overrides="{trch: {}}"), ["--to", "torch"], "CC106", 1),
        (text_of(overrides="{torch: {compil: true}}"), ["--to", "torch"], "CC208", 1),
        (text_of(), ["--to", "trch"], "CC106", 2),
        (text_of(), ["--to", ""], "CC106", 2),
        (text_of(), ["--to", "torch,torch"], "CC106", 2),
        ("", ["--to", "torch"], "CC015", 1),
        ("\x00", ["--to", "torch"], "CC014", 1),
    ],
)
def test_compile_writes_nothing_on_an_error(
    tmp_path: Path, text: str, arguments: list[str], code: str, exit_code: int
) -> None:
    path = tmp_path / "r.yaml"
    path.write_text(text)
    out = str(tmp_path / "out")
    result = run("compile", str(path), *arguments, "-o", out)
    assert result.exit_code == exit_code
    assert f"error {code}" in result.stderr
    assert result.stdout == ""
    assert not Path(out).exists()
    result = run("compile", str(path), *arguments, "-o", out, "--json")
    assert result.exit_code == exit_code
    assert any(load["code"].startswith(code) for load in json.loads(result.stdout)["diagnostics"])


def test_errors_of_targets_are_shown_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    path.write_text(text_of(overrides="{torch: {compil: true}, trch: {}}"))
    for command in (("check", str(path)), ("compile", str(path), "--to", "torch", "-o", "-")):
        result = run(*command)
        assert f"{path}:9:21: error CC208: overrides.torch.compil" in result.stderr
        assert f"{path}:9:36: error CC106: overrides.trch" in result.stderr
        assert "did you mean 'torch'?" in result.stderr
        assert result.exit_code == 1


# check, show, explain


def test_check(recipe: str, broken: str) -> None:
    result = run("check", recipe)
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        f"Looked at: {recipe}",
        "Verdict:   Found no errors in 1 recipe.",
        "Next:      crosscast compile RECIPE --to TARGET -o FOLDER",
    ]
    result = run("check", recipe, broken, recipe)
    assert result.exit_code == 1
    assert "Found 2 errors in 3 recipes." in result.stdout
    assert f"{broken}:9:7: error CC104" in result.stderr
    assert f"{broken}:10:1: error CC101" in result.stderr
    assert result.stderr.index(":9:7") < result.stderr.index(":10:1")


def test_check_goes_on_after_a_missing_file(broken: str, tmp_path: Path) -> None:
    result = run("check", str(tmp_path / "no.yaml"), broken)
    assert result.exit_code == 2
    assert "CC001" in result.stderr
    assert "CC104" in result.stderr


def test_check_with_targets(recipe: str) -> None:
    result = run("check", recipe, "--to", ALL)
    assert result.exit_code == 0
    assert "note CC310" in result.stderr
    assert run("check", recipe, "--to", ALL, "--strict").exit_code == 1


def test_check_prints_json(recipe: str, broken: str) -> None:
    assert json.loads(run("check", recipe, "--json").stdout) == {"diagnostics": []}
    result = run("check", broken, "--json")
    assert result.exit_code == 1
    found = json.loads(result.stdout)["diagnostics"]
    assert [(entry["code"], entry["path"], entry["span"]["line"]) for entry in found] == [
        ("CC104", "seed", 9),
        ("CC101", "lr", 10),
    ]
    assert result.stderr == ""


def test_check_reads_stdin() -> None:
    assert run("check", "-", input=text_of()).exit_code == 0
    result = run("check", "-", input=b"\xff")
    assert result.exit_code == 2
    assert "<stdin>:1: byte 0 is not UTF-8" in result.stderr


def test_show_says_everything(recipe: str) -> None:
    result = run("show", recipe)
    assert result.exit_code == 0
    assert build(result.stdout) == build(Path(recipe).read_text())
    for line in ("growth_interval: 2000", "global_batch_size: 8", "hidden_size: 128"):
        assert line in result.stdout
    shown = json.loads(run("show", recipe, "--json").stdout)
    assert build(json.dumps(shown)) == build(result.stdout)


def test_explain(recipe: str) -> None:
    result = run("explain", recipe, "--to", "torch")
    assert result.exit_code == 0
    assert "loss_scaling.min_scale" in result.stdout
    assert run("explain", recipe, "--to", "torch", "--strict").exit_code == 1
    rows = json.loads(run("explain", recipe, "--to", ALL, "--json").stdout)
    assert {row["target"] for row in rows} == set(TARGETS)
    assert set(rows[0]) == {"target", "field", "value", "verdict", "code", "evidence", "how"}


def test_explain_of_something_unsupported(tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    path.write_text(text_of(model=CUSTOM, data=NPZ))
    result = run("explain", str(path), "--to", "torch,paddle", "--json")
    assert result.exit_code == 1
    bad = {row["target"] for row in json.loads(result.stdout) if row["verdict"] == "unsupported"}
    assert bad == {"paddle"}
    every = run("explain", str(path))  # one of them is enough if none is asked for
    assert every.exit_code == 0
    assert "not possible on" in every.stdout
    (following,) = (line for line in every.stdout.splitlines() if line.startswith("Next:"))
    assert "paddle" not in following
    assert run("explain", str(path), "--strict").exit_code == 1


# init, schema, matrix


def test_the_schema_beside_a_starter_takes_it(tmp_path: Path) -> None:
    import jsonschema

    path = tmp_path / "recipe.yaml"
    assert run("init", str(path)).exit_code == 0
    named = path.read_text().splitlines()[0].partition("$schema=")[2]
    schema = json.loads((tmp_path / named).read_text())
    data = json.loads(json.dumps(parse(path.read_text(), "f").data))
    assert list(jsonschema.Draft7Validator(schema).iter_errors(data)) == []


def test_init_and_its_recipe(tmp_path: Path) -> None:
    path = tmp_path / "new" / "my.yaml"
    result = run("init", str(path))
    assert result.exit_code == 0
    assert f"written: {path}, {path.parent / 'recipe-v2.json'}\n" in result.stdout
    assert run("check", str(path), "--to", ALL).exit_code == 0
    path.write_text("mine")
    result = run("init", str(path))
    assert result.exit_code == 2
    assert "CC501" in result.stderr
    assert path.read_text() == "mine"
    assert run("init", str(path), "--force").exit_code == 0
    assert path.read_text() != "mine"


def test_schema() -> None:
    texts = run("schema").stdout, run("schema", "--version", "1").stdout
    assert texts == (schema_text(), schema_text(1))


def test_matrix() -> None:
    rows = json.loads(run("matrix", "--json").stdout)
    own = {backend.name for backend in own_backends()}
    assert own == {*COMPILED, *LAYERS}
    assert {row["target"] for row in rows} >= own
    assert "| field |" in run("matrix", "--markdown").stdout
    heads = [line.split() for line in run("matrix", "--all").stdout.splitlines()]
    assert ["target", "field", "verdict", "code", "how", "holds"] in heads


@pytest.mark.parametrize(("usable", "code"), [(True, 0), (False, 3)])
def test_doctor(monkeypatch: pytest.MonkeyPatch, usable: bool, code: int) -> None:
    native = {"float32": usable}
    monkeypatch.setattr(
        doctor, "examine", lambda backend: doctor.Examination(backend.name, "1.0", native=native)
    )
    assert run("doctor").exit_code == code
    result = run("doctor", "--json")
    assert result.exit_code == code
    assert [load["target"] for load in json.loads(result.stdout)] == program_names()


# usage


@pytest.mark.parametrize(
    "arguments",
    [
        ["compile"],
        ["compile", "r.yaml"],
        ["compile", "r.yaml", "--to", "torch"],
        ["compile", "r.yaml", "--to", "torch", "-o", "x", "--form", "book"],
        ["check"],
        ["show"],
        ["explain"],
        ["chek", "r.yaml"],
        ["check", "--wrong", "r.yaml"],
        ["matrix", "extra"],
    ],
    ids=" ".join,
)
def test_wrong_usage(arguments: list[str]) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert "Usage: crosscast" in result.output


def test_mistyped_commands_and_options_get_suggestions() -> None:
    assert "compile" in run("complie").stderr.replace("complie", "")
    assert "--strict" in run("check", "--strct", "r.yaml").stderr.replace("--strct", "")


def test_help_and_version() -> None:
    assert run("--version").stdout == f"crosscast {__version__}\n"
    for option in ("--help", "-h"):
        result = run(option)
        assert result.exit_code == 0
        assert all(name in result.stdout for name in ("compile", "check", "parity", "doctor"))
    assert "Usage: crosscast" in run().output


@pytest.mark.parametrize(
    "command", ["check", "show", "explain --to torch", "compile --to torch -o x"]
)
def test_files_that_cannot_be_read(command: str, tmp_path: Path) -> None:
    name, *options = command.split()
    for path, code in ((tmp_path / "no.yaml", "CC001"), (tmp_path, "CC002")):
        result = run(name, str(path), *options)
        assert result.exit_code == 2
        assert code in result.stderr


# as a process


@pytest.fixture
def process() -> list[str]:
    return [sys.executable, "-m", "crosscast"]


def test_as_a_module_in_a_pipe(process: list[str], recipe: str, broken: str) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    for name in ("NO_COLOR", "FORCE_COLOR"):
        environment.pop(name, None)
    script = f"{' '.join(process)} check {recipe} {broken}; echo $?"
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, check=False, env=environment
    )
    assert done.stdout.splitlines()[-1] == "1"
    assert "error CC104" in done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_a_reader_that_goes_away_is_no_error(process: list[str]) -> None:
    script = f"set -o pipefail; {' '.join(process)} schema | true"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_stdin_may_be_closed(process: list[str]) -> None:
    done = subprocess.run(
        ["bash", "-c", f"{' '.join(process)} check - <&-"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "CC003" in done.stderr
    assert "Traceback" not in done.stderr


def test_names_that_do_not_fit_the_encoding_are_printed_all_the_same(
    process: list[str], tmp_path: Path
) -> None:
    name = os.fsencode(tmp_path) + b"/\xff\xc3\xa9"
    done = subprocess.run(
        [*map(os.fsencode, process), b"init", name + b"/r.yaml"],
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.count(b"\n") == 3
