"""Values of flags that a script does not settle are left open, never taken from one of the ways."""

from __future__ import annotations

import pytest

from reading_helpers.reader_texts import codes, command, flags, shell

LONG = "x" * 60_000

OPEN = (
    # arithmetic that bash refuses, wraps around or reads in another base
    "python t.py --a $((2 ** 63)) --b $((2 ** -1)) --c $((1 << 64)) --d $((4 / 0)) --e $((4 % 0))",
    "python t.py --a $(expr \\( 1 2) --c $((010 + 1))",
    f"python t.py --a $((1{' + 1' * 200})) --b $(({'(' * 190}1{')' * 190}))",
    "python t.py --a $((99999999999999999999)) --b $(expr 7 : x) --c $(expr $Q + 1)",
    "A=08\nB=3x\nC=(1 2)\npython t.py --a $((A)) --b $((B)) --c $((C))",
    # what counts and reads changes
    "i=0\n((++i))\npython t.py --a $i",
    "i=0\n((i++))\npython t.py --a $i --b $((++i)) --c $((i))",
    "i=0\nj=0\nlet i+=2 'j = 3'\npython t.py --a $i --b $j",
    "i=0\n((i += 2)) || true\nif ((j++)); then :; fi\npython t.py --a $i --b $j",
    "x=1\nmapfile y < f\nprintf -v x %d 3\npython t.py --a $x --b $y",
    "x=1\nwhile getopts 'a:' x; do :; done\npython t.py --a $x",
    "x=1\nwhile read -r x; do python t.py --a $x; done",
    "A=(1 2)\nA[1]=5\npython t.py --a ${A[1]} --b ${A[@]}",
    "i=0\nwhile true; do python t.py --a $i --b $n; n=$((i++)); done",
    "a=1 b=2 c=3\nfor x in 1 2; do python t.py --a $a --b $b --c $c; a=4; let b++; ((c++)); done",
    "for ((i=0; i<3; i++)) { python t.py --a $i; }",
    # expansions
    "python t.py --a ${=X} --b ${} --c ${!X} --d ${X@Q} --e ${Q%.*}",
    "F=a.b\nS=.b\npython t.py --a ${F%$S} --b ${F%`echo .b`} --c ${F^} --d ${F@Q}",
    "X=(3 4)\npython t.py --a ${X[2]} --b ${X[-3]} --c ${#X[0]} --d ${#X} --e ${X[$Q]}",
    "X=3\nV=$(date)\npython t.py --a ${X[1]} --b ${V%.*} --c ${#V}",
    "X=(3 $Q)\npython t.py --a ${#X[@]} --b ${#Q}",
    "V=$(date)\npython t.py --a ${V:+x} --b ${U:+x} --c ${V:-x}",
    f"X={'y' * 501}\nA={LONG}\nB=$A$A\npython t.py --a ${{X%y}} --b $B",
    "python t.py --a x{1..3} --b $(echo -e 'a') --c $(echo a | wc -l) --d $(a; b) --e $(</x)",
    "G=\nN=$(echo \"$G\" | awk -F, '{print NF}')\npython t.py --a $N",
    "N=$(printf 0,1 | awk -F, '{print NF}')\nM=$(echo 0 1 | tr ',' '\\n' | wc -l)\n"
    "python t.py --a $N --b $M --c $(echo $Q | grep -o , | wc -l)",
    "f() { shift $K; python t.py --a $1; }\nf 1 2",
    "shift\npython t.py --a $1 --b $#",
    "f() { python t.py --a $0 --b $(echo $Q); }\nf 1",
    'for f in "$@"; do python t.py --a $f; done',
    "A=x\n" + "A=$A$A\n" * 12 + "python t.py --a $A",
    # conditions
    "A=1\n[ -f x ] && A=2\nB=1\n[[ x == $Q ]] && B=2\nC=1\n[[ 3 -gt $Q ]] && C=2\n"
    "python t.py --a $A --b $B --c $C",
    "V=abc\nA=1\n[[ $V == a* ]] && A=2\nB=1\n[[ $V =~ b ]] && B=2\nC=1\n[ 3 -gt x ] && C=2\n"
    "python t.py --a $A --b $B --c $C",
    'A=1\n[ -z $Q -a "$R" ] && A=2\nB=1\n[ $Q ] && B=2\nC=1\n[ ] && C=2\n'
    "python t.py --a $A --b $B --c $C",
    "N=3\nA=1\n((N > 5)) && A=2\nB=1\ntest -f x && B=2\nC=1\ntest 1 -eq $Q && C=2\n"
    "python t.py --a $A --b $B --c $C",
    "M=b\ncase $M in $1) A=1;; *) A=2;; esac\npython t.py --a $A",
    "case $1 in x) A=1;; *) A=2;; esac\npython t.py --a $A",
    "A=1\nif [ $1 ]; then A=(1 2); fi\npython t.py --a $A",
    "A=1\nif [ $1 ]; then A=$Q; fi\npython t.py --a $A",
    "for lr in 1 $2; do python t.py --a $lr; done",
)


