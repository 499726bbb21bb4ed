"""What bash really passes to a program."""

from __future__ import annotations

import pytest

from reading_helpers.reader_texts import codes, command, flags, shell


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("python t.py --lr 1e-4 --fp16", {"--lr": "1e-4", "--fp16": True}),
        ("python t.py --lr=1e-4 --name='a b'", {"--lr": "1e-4", "--name": "a b"}),
        ("LR=2e-5\npython t.py --lr $LR", {"--lr": "2e-5"}),
        ("python t.py --bs ${BS:-8}", {"--bs": "8"}),
        ("BS=4\npython t.py --bs ${BS:-8}", {"--bs": "4"}),
        ("BS=\npython t.py --bs ${BS:-8} --n ${BS-9}x", {"--bs": "8", "--n": "x"}),
        (": ${N:=3}\npython t.py --n $N", {"--n": "3"}),
        ("A=2; B=3\npython t.py --bs $((A * B + 1))", {"--bs": "7"}),
        ("A=2\npython t.py --bs `expr $A \\* 4` --m $(echo $A)", {"--bs": "8", "--m": "2"}),
        ("A=2\nB=$[A*8]\nlet 'C = 1'\npython t.py --bs $B", {"--bs": "16"}),
        ("ARGS=(--lr 1 # rate\n --x 'a b')\npython t.py ${ARGS[@]}", {"--x": ("a", "b")}),
        ('ARGS=(--lr 1 --x "a b")\npython t.py "${ARGS[@]}"', {"--lr": "1", "--x": "a b"}),
        ("ARGS='--lr 1'\nARGS+=' --fp16'\npython t.py $ARGS", {"--lr": "1", "--fp16": True}),
        ("A=(--a 1)\nA+=(--b 2)\npython t.py ${A[*]} --n ${#A[@]}", {"--a": "1", "--b": "2"}),
        ("GPUS=0,1,2\npython t.py --g ${GPUS//,/:} --first ${GPUS%%,*}", {"--g": "0:1:2"}),
        ("X=(3 4)\npython t.py --x ${X[1]} --y $X", {"--x": "4", "--y": "3"}),
        ("CMD='python t.py --a 1'\n$CMD --b 2", {"--a": "1", "--b": "2"}),
        ("CMD=\"python t.py --a '1 2'\"\neval $CMD", {"--a": "1 2"}),
        ('f() { python t.py --lr $1 "${@:2}"; }\nf 3e-5', {"--lr": "3e-5"}),
        (
            'run() { local lr=$1; shift; python t.py --lr $lr "$@"; }\nrun 1 --b 2',
            {"--lr": "1", "--b": "2"},
        ),
        ("set -- 5 6\npython t.py --a $1 --b $2", {"--a": "5", "--b": "6"}),
        ("python t.py --lr 1 > log.txt 2>&1 &", {"--lr": "1"}),
        ("python t.py --lr 1 | tee log --append", {"--lr": "1"}),
        ("for lr in 3; do python t.py --lr $lr; done", {"--lr": "3"}),
        ('if [ -n "a" ]; then X=1; else X=2; fi\npython t.py --x $X', {"--x": "1"}),
        ("P=fp16\nif [[ $P == fp16 ]]; then F=--fp16; fi\npython t.py $F", {"--fp16": True}),
        ("N=3\nif [ $N -gt 2 ] && true; then F=--many; fi\npython t.py $F", None),
        ("M=b\ncase $M in a) X=1;; b|c) X=2;; esac\npython t.py --x $X", {"--x": "2"}),
        ('[ -z "$Q" ] || true\nR=1\n[ "$R" = 1 ] && S=--s\npython t.py $S', {"--s": True}),
        ("python t.py --neg -1e-3 --list 1 2 3", {"--neg": "-1e-3", "--list": ("1", "2", "3")}),
        ("python t.py trainer.precision=16 +x.y=2", {"trainer.precision": "16", "x.y": "2"}),
        ("(cd sub; python t.py --a 1)", {"--a": "1"}),
        ("cat <<EOF\npython other.py --b 2\nEOF\npython t.py --a 1", {"--a": "1"}),
        ("bash -c 'python t.py --a 1'", {"--a": "1"}),
        ("A=7\nbash <<X\npython t.py --a $A\nX\n", {"--a": "7"}),
        ("sbatch <<'X'\n#!/bin/bash\npython t.py --a 7\nX\n", {"--a": "7"}),
        ('D=$(dirname "$0")\npython $D/t.py --a 1', {"--a": "1"}),
        ("# python old.py --x 1\npython t.py --a 1 # --b 2", {"--a": "1"}),
        ("exit 0\npython never.py\n", None),
    ],
)
def test_flags(text: str, expected: dict[str, object] | None) -> None:
    if expected is None:
        assert len(shell(text).commands) <= 1
        return
    found = flags(text)
    assert {name: found.get(name) for name in expected} == expected


