"""The machine and Python give the same, in every domain; hostile programs end."""

from __future__ import annotations

import re
import textwrap
import time

import pytest

from crosscast_reading.lint.answers.supposed import truth
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.values.value import Known
from machines import DOMAINS, NO_ANSWER, computed_by_python, function, is_same, module_of

EXPRESSIONS = [
    *("1 + 2 * 3", "7 // 2, 7 % 4, -7 // 2, -7 % 4", "2 ** 10", "1 / 4", "1 << 4 | 1 & 3 ^ 2"),
    *("-3, +3, ~3, not 3, not 0", "1 < 2 < 3", "1 < 2 > 5", "3 > 2 > 5 > 1 / 0", "2 == 2.0"),
    *("1 and 2", "0 and 1 / 0", "0 or [] or 'x'", "'' or None", "1 or 1 / 0", "not (1 and [])"),
    *("3 in [1, 2, 3]", "'a' in 'cat'", "'k' in {'k': 1}", "1 not in (2, 3)", "None is None"),
    *("1 is None", "[] is not None", "'yes' if 2 > 1 else 1 / 0", "1 / 0 if 0 else 'no'"),
    *("f'{1}-{\"a\"}-{None}-{2.5}'", "[1, 2, 3][0]", "[1, 2, 3][-1]", "'abc'[1]", "(1, 2)[1:]"),
    *("[1, 2, 3, 4][1:3]", "[1, 2, 3, 4][::2]", "'abcd'[::-1]", "{'a': {'b': 2}}['a']['b']"),
    *("[*[1, 2], 3, *(4, 5)]", "(*'ab', 'c')", "{**{'a': 1}, 'a': 2}", "{1, 2} == {2, 1}"),
    *("len([1, 2]), len('abc'), len({'a': 1})", "max(1, 3, 2), min([4, 2])", "sum([1, 2, 3])"),
    *("sum([1, 2], start=10)", "sum([[1], [2]], [])", "sorted([3, 1, 2], reverse=True)"),
    *("max([], default=7)", "abs(-3), round(2.567, 1), round(2.5)", "int('ff', 16)", "int('12')"),
    *("float('1e3'), int(2.9), bool([])", "str(1.5), str(None), str([1, 'a'])", "pow(2, 5)"),
    *("list(range(2, 8, 3))", "list(enumerate('ab', 1))", "list(enumerate(['a'], start=3))"),
    *("list(zip([1, 2], 'ab'))", "list(reversed([1, 2]))", "any([0, 3]), all([0, 3])", "all([])"),
    *("[i * i for i in [1, 2, 3] if i != 2]", "[(i, j) for i in [1, 2] for j in [i, 5] if j > 1]"),
    *("{i: i + 1 for i in [1, 2]}", "sum(i for i in [1, 2])", "[[j for j in [i]] for i in [1]]"),
    *("(lambda n, k=2: n * k)(3)", "(lambda *a, **k: (a, k))(1, 2, z=3)", "[y := 3, y + 1]"),
    *(
        "'a,b'.split(',')",
        "'{}-{}'.format(1, 'b')",
        "' x '.strip().upper()",
        "'-'.join(['a', 'b'])",
    ),
    *("{'a': 1}.get('b', 4)", "list({'a': 1}.items())", "[1, 2, 1].count(1)", "[3, 4].index(4)"),
    *("[1] + [2] * 2", "'ab' * 2 + 'c'", "'%s=%s' % ('a', 1)", "(1, 2) < (1, 3)", "[1] == [1.0]"),
    *("True + 1", "1 == True", "{1: 'a'}[True]", "{'a': 1} == {'a': 1.0}", "'b' > 'a'"),
]


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expressions(text: str, domain: str) -> None:
    program = f"def f():\n    return {text}\n"
    assert is_same(DOMAINS[domain](program), computed_by_python(program))


OPEN_IN_EVERY_RUN = re.compile(
    r"\bfor\b|lambda|range|zip|enumerate|reversed|items|all|count|index"
    r"|start=|reverse=|default=|1 / 0|\*'"
)
"""What `evaluate` leaves to a run."""


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expressions_in_every_run(text: str) -> None:
    module = module_of(f"x = {text}\n")
    value = evaluate(module.tree.body[0].value, module)  # type: ignore[attr-defined]
    if isinstance(value, Known):
        assert is_same(value.value, computed_by_python(f"def f():\n    return {text}\n"))
    else:
        assert OPEN_IN_EVERY_RUN.search(text), value


