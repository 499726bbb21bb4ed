"""No text makes a reader raise, and nothing heavy is imported before it is needed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosscast.messages.source import Source
from crosscast.targets.source_support import GROUP, installed_support, load_object
from crosscast_reading.pysource.project import read_program
from crosscast_reading.readers.protocol import Reading, TextReader
from crosscast_reading.readers.python import config_dicts as py_config_dicts
from crosscast_reading.readers.python import mmengine as py_mmengine
from crosscast_reading.readers.shell.reader import root_of
from property_settings import examples
from reading_helpers.vocabulary_check import check_words

ROOT = Path(__file__).parents[3]
PLACES = {
    name: place
    for support in installed_support().values()
    for name, place in support.text_readers.items()
}
READERS = [
    cast("TextReader", load_object(place)) for name, place in PLACES.items() if name != "recipe"
]
SHELL = next(reader for reader in READERS if reader.name == "shell")
TEXTS = [
    path.read_text()
    for path in sorted(Path(__file__).parent.glob("test_*.py"))
    if path.name != Path(__file__).name
]
WORDS = st.sampled_from(
    (
        *("python t.py", "--lr", "$X", "${X:-", "}", "$((", "))", "(", ")", '"', "'", "\\", "\n"),
        *("|", "&&", "if [ $1 ]; then", "fi", "for a in", "do", "done", "case x in", "esac", ";;"),
        *(
            "<<EOF",
            "EOF",
            "`",
            "#",
            " ",
            "A=",
            "A+=(",
            "{",
            "f() {",
            "eval",
            "bash -c",
            "f",
            "=",
            "1",
        ),
        *(
            "export ",
            "torchrun",
            "srun",
            "-m",
            "${A[@]}",
            "$@",
            ">",
            "&",
            "function",
            "[[",
            "]]",
            "é",
        ),
    )
)


SCRIPT = """#!/bin/bash
#SBATCH --ntasks=4
if [ "$BIG" = 1 ] && test -n "$X"; then
  ARGS="--fp16"
elif [[ $MODE == @(ab|cd) || -z ${Y:-} ]]; then
  ARGS=$'--bf16'
else
  : ${N:=3}
fi
while IFS=, read -r name value; do
  case $name in a | b) LR=3 ;; *) ((i++)) ;; esac
