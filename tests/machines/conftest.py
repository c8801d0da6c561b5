"""Captured machines as directories: each is unpacked once for all tests, which is what takes long."""

import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.machines.captured import archive


@pytest.fixture(scope="session")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The directory that is the root of a captured machine, by the machine's name."""
    place = tmp_path_factory.mktemp("machines")

    def unpack(name: str) -> Path:
        if not (place / name).exists():
            with tarfile.open(archive(name)) as captured:
                captured.extractall(place / name, filter="tar")
        (root,) = (place / name).iterdir()
        return root

    return unpack