STATEMENTS = {
    "assignments": """
        x = y = [1]
        x.append(2)
        (a, b), *rest = (1, 2), 3, 4
        [c, *middle, d] = [1, 2, 3, 4]
        e: int = 5
        f: int
        return x, y, a, b, rest, c, middle, d, e""",
    "a list is changed in place": """
        x = [1]
        y = x
        x += [2]
        y.extend((3, 4))
        x[0] = 9
        x.insert(1, 'n')
        return y, x.pop(), y""",
    "a number is not": """
        x = 1
        y = x
        x += 2
        x -= 4
        x *= 3
        return x, y""",
    "entries": """
        d = {'a': [1]}
        d['b'] = 2
        d['a'] += [3]
        d.update({'c': 4}, e=5)
        d.setdefault('f', 6)
        return d, d.pop('b'), list(d), list(d.values())""",
    "containers that hold themselves": """
        d = {}
        d['d'] = d
        x = [d]
        x.append(x)
        return d, x""",
    "loops": """
        total = 0
        for i in range(10):
            if i == 2:
                continue
            if i == 6:
                break
            total += i
        else:
            total = -1
        for i in []:
            total = -2
        else:
            total += 100
        while total < 200:
            total += 30
            if total > 170:
                break
        else:
            total = -3
        while total < 0:
            pass
        else:
            total += 1000
        return total, i""",
    "loops in each other": """
        found = []
        for i, (a, b) in enumerate([(1, 2), (3, 4)]):
            for j in range(3):
                if j == 2:
                    break
                found.append((i, a, b, j))
        for key, value in {'x': 1, 'y': 2}.items():
            found.append(key * value)
        for key in {'z': 1}:
            found.append(key)
        for letter in 'ab':
            found.append(letter)
        return found""",
    "a list that grows while a loop runs over a copy": """
        x = [1, 2]
        for i in list(x):
            x.append(i + 2)
        return x""",
    "conditions": """
        x = None
        if x is None:
            x = 3
        elif 1 / 0:
            pass
        if x > 5:
            return 'large'
        elif x > 2:
            y = 'middle'
        else:
            y = 'small'
        return y""",
    "functions": """
        def g(a, /, b, *c, d=4, **e):
            return a, b, c, d, e
        def fib(n):
            return n if n < 2 else fib(n - 1) + fib(n - 2)
        def counter():
            seen = []
            def add(n):
                seen.append(n)
                return len(seen)
            return add
        add = counter()
        add(5)
        both = [1, 2, 3], {'d': 7, 'z': 8}
        applied = [h(2) for h in [lambda n: n + 1]]
        return g(1, 2), g(*both[0], **both[1]), fib(7), add(6), applied""",
    "variables of a comprehension stay inside": """
        i = 'outer'
        x = [i for i in [1, 2]]
        y = [last := j for j in [3, 4]]
        return i, x, y, last""",
    "a function sees what its names are when it is called": """
        x = 1
        def g():
            return x
        x = 2
        return g()""",
    "nothing is returned": "x = 1",
    "what has no effect": """
        x = 1
        'text'
        assert x, 'a statement of this program, which no test makes'
        import math
        pass
        return x""",
    "a block": """
        with open('x') as file:
            x = 3
        return x""",
}


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("name", STATEMENTS)
def test_statements(name: str, domain: str) -> None:
    program = function(textwrap.dedent(STATEMENTS[name]))
    expected = computed_by_python(program) if name != "a block" else 3
    assert is_same(DOMAINS[domain](program), expected)


UNSURE = {
    "a round that may end the loop": """
        total = 0
        for i in [1, 2, 3]:
            if unknown:
                break
            total += i
        return total""",
    "a round that may be skipped": """
        total = 0
        for i in [1, 2, 3]:
            if unknown:
                continue
            total += i
        return total""",
    "a loop that may return": """
        for i in unknown:
            return 1
        return 2""",
    "a list that may grow": """
        x = [1]
        if unknown:
            x.append(2)
        return len(x)""",
    "a list that may grow under another name": """
        x = [1]
        def g():
            if unknown:
                x.append(2)
        g()
        y = x
        return y""",
    "an entry that may change": """
        x = [1]
        if unknown:
            x[0] = 2
        return x[0]""",
    "an entry that is not known": """
        x = [1, 2]
        x[unknown] = 3
        return x""",
    "a list that grows by what is not known": """
        x = [1]
        x.extend(unknown)
        return x""",
    "a list that loses what is not known": """
        x = [1, 2]
        x.pop(unknown)
        return x""",
    "a sorted list": """
        x = [2, 1]
        x.sort(key=unknown)
        return x""",
    "a name of a block": """
        x = 1
        with unknown() as x:
            pass
        return x""",
    "a part that is not known": "return [1, unknown] == [1, 2]",
    "a part that may be the same": "return 3 in [1, unknown]",
    "and": "return bool(0 + unknown and 1)",
    "or": "return (unknown or 1) == 1",
    "a text with an unknown part": "return f'{unknown}'",
    "a list as a text": "return str([unknown])",
    "the largest": "return max([1, unknown], key=unknown)",
    "a key that is not used": "return sorted([2, 1], key=lambda n: -n)",
    "a generator": """
        def g():
            yield 1
        return g() is None""",
    "a coroutine": """
        async def g():
            return 1
        return g() == 1""",
    "a match": """
        x = 1
        match x:
            case 1:
                x = 2
        return x == 1""",
    "an error that is caught": """
        x = 1
        try:
            x = 2
        except ValueError:
            x = 3
        return x == 1""",
    "two values for a parameter": """
        def g(a, b=1):
            return a
        return g(1, a=2)""",
    "an argument too many": """
        def g(a):
            return a
        return g(1, 2)""",
    "an order that differs between runs": "return list({'a', 'b', 'c'})",
    "a text that differs between runs": "return str({'a', 'b', 'c'})",
    "one object": "return [1] is [1]",
}


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("name", UNSURE)
def test_what_is_not_sure_has_no_answer(name: str, domain: str) -> None:
    found = DOMAINS[domain](function(textwrap.dedent(UNSURE[name])))
    assert found is NO_ANSWER or (name == "one object" and found is False)