@pytest.mark.parametrize("text", OPEN)
def test_left_open(text: str) -> None:
    found = {fact.expression: fact for fact in command(text).flags}
    asked = {word for word in text.split() if word.startswith("--")}
    assert asked
    assert {name for name in asked if found[name].known} == set()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("for lr in 1 $2; do python t.py --a $lr; done", "a loop"),
        ("for lr in 1 2; do python t.py --a $lr; done", "a loop over 1, 2"),
        ("A=1\nif [ $1 ]; then A=2; fi\npython t.py --a $A", "it depends on a condition: [ $1 ]"),
        ("[ $1 ] || A=2\nA=1\n[ $1 ] || A=2\npython t.py --a $A", "condition: not [ $1 ]"),
        (
            "if [ $1 ]; then :; elif [ $2 ]; then A=2; else A=3; fi\nB=$A\npython t.py --a $B",
            "it depends on a condition: [ $1 ]",
        ),
        ("Q=$(date)\npython t.py --a $((Q + 1))", "the output of a command"),
        ("python t.py --a $#", "given to the script when it is started"),
        ("python t.py --a $((Q + 1))", "arithmetic with unknown parts"),
    ],
)
def test_the_reason(text: str, reason: str) -> None:
    assert flags(text)["--a"].rpartition(": ")[2] in reason
    assert reason in flags(text)["--a"]


def test_options_that_may_be_flags_are_no_value() -> None:
    text = "F=--amp\nif [ $1 ]; then F='--fp16 --x 1'; fi\npython t.py --a $F --b $EXTRA_ARGS\n"
    assert flags(text)["--a"] is True
    assert flags(text)["--b"] is True
    assert flags(text)["--amp"].startswith("? --amp: it depends")
    text = "F=1\nif [ $1 ]; then F=; fi\npython t.py --a $F\n"
    assert flags(text)["--a"].startswith("? ${F}")


def test_a_text_with_a_flag_and_its_value_holds_the_value_itself() -> None:
    text = "A='--a 1'\nB='--b 1.x'\nC=1\npython t.py $A ${B%.x} --c $C --d 1 --e x$C\n"
    origins = {fact.expression: fact.origin for fact in command(text).flags}
    expected = {"--a": "literal", "--b": "derived", "--c": "shell_variable", "--d": "literal"}
    assert origins == expected | {"--e": "shell_variable"}


def test_overrides_after_a_flag_are_settings_of_their_own() -> None:
    found = flags("python t.py --config-name base lr=0.1 +x=2 --y k=3\n")
    assert found == {"--config-name": "base", "lr": "0.1", "x": "2", "--y": "k=3"}


