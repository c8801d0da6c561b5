"""Real containers: podman and runc, the image that our Dockerfile makes, the kernel of this machine."""

import os

import pytest

from tests.containers import images
from tests.containers.runtime import Cpu, missing_tools


@pytest.fixture(scope="session")
def runtime() -> None:
    """What a container test needs of the machine. CI must have it; by hand it may be lacking, and that is said."""
    lacking = [f"{tool} is not installed" for tool in missing_tools()]
    if os.geteuid() != 0:
        lacking.append("not root")
    if os.cpu_count() == 1:
        lacking.append("a container cannot be kept to the second CPU of a machine that has one")
    if not lacking:
        return
    reason = f"no containers here: {', '.join(lacking)} (tools/setup tests installs what is missing)"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def base(runtime) -> str:
    """The image without numapin: what the server sees by itself."""
    return images.debian(images.BASE)


@pytest.fixture(scope="session")
def image(base, builder) -> str:
    """The image that the Dockerfile makes of base, with this checkout in it."""
    return images.numapin(base, builder)


@pytest.fixture(scope="session")
def builder(runtime) -> str:
    """The image in which the Dockerfile compiles."""
    return images.debian(images.BUILDER)


@pytest.fixture(scope="session")
def cpu(runtime) -> Cpu:
    """The CPU that containers are kept to: the last that this process may use, so that it is not simply the first."""
    return Cpu.of(max(os.sched_getaffinity(0)))