done < settings.csv
for ((k = 0; k < 3; k++)); do echo ${A[$k]} ${B//a/b} ${C%%.*} ${#A[@]} ${D:1:2}; done
A=(1 2) B=3; A+=(3); A[1]=4
export HALF=$((2 ** 3)) && unset HALF || exit 1
run() { local rate=$1; shift; python train.py --lr "$rate" "$@" --fp16; }
getopts "ab:" flag; mapfile -t LINES < f; eval "python eval.py --lr $LR"
env A=1 torchrun --nproc_per_node=2 train.py --lr 1e-3 $ARGS \\
  --rows $(expr 2 \\* 4) --n `echo $N` | tee log
cat > ds.json <<EOF
{"train_batch_size": $N, "fp16": {"enabled": true}}
EOF
mpirun -np 2 -x A=1 python -m torch.distributed.launch --nproc_per_node 2 t.py --lr=1 <<'X'
text
X
bash -c "python t.py --lr 2" <<< "$A"
srun bash <<-Y
	python t.py --lr $LR
	Y
run 1 2 3
"""
PIECES = re.findall(r"\s+|\w+|.", SCRIPT)


def hold(reader: TextReader, text: str, name: str) -> Reading:
    source = Source(name, text)
    reader.sniff(source)
    reading = reader.read(source)
    check_words(reading.facts, numbers=True)
    return reading


@pytest.mark.parametrize("reader", READERS, ids=lambda case: case.name)
@pytest.mark.parametrize(
    "text",
    [
        *("", "\0", "\ufeff", "\x00\xff" * 100, "{" * 3000, "[" * 3000, "(" * 3000, "a:\n" * 3000),
        *("$(" * 500, "((" * 500, "if x; then " * 400, "{" * 400 + "}" * 400, "python " * 3000),
        *(
            '"' * 1001,
            "'" * 1001,
            "x=$x$x\n" * 60,
            "a" * 3_000_000,
            "\u2028\u0085: - \u2028",
            "--- \n" * 99,
        ),
        "X=aa\n" + "X=$X$X\n" * 60 + "python t.py $X\n",
        "f() { f; f; }\nf\n",
        "while true; do " * 60 + "python t.py;" + " done;" * 60,
        "ENV " + "A=1 " * 5000 + "\nFROM x\n",
        *("A=1 ) B=2", "if\nthen\nelif\nfi", "cat <<''\n", "cat <<", "case x in a) esac"),
    ],
    ids=lambda text: repr(text[:20]),
)
def test_strange_text(reader: TextReader, text: str) -> None:
    hold(reader, text, "some.file")


@pytest.mark.parametrize("reader", READERS, ids=lambda case: case.name)
@settings(max_examples=examples(15))
@given(text=st.text(max_size=200))
def test_any_text(reader: TextReader, text: str) -> None:
    hold(reader, text, "x")


@settings(max_examples=examples(150))
@given(st.lists(WORDS, max_size=30))
def test_any_shell(words: list[str]) -> None:
    hold(SHELL, " ".join(words), "x.sh")
    hold(SHELL, "".join(words), "x.sh")


@settings(max_examples=examples(100))
@given(st.randoms(use_true_random=False))
def test_torn_shell(random: Random) -> None:
    start = random.randrange(len(PIECES))
    pieces = PIECES[start:][: random.randint(1, 200)]
    for _ in range(random.randint(1, 6)):
        at = random.randrange(len(pieces) + 1)
        pieces[at : at + random.randrange(3)] = random.choices(PIECES, k=random.randrange(2))
    hold(SHELL, "".join(pieces), "x.sh")


@settings(max_examples=examples(40))
@given(st.sampled_from(TEXTS), st.integers(0, 2**20), st.integers(0, 400))
def test_pieces_of_real_texts(text: str, start: int, size: int) -> None:
    piece = text[start % len(text) :][:size]
    for reader in READERS:
        hold(reader, piece, "piece.yaml")


@settings(max_examples=examples(40))
@given(st.sampled_from(TEXTS), st.integers(0, 2**20), st.integers(0, 400))
def test_pieces_as_python(text: str, start: int, size: int) -> None:
    lines = text[start % len(text) :][:size].partition("\n")[2]
    program, _ = read_program([Source("c.py", lines)])
    for reader in (py_mmengine.READER, py_config_dicts.READER):
        check_words(reader.read(program), numbers=True)


def test_the_group_of_plug_ins_is_the_one_that_pages_name() -> None:
    for page in ("reference/lifting.md", "developing/adding-a-reader.md"):
        assert f"`{GROUP}`" in (ROOT / "docs" / page).read_text()


def test_nothing_heavy_before_a_script_is_read() -> None:
    modules = sorted({place.partition(":")[0] for place in PLACES.values()})
    code = (
        f"import sys\nfor m in {modules!r}: __import__(m)\n"
        "heavy = {'tree_sitter', 'tree_sitter_bash', 'numpy', 'torch'} & set(sys.modules)\n"
        "sys.exit(repr(heavy) if heavy else 0)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_the_parser_sees_no_characters_of_four_bytes() -> None:
    """Behind a brace they make tree-sitter-bash crash, though not in every process."""
    text = "{\U0001f680 $X \u20ac \U0010ffff"
    root, _ = root_of(Source("x.sh", text))
    assert root.text is not None
    assert max(root.text) < 0xF0
    assert len(root.text) == len(text.encode())


def test_characters_of_four_bytes_are_read_as_they_are() -> None:
    reading = hold(
        SHELL, "{ A=\U0001f680; }\npython t.py --name \U0001f680 --run $A --lr 0.1\n", "x.sh"
    )
    (command,) = reading.commands
    found = {flag.expression: (flag.value, flag.places[0].column) for flag in command.flags}
    assert found["--name"] == ("\U0001f680", 13)
    assert found["--run"][0] == "\U0001f680"
    assert found["--lr"][1] == 31
