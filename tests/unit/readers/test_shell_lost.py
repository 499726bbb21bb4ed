"""Flags that bash never passes on."""

from __future__ import annotations

import pytest

from reading_helpers.reader_texts import codes, command, flags, shell

COMMENT = (
    "python classify.py \\\n  --task pairs \\\n  --use_fp16=true \\ #<- new line\n"
    "  --batch_size 64 \\\n  --learning_rate 3e-5 \\\n  --do_train true\n"
)


def test_a_comment_after_the_backslash_ends_the_command() -> None:
    found = shell(COMMENT)
    assert [f.expression for f in found.commands[0].flags] == ["--task", "--use_fp16"]
    lost = found.diagnostics[0]
    assert lost.code == "CC920"
    assert lost.span is not None
    assert lost.span.line == 3
    assert "comment follows the backslash" in lost.message
    assert "--batch_size, --learning_rate, --do_train" in lost.message
    joined = (
        "python classify.py --task pairs --use_fp16=true --batch_size 64 --learning_rate 3e-5 "
        "--do_train true"
    )
    assert lost.hint == f"in one line: {joined}"
    assert set(flags(joined)) == {
        *("--task", "--use_fp16", "--batch_size", "--learning_rate", "--do_train")
    }


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("python t.py --a 1 \\ \n  --b 2\n", "a blank follows the backslash"),
        ("python t.py --a 1 \\\t\n  --b 2\n", "a blank follows the backslash"),
        ("python t.py --a 1 \\  # why\n  --b 2\n", "a comment follows the backslash"),
        ("python t.py --a 1\n  --b 2\n", "no backslash joins the lines"),
        ("python t.py --a 1 \\\n  # --c 3 \\\n  --b 2\n", "a comment stands between"),
        ("python t.py --a 1 # first\n  --b 2 # second\n  --c 3\n", "comment stands between"),
        ("if true; then\npython t.py --a 1\n  --b 2 > log\nfi\n", "no backslash"),
        ("torchrun t.py --a 1 2>&1 | tee x\n  --b 2\n", "no backslash"),
    ],
)
def test_reasons(text: str, why: str) -> None:
    found = shell(text)
    assert codes(found) == ["CC920"]
    assert why in found.diagnostics[0].message
    assert all(f.expression != "--b" for f in found.commands[0].flags)
    assert "--b 2" in found.diagnostics[0].hint


def test_the_junk_words_are_passed() -> None:
    assert flags("python t.py --a 1 \\ #x y\n") == {"--a": ("1", " #x", "y")}


@pytest.mark.parametrize(
    "text",
    [
        "python t.py --a 1 \\\n  --b 2\n",
        "python t.py --a 1\n\npython u.py --b 2\n",
        "ls -l\n-n 1\n",
        "case $1 in\n  -local) X=1 ;;\nesac\n",
        "cat <<EOF\npython t.py --a 1\n  --b 2\nEOF\n",
        "ARGS=(\n  --a 1\n  --b 2\n)\npython t.py ${ARGS[@]}\n",
        'X="--a 1\n --b 2"\npython t.py $X\n',
    ],
)
def test_nothing_is_lost(text: str) -> None:
    assert "CC920" not in codes(shell(text))


def test_a_text_over_lines_is_divided_at_them() -> None:
    assert flags('X="--a 1\n --b 2"\npython t.py $X\n') == {"--a": "1", "--b": "2"}


def test_an_escaped_blank_within_a_word() -> None:
    assert [f.value for f in command("python t.py --p a\\ b --q 1").flags] == ["a b", "1"]
