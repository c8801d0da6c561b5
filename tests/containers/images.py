"""The images of the container tests, made without a registry: Debian by debootstrap, numapin by our own Dockerfile.

Debian trees are kept as tar files under ${XDG_CACHE_HOME:-~/.cache}/numapin, images in podman's own store, each under
a name that holds a hash of its recipe; a second run finds both.
"""

import ast
import hashlib
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.containers.runtime import podman

REPOSITORY = Path(__file__).parents[2]
# As every published image has it; a build would otherwise add it to ours, and only to ours.
ENVIRONMENT = "ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "numapin"


@dataclass(frozen=True)
class Debian:
    """A recipe for debootstrap: a release, and what is in it besides the minimum."""

    suite: str
    packages: tuple[str, ...]

    @property
    def key(self) -> str:
        recipe = hashlib.sha256(f"{self}{ENVIRONMENT}".encode()).hexdigest()
        return f"{self.suite}-{recipe[:12]}"

    @property
    def name(self) -> str:
        return f"localhost/numapin-tests/debian:{self.key}"


# What compiles the module is two years older than what loads it, and has another Python: that is what abi3 promises.
BUILDER = Debian("bookworm", ("ca-certificates", "gcc", "libc6-dev", "libnuma-dev", "python3-dev", "python3-pip"))
BASE = Debian("trixie", ("ca-certificates", "python3"))


def debian(recipe: Debian) -> str:
    """Name of the image of this recipe, made now if podman has none."""
    if podman("image", "exists", recipe.name, check=False).status != 0:
        podman("import", "--change", ENVIRONMENT, str(_tree(recipe)), recipe.name, seconds=300)
    return recipe.name


def _tree(recipe: Debian) -> Path:
    """Path of the tar file of this recipe; under its final name it is whole."""
    finished = CACHE / f"{recipe.key}.tar"
    if finished.exists():
        return finished
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
        tree, archive = Path(scratch, "tree"), Path(scratch, "tree.tar")
        include = f"--include={','.join(recipe.packages)}"
        _run("debootstrap", "--variant=minbase", include, recipe.suite, str(tree))
        _run("tar", "-C", str(tree), "--exclude=./var/cache/apt/archives/*.deb", "-cf", str(archive), ".")
        archive.rename(finished)
    return finished


def numapin(base: str, builder: str) -> str:
    """Name of the image that our Dockerfile makes from base, as a user would build it."""
    name = f"localhost/numapin-tests/numapin:{base.rpartition(':')[2]}"
    with tempfile.TemporaryDirectory() as scratch:
        podman(
            *("build", "--isolation", "chroot", "--pull=never", "--tag", name),
            *("--build-arg", f"BASE_IMAGE={base}", "--build-arg", f"BUILD_IMAGE={builder}"),
            *_pip_as_here(Path(scratch, "pip.conf")),
            str(REPOSITORY),
            seconds=900,
        )
    return name


def _pip_as_here(config: Path) -> list[str]:
    """Options that give pip in the build the settings it has on this machine: indexes, certificates, folders."""
    listing = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], check=True, capture_output=True, text=True
    ).stdout
    settings = [line.split("=", 1) for line in listing.splitlines()]
    values = {name.rpartition(".")[2]: ast.literal_eval(value) for name, value in settings}
    config.write_text("[global]\n" + "".join(f"{name} = {_one_value(value)}\n" for name, value in values.items()))
    paths = {path for value in values.values() for word in value.split() if (path := _path_in(word))}
    mounts = [f"{path}:{path}:ro" for path in sorted(paths)] + [f"{config}:/etc/pip.conf:ro"]
    return [option for mount in mounts for option in ("--volume", mount)]


def _path_in(word: str) -> Path | None:
    """What of this machine one word of a pip setting needs; None where it needs nothing."""
    # The pages of an index link to files beside it, as ../../files.
    path = Path(word.removeprefix("file://")).parent if word.startswith("file://") else Path(word)
    return path if path.is_absolute() and path.exists() else None


def _one_value(value: str) -> str:
    """A value of several words goes on in indented lines, as pip.conf wants it."""
    return "\n    ".join(value.split())


def _run(*command: str) -> None:
    done = subprocess.run(command, check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
