"""Emulated computers: a test module names its rounds in ROUNDS, and its tests get `seen`, a round's results."""

import os
from collections.abc import Iterator

import pytest

from tests.containers import images
from tests.containers.runtime import missing_tools, podman
from tests.lab.boot import DidNotFinish
from tests.lab.kernels import missing
from tests.lab.rounds import Round, Rounds, Seen


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that asks for `seen` runs once for each round of its module."""
    if "seen" in metafunc.fixturenames:
        metafunc.parametrize("seen", metafunc.module.ROUNDS, ids=str, indirect=True, scope="session")


@pytest.fixture(scope="session")
def rounds(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rounds]:
    """All the rounds that the selected tests want, begun at once."""
    if lacking := missing():
        _cannot(", ".join(lacking))
    rounds = Rounds(tmp_path_factory.mktemp("lab"))
    wanted = [item.callspec.params.get("seen") for item in request.session.items if hasattr(item, "callspec")]
    possible = [one for one in dict.fromkeys(wanted) if isinstance(one, Round) and not one.lacking]
    mounted: list[str] = []
    # Those that need the image begin last: it takes a while to be built.
    for one in sorted(possible, key=lambda one: one.image):
        if one.image and not rounds.image:
            mounted.append(_image())
            rounds.image = podman("image", "mount", mounted[0]).out.strip()
        rounds.start(one)
    yield rounds
    rounds.close()
    for name in mounted:
        podman("image", "unmount", name)


def _image() -> str:
    """The name of the image that our Dockerfile makes."""
    if lacking := missing_tools():
        _cannot(f"{', '.join(lacking)} not installed")
    return images.numapin(images.debian(images.BASE), images.debian(images.BUILDER))


@pytest.fixture(scope="session")
def seen(rounds: Rounds, request: pytest.FixtureRequest) -> Seen:
    """What the cases of one round returned."""
    if request.param.lacking:
        _cannot(request.param.lacking)
    try:
        return rounds.start(request.param).result()
    except DidNotFinish as problem:
        pytest.fail(str(problem), pytrace=False)


def _cannot(why: str) -> None:
    """CI must have the lab; by hand it may be lacking, and that is said."""
    reason = f"no lab here: {why} (tools/lab gets what is missing)"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)
