"""The words that a program gets here are those that bash passes."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from reading_helpers.reader_texts import flags

SCRIPTS = (
    "python t.py --a 1 \\\n --b '2 3'\\\n --c",
    "A=1\npython t.py --a ${A}\\\n--b x",
    "X='p  q'\npython t.py --a $X --b \"$X\"",
    "ARGS=(--a 'x y' --b)\npython t.py ${ARGS[@]} --c \"${ARGS[@]}\"",
    'A=(1 2 3)\npython t.py --a ${A[1]} --n ${#A[@]} --s ${A[*]} --q "${A[*]}"',
    "F=dir/name.tar.gz\npython t.py --a ${F##*/} --b ${F%.*} --c ${F%%.*} --d ${F#*/}",
    "F=dir/name.tar.gz\npython t.py --e ${F/name/x} --f ${F//a/b} --g ${F/[a-m]/}",
    "N=5\npython t.py --a $((N * 2 - 3 % 2)) --b $(( N / 2 )) --c $((-7 / 2)) --d $((2**3+1))",
    "python t.py --a 1 --b 2 \\ #junk word\n",
    "python t.py --a 1 \\ \n",
    "E=\nU=1\npython t.py --a ${E:-d} --b ${E-d}x --c ${U:+alt} --d ${E:+alt}x",
    "python t.py --a \"quote \\\" \\$X \\\\\" --b 'single \\n' --c $'tab\\x' --d a\\ b",
    "f() { python t.py --n $# --a \"$@\" --b $2; }\nf 1 '2 3' 4",
    "X='--a 1 --b \"2 3\"'\neval python t.py $X",
    "if [ 3 -gt 2 ]; then V=yes; else V=no; fi\npython t.py --a $V",
    "V=yes\n[[ $V == yes && -n x ]] && W=w\n[[ $V != yes || -z x ]] || Y=y\npython t.py $W $Y",
    "V=abc\nV+=def\npython t.py --a ${V:1:3} --b ${#V} --c ${V^^}",
    'set -- x y z\nshift\npython t.py --a $1 --b "$*"',
    "case a.py in *.sh) M=1;; *) M=2;; esac\npython t.py --a $M",
    'run() { local A=$1; shift; python t.py --x $A "$@"; }\nrun 1 --b 2 3',
    "python t.py --a 1 2>/dev/null # --b 2",
    "G=0,1,2\nN=$(echo $G | tr ',' '\\n' | wc -l)\npython t.py --n $N",
    'export LIST="--a 1 \\\n  --b 2 \\\n"\npython t.py $LIST',
    'A=1 B=2; C="$A-${B}"\npython t.py --a=$C --b="$C x"',
    "python t.py --a $((2 ** 3 ** 2)) --b $((1 + 2 << 3 > 20)) --c $((-(3 - 5) ** 2 % 3))",
    "python t.py --a $((0 == 0)) --b $((4 != 4)) --c $((7 >> 1 <= 2)) --d $((+3>=3))",
    "E=\nU=1\npython t.py --a ${E+set}x ${E:+not} --b ${U+set}",
    'X=(3 4)\npython t.py --a ${X[-2]} --b ${X[1-0]} --c "all: ${X[*]}" --d ${#X[@]}',
    "A=0; B=0; C=0\n[ ! -n '' ] && A=1\n[[ ! ( 3 -ge 4 ) ]] && B=2\nif ! [ a = b ]; then C=3; fi\n"
    "python t.py --a $A --b $B --c $C",
    "A=0; C=0; D=0; E=0\nfalse && A=1\nfalse || A=2\ntest -z '' && C=3\ntest 3 -lt 4 && D=4\n"
    "test 3 = 4 || E=5\n"
    "python t.py --a $A --c $C --d $D --e $E",
    "A=0; B=0; C=0; D=0\n[[ a == a && b == c ]] && A=1\n[[ 3 -eq 4 || 3 -ne 4 ]] && B=1\n"
    "[[ a != b ]] && C=1\n[[ 3 -le 2 ]] || D=1\npython t.py --a $A --b $B --c $C --d $D",
    'E=\npython t.py --a \'\' --b "" $E --c "$E" --d="" --e $\'\' --f',
    "if [ $1 ]; then A=1; else A=1; fi\npython t.py --a $A",
    "if false; then A=1; fi\npython t.py --a 1 <<< x",
    "X+=d\nY+=(1 2)\nY+=(3)\nY+=x\nZ=1\nZ+=(2)\npython t.py --a $X --b ${Y[*]} --c ${Z[@]}",
    "E=\nA=1\npython t.py --a ${A}\\\n$E --b x",
    "E=\n$E\npython t.py --a 1",
    "bash <<'X'\npython t.py --a \\$B\nX",
    "V=$(date)\npython t.py --a ${V+x} --b '$ARGS'",
    'f() { python t.py "$@" --n "$#"; }\nf --a \'\'',
    'f() { python t.py --a "$* x" --b "0 $*"; }\nf 1 2',
    'A=(1 2)\nB="${A[@]} $A"\npython t.py --b "$B"',
    "if [ 1 = 1 ] # always\nthen A=1; else A=2; fi\npython t.py --a $A",
    "A=0\n[ 1 = 2 ] && # so\n A=1\n[[ A ]]\npython t.py --a $A",
    "case b in a|b) A=1;; *) A=2;; esac\npython t.py --a $A",
    "function f { python t.py --a $1 --n $#; }\nf 2 3",
    "f() { shift 2; python t.py --a $1; }\nf 1 2 3",
    "declare -i A=2\ntypeset B=3\nreadonly C=4\npython t.py --a $A --b $B --c $C",
    "X=abc\nY=\nX+=d; python t.py --a $X --b=$Y",
    "export > /dev/null\nenv A=1 > /dev/null\npython t.py --a 1",
    "exec 3>&1\npython t.py --a 1",
    "bash other.sh <<X\npython never.py\nX\nbash --norc -e -c 'python t.py --a 1'",
    'N=$(echo -n 3)\nC=$(echo "0,1" | grep -o , | wc -l)\npython t.py --n $N --c $C',
    "F=a.b\npython t.py --x$'\\t' --y ${F:2} --z ${F,,}",
    "X='eval $Y'\nY='python t.py --a 1'\neval $X",
    "A=1\nunset A\npython t.py --a ${A-2}",
    "while false; do :; done\nfor x in; do :; done\npython t.py --a 1",
    "i=3\n(( i > 2 )) || exit\npython t.py --a $i",
    "python t.py --a x\\\ny --b '${E}' -1 --c -1e-3 -- --d",
    "if true; then A=1; elif false; then A=2; else A=3; fi\npython t.py --a $A",
    "if false; then A=1; elif true; then A=2; fi\npython t.py --a $A",
)


@pytest.mark.parametrize("script", SCRIPTS)
def test_bash_passes_the_same(script: str, tmp_path: Path) -> None:
    stub = tmp_path / "python"
    stub.write_text('#!/bin/bash\nfor one in "$@"; do printf "%s\\0" "$one"; done\n')
    stub.chmod(0o755)
    ran = subprocess.run(
        ["bash", "-c", script],
        capture_output=True,
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
        check=False,
        timeout=60,
    )
    words = ran.stdout.decode().split("\0")[:-1]
    assert words[:1] == ["t.py"], ran.stderr
    assert flags(script) == flags(f"python {shlex.join(words)}")