HOSTILE = {
    "a power": "return 10 ** 10 ** 10",
    "a power of a power": "return (((9 ** 99) ** 99) ** 99) ** 99",
    "a shift": "return 1 << 10 ** 9",
    "a long text": "return 'a' * 10 ** 9",
    "a long list": "return [0] * 10 ** 9",
    "bytes": "return b'a' * 10 ** 9",
    "a width": "return '%999999999d' % 1",
    "a given width": "return '%*d' % (999999999, 1)",
    "a width in bytes": "return b'%999999999d' % 1",
    "a format": "return '{:999999999}'.format(1)",
    "an f-string": "return f'{1:999999999}'",
    "a place": "return round(5, -(10 ** 9))",
    "a product": "return math.prod([2 ** 1000] * 20000)",
    "joined": "return 'b'.join(['a' * 20000] * 20000)",
    "replaced": "return ('a' * 20000).replace('a', 'b' * 20000)",
    "lists that are joined": "return sum([[0] * 20000] * 20000, [])",
    "a list as a text": "return str([['a' * 20000] * 20000] * 20000)",
    "a range": "return list(range(10 ** 12))",
    "a long range": "return len(range(10 ** 30))",
    "an array": "return np.zeros(10 ** 12)",
    "doubled": "x = [0]\nfor i in range(100):\n    x += x\nreturn x",
    "doubled by a method": "x = [0]\nfor i in range(100):\n    x.extend(x)\nreturn x",
    "nested": "x = [0]\nfor i in range(100):\n    x = [x, x]\nreturn x == [x]",
    "nested twice": "x = y = [0]\nfor i in range(60):\n    x, y = [x, x], [y, y]\nreturn x == y",
    "nested as a text": "x = [0]\nfor i in range(100):\n    x = [x, x]\nreturn str(x)",
    "deep": "x = []\nfor i in range(15000):\n    x = [x]\nreturn x == [x]",
    "a list in itself": "x = []\nx.append(x)\nreturn x == [x]",
    "an endless loop": "while True:\n    pass",
    "loops in loops": "for i in range(20000):\n    for j in range(20000):\n        pass",
    "comparisons": "x = y = [[0] * 9999] * 9\nfor i in range(9999):\n    z = x == [*y]\nreturn z",
    "a comprehension": "return [0 for i in range(9999) for j in range(9999) for k in range(9999)]",
    "a recursion": "def g(n):\n    return g(n + 1)\nreturn g(0)",
    "a deep recursion": "def g(n):\n    return "
    + "(" * 60
    + "g(n + 1)"
    + " + 1)" * 60
    + "\nreturn g(0)",
    "two recursions": "def g(n):\n    return g(n - 1) + g(n - 1) if n else 1\nreturn g(39)",
    "a function of itself": "g = lambda h: h(h)\nreturn g(g)",
}


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_function_has_no_answer_in_a_short_time(name: str, domain: str) -> None:
    program = f"import math\nimport numpy as np\n\n{function(HOSTILE[name])}"
    began = time.process_time()
    assert DOMAINS[domain](program, steps=20_000) is NO_ANSWER
    assert time.process_time() - began < 20


@pytest.mark.parametrize("name", [name for name, body in HOSTILE.items() if "\n" not in body])
def test_a_hostile_expression_has_no_value_in_any_run(name: str) -> None:
    text = HOSTILE[name].removeprefix("return ")
    module = module_of(f"import math\nx = {text}\nif {text}:\n    pass\n")
    began = time.process_time()
    assert not isinstance(evaluate(module.tree.body[1].value, module), Known)  # type: ignore[attr-defined]
    assert truth((module.tree.body[2].test, module), {}) is None  # type: ignore[attr-defined]
    assert time.process_time() - began < 20