@pytest.mark.parametrize(
    "text",
    [
        "if ! python t.py --a 1; then exit 1; fi",
        "until python t.py --a 1; do sleep 1; done",
        "! python t.py --a 1 || exit 1",
        "X='eval $X'\neval $X\npython t.py --a 1",
        "f() { python t.py --a 1; }\nf",
        "(exit 1)\npython t.py --a 1",
        "{ python t.py --a 1; } 2>&1 | tee log",
        "cat <<X\nX\npython t.py --a 1",
        "if [ $1 ]; then exit 1; fi\npython t.py --a 1",
        "case $1 in -h) exit;; esac\npython t.py --a 1",
        "sbatch job.sh <<X\npython never.py\nX\npython t.py --a 1",
        "bash run.sh -c 'python never.py'\npython t.py --a 1",
        "n=1\nfor x in 1; do { echo n=2; python t.py --a $n; }; done",
    ],
)
def test_the_only_program(text: str) -> None:
    assert command(text).program == "t.py"
    assert flags(text) == {"--a": "1"}


@pytest.mark.parametrize(
    "text",
    [
        "exit 0 || true\npython t.py --a 1",
        "exit 1 && true\npython t.py --a 1",
        "if [ $1 ]; then exit 1; else exit 2; fi\npython t.py --a 1",
        "case $1 in x) exit;; *) exit 1;; esac\npython t.py --a 1",
    ],
)
def test_nothing_is_reached(text: str) -> None:
    assert shell(text).commands == ()


def test_what_depends_on_a_condition() -> None:
    text = (
        "make data && python a.py\n[ $1 ] && python b.py\n[ $1 ] || python c.py\n"
        "(($1)) && python d.py --x\nmake data || python e.py --x\n"
        "case $1 in a|b) python f.py --x;; esac\ncase b in $1) :;; b) python g.py --x;; esac\n"
        "if [ $1 ]; then :; elif true; then python h.py --x; fi\n"
    )
    found = {c.program: c for c in shell(text).commands}
    assert found.keys() == {"a.py", "b.py", "c.py", "d.py", "e.py", "f.py", "g.py", "h.py"}
    under = {name[0]: found[name].flags[0].under for name in ("e.py", "f.py", "g.py", "h.py")}
    assert under == {
        "e": ("not make data",),
        "f": ("$1 is a or b",),
        "g": ("b is b",),
        "h": ("true",),
    }
    assert found["d.py"].flags[0].under == ("(($1))",)


def test_what_is_exported() -> None:
    text = (
        "declare -x A=1\ndeclare max=1\nexport I\nI=(1 2)\ndeclare -i B=2\nexport C\n"
        "D=(1 2)\nexport D\n"
        "C=3\nexport E=4 F=(5)\n"
        "G=6 H=(7) python t.py\n"
    )
    found = {f.expression: f.value for f in command(text).environment}
    assert found == {"A": "1", "C": "3", "E": "4", "G": "6", "H": ""}


def test_requests_of_slurm() -> None:
    text = "#SBATCH --ntasks-per-node=4\n#SBATCH --gpus-per-node=3\n#SBATCH --gres=shard:2\n"
    found = command(f"{text}srun python t.py --n $SLURM_NTASKS --g $SLURM_GPUS_ON_NODE\n")
    assert found.processes is not None
    assert found.processes.value == 4
    assert {f.expression: f.value for f in found.flags} == {"--n": None, "--g": "3"}
    text = "#SBATCH -N 2\n#SBATCH -n 6\n#SBATCH --ntasks-per-node=4\n"
    assert flags(f"{text}srun python t.py --n $SLURM_NTASKS\n") == {"--n": "6"}


def test_line_ends() -> None:
    assert codes(shell("A=1\npython t.py --a 1\r\n")) == []
    assert codes(shell("python t.py --a x\\\ny\n")) == []


def test_there_is_an_end_of_commands() -> None:
    text = "".join(f"python t{number}.py\n" for number in range(120))
    assert len(shell(text).commands) == 100
    assert shell(":\n" * 20_100 + "python t.py\n").commands == ()