def test_nothing_after_exit_is_reached() -> None:
    assert shell("python a.py\nexit 1\npython b.py\n").commands[0].program == "a.py"
    assert len(shell("python a.py\nexit 1\npython b.py\n").commands) == 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("python t.py --lr $LR", "the variable LR is not set in this script"),
        ("python t.py --lr $1", "given to the script when it is started"),
        ("for lr in 1 2; do python t.py --lr $lr; done", "a loop over 1, 2"),
        ("X=$(date)\npython t.py --lr $X", "the output of a command"),
        ("if [ $1 = a ]; then L=1; else L=2; fi\npython t.py --lr $L", "it depends on a condition"),
        ("read LR\npython t.py --lr $LR", "it is read from input"),
        ("i=0\nwhile true; do i=$((i+1)); python t.py --lr $i; done", "a loop changes it"),
        ("python t.py --lr ${!NAME}", "not understood"),
    ],
)
def test_what_cannot_be_known_says_why(text: str, reason: str) -> None:
    fact = next(f for f in command(text).flags if f.expression == "--lr")
    assert not fact.known
    assert reason in fact.reason


def test_words_that_the_caller_gives_stay_unknown() -> None:
    found = command('python t.py --lr 1 "$@"').flags
    assert [f.expression for f in found] == ["--lr", "$@"]
    assert not found[1].known


def test_a_flag_that_a_condition_chooses() -> None:
    found = command("if [ $1 ]; then F='--amp x'; else F='--amp y'; fi\npython t.py $F").flags
    assert {f.expression for f in found} == {"--amp"}
    assert all(not f.known for f in found)


def test_both_branches_start_programs_with_their_conditions() -> None:
    commands = shell("if [ $1 ]; then python a.py --x 1; else python b.py; fi").commands
    assert [started.program for started in commands] == ["a.py", "b.py"]
    assert commands[0].flags[0].under == ("[ $1 ]",)


def test_a_value_names_its_variable_and_its_use() -> None:
    fact = command("LR=1e-4\n\npython t.py \\\n  --lr $LR\n").flags[0]
    assert [place.line for place in fact.places] == [4, 1]
    assert fact.origin == "shell_variable"


def test_lines_within_a_quoted_text_keep_their_places() -> None:
    fact = command('ARGS=" \\\n --a 1 \\\n --b 2 \\\n"\npython t.py $ARGS\n').flags[1]
    assert fact.expression == "--b"
    assert fact.places[0].line == 3


def test_a_joined_line_end_without_blank_glues_words() -> None:
    text = "V=1\npython t.py --a ${V}\\\n--b 2\n"
    assert flags(text) == {"--a": ("1--b", "2")}
    assert codes(shell(text)) == ["CC931"]


def test_indented_lines_are_not_glued() -> None:
    text = "python t.py --a true\\\n   --b 2\n"
    assert flags(text) == {"--a": "true", "--b": "2"}
    assert codes(shell(text)) == []


def test_exported_and_prefixed_variables() -> None:
    found = command("export A=1 B\nB=2\nC=3\nD=4 python t.py\n").environment
    assert {f.expression: f.value for f in found} == {"A": "1", "B": "2", "D": "4"}


def test_windows_line_ends_are_told_and_read() -> None:
    found = shell("LR=1\r\npython t.py --lr $LR\r\n")
    assert codes(found) == ["CC932"]
    assert found.commands[0].flags[0].value == "1"
