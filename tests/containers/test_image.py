"""The image itself: one folder more, files that load on old systems, nothing where the server would find it."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.containers import images
from tests.containers.process import SNAPSHOT, parse
from tests.containers.runtime import podman, run

OLDEST_GLIBC = (2, 35)  # Ubuntu 22.04, from which CUDA images are made
LIMITED_API = "cp310-abi3"


@pytest.fixture(scope="session")
def tree(image):
    """The image's file system, to look at."""
    root = podman("image", "mount", image).out.strip()
    yield Path(root)
    podman("image", "unmount", image)


def test_the_same_build_serves_an_older_base(builder, cpu):
    """Debian 12, with the Python of its own, a pip and a libnuma, next to Debian 13 in all other tests here."""
    done = run(images.numapin(builder, builder), *SNAPSHOT, options=cpu.only)

    assert done.status == 0
    assert parse(done.out).policies == {f"bind=static:{cpu.node}"}


@pytest.mark.parametrize("library", ["_native.abi3.so", "_bench.abi3.so", "libnuma.so.1"])
def test_a_library_needs_no_newer_glibc_than_the_oldest_system_has(tree, library):
    """Objdump -T names the version of every symbol that the loader will ask for."""
    path = tree / "opt/numapin/lib/numapin" / library
    symbols = subprocess.run(["objdump", "-T", path], check=True, capture_output=True, text=True).stdout
    versions = {tuple(map(int, version.split("."))) for version in re.findall(r"GLIBC_([0-9.]+)", symbols)}

    assert versions
    assert max(versions) <= OLDEST_GLIBC


def test_the_module_is_for_every_python_from_3_10_on(tree):
    """The wheel's tag says so; that it loads in a newer Python than its compiler's is what all other tests here do."""
    wheel = next((tree / "opt/numapin/lib").glob("numapin-*.dist-info/WHEEL")).read_text()
    assert f"Tag: {LIMITED_API}-" in wheel


def test_libnuma_comes_from_beside_the_module(image):
    """The base image has no libnuma: /proc/self/maps names the one that was loaded."""
    show = (
        "import sys; sys.path.insert(0, '/opt/numapin/lib'); from numapin import _native; "
        "print(*{line.split()[-1] for line in open('/proc/self/maps') if 'libnuma' in line})"
    )
    done = run(image, "-I", "-c", show, options=("--entrypoint", "python3"))
    assert done.out == "/opt/numapin/lib/numapin/libnuma.so.1\n"


def test_the_base_image_gains_one_folder_and_an_entrypoint(image, base):
    """Podman diff against the base: everything that was added lies in /opt/numapin, and nothing was changed."""
    changes = podman("diff", image, base).out.splitlines()
    assert "A /opt/numapin" in changes
    assert [change for change in changes if "/opt/numapin" not in change] == ["C /opt"]


def test_the_servers_environment_is_the_base_images(image, base):
    """No variable is set by the image."""
    variables = [podman("image", "inspect", "--format", "{{.Config.Env}}", name).out for name in (image, base)]
    assert variables[0] == variables[1]


def test_the_server_does_not_find_numapins_packages(image):
    """Its Python imports neither numapin nor what came with it, and its PATH leads to no numapin."""
    look = (
        "from importlib.util import find_spec; from shutil import which; "
        "print(find_spec('numapin'), find_spec('click'), which('numapin'))"
    )
    assert run(image, "python3", "-c", look).out == "None None None\n"


def test_everything_is_compiled(tree):
    """A read-only root costs no start-up time: each module lies there as bytecode that needs no look at its source."""
    modules = [path for path in (tree / "opt/numapin/lib").rglob("*.py") if "__pycache__" not in path.parts]
    compiled = [next((path.parent / "__pycache__").glob(f"{path.stem}.*.pyc")) for path in modules]

    assert len(modules) > 100
    # PEP 552: the second word of a .pyc is 1 where the hash of the source is recorded and not checked.
    assert {path.read_bytes()[4:8] for path in compiled} == {b"\x01\0\0\0"}
