"""Classes of the installed frameworks have the roles that packages give their names."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from crosscast_reading.pysource.libraries.roles import has_role
from crosscast_reading.pysource.libraries.words import Role
from frameworks.subprocesses import require, run_python

PACKAGES = [
    pytest.param("torch", 10, marks=pytest.mark.torch),
    pytest.param("paddle", 10, marks=pytest.mark.paddle),
    pytest.param("keras", 5, marks=pytest.mark.tensorflow),
]


@pytest.mark.parametrize(("package", "least"), PACKAGES)
def test_classes_have_the_role_of_their_base(package: str, least: int) -> None:
    require(package)
    framework = "tensorflow" if package == "keras" else package
    answer = run_python(Path(__file__).parent / "roles.py", framework, package)
    assert min(len(answer["optimizer"]), len(answer["schedule"])) >= least
    wrong = {
        (name, role)
        for right, names in answer.items()
        for name in names
        for role in get_args(Role)
        if has_role(name, role) != (role == right)
    }
    assert wrong == set()
