"""Roots of a test's own, and its own network namespaces."""

import os
import resource
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from numapin.sources.captured import DirectoryRoot
from tests.nvml.driver import build as build_driver
from tests.sources.trees import Machine, Tree, build, write_files


@pytest.fixture(autouse=True)
def no_options(monkeypatch):
    """Options that whoever runs the tests has set as variables are not the tests'."""
    for name in [name for name in os.environ if name.startswith("NUMAPIN_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """Make a root of just these files and links."""

    def make(files, links=None):
        return DirectoryRoot(str(write_files(tmp_path, files, links)))

    return make


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """Make a root of a machine's lines, with files and links over it."""

    def make(*lines, files=None, links=None):
        return build(tmp_path, *lines, files=files, links=links)

    return make


@pytest.fixture
def little_memory():
    """At most 2 GiB for this process: what a hostile number makes it ask for is refused, not taken from the machine."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, hard))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@pytest.fixture
def quickly():
    """Five seconds: what runs in circles is stopped, and fails."""

    def stop(*_):
        raise TimeoutError("still running after five seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 5)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="session")
def library(tmp_path_factory) -> Path:
    """The tests' own NVIDIA driver library, compiled once."""
    return build_driver(tmp_path_factory.mktemp("nvml"))


@pytest.fixture(scope="session")
def namespaces() -> None:
    """What tests with interfaces of their own need of the machine; CI must have it."""
    lacking = [f"{tool} is not installed" for tool in ("unshare", "ip") if not shutil.which(tool)]
    if not lacking:
        made = subprocess.run(["unshare", "-mn", "true"], capture_output=True, text=True, check=False)
        lacking += [made.stderr.strip()] if made.returncode else []
    if not lacking:
        return
    reason = f"no network namespaces here: {', '.join(lacking)}"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)
