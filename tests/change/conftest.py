"""What the tests of changes share: the probe, compiled once."""

import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("probe.c")


@pytest.fixture(scope="session")
def probe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The path of the program that stands in for the server and prints what it was left."""
    made = tmp_path_factory.mktemp("probe") / "probe"
    subprocess.run(["cc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-o", made, SOURCE], check=True)
    return str(made)
