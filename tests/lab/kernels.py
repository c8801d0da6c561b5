"""The kernels that tools/lab fetched, and for each an initramfs that mounts this machine's root and goes on there."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

LAB = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "numapin" / "lab"
TOOLS = ("qemu-system-x86_64", "busybox", "cpio", "modprobe", "xz")
# Where Debian has modprobe; a user's PATH may lack it.
_PATH = os.pathsep.join((os.environ.get("PATH", os.defpath), "/sbin", "/usr/sbin"))
_NEEDED = ("virtio_pci", "9pnet_virtio", "9p", "overlay")


@dataclass(frozen=True)
class Kernel:
    """A Debian kernel package, unpacked."""

    series: str
    """6.1 or 6.12: the name of its folder."""

    @property
    def tree(self) -> Path:
        return LAB / self.series

    @property
    def image(self) -> Path:
        return next((self.tree / "boot").glob("vmlinuz-*"))

    @property
    def version(self) -> str:
        return self.image.name.removeprefix("vmlinuz-")


def kernels() -> list[str]:
    """The series that are there, the oldest first."""
    found = [folder.name for folder in LAB.glob("[0-9]*") if list(folder.glob("boot/vmlinuz-*"))]
    return sorted(found, key=lambda series: tuple(map(int, series.split("."))))


def missing() -> list[str]:
    """What the lab lacks on this machine, as sentences."""
    lacking = [f"{tool} is not installed" for tool in TOOLS if shutil.which(tool, path=_PATH) is None]
    return lacking if kernels() else [*lacking, f"no kernel is in {LAB}"]


def initramfs(kernel: Kernel, directory: Path) -> Path:
    """Busybox, the modules with which the kernel can mount the shared root, and tests/lab/init."""
    tree = directory / "initramfs"
    for folder in ("bin", "modules", "proc", "shared", "changes", "root"):
        (tree / folder).mkdir(parents=True)
    shutil.copy(shutil.which("busybox", path=_PATH) or "busybox", tree / "bin/busybox")
    shutil.copy(Path(__file__).with_name("init"), tree / "init")
    (tree / "init").chmod(0o755)
    for number, module in enumerate(_modules(kernel)):
        (tree / f"modules/{number:02}.ko").write_bytes(_plain(module))
    archive = directory / f"{tree.name}.cpio"
    names = "\0".join(str(path.relative_to(tree)) for path in sorted(tree.rglob("*")))
    with archive.open("wb") as out:
        subprocess.run(
            ["cpio", "--quiet", "-0", "-o", "-H", "newc"], cwd=tree, input=names.encode(), stdout=out, check=True
        )
    return archive


def _modules(kernel: Kernel) -> list[Path]:
    """Files of the needed modules and of all that they depend on, in the order in which they can be loaded."""
    show = ("modprobe", "-d", str(kernel.tree), "-S", kernel.version, "--show-depends", "--all", *_NEEDED)
    done = subprocess.run(show, check=True, capture_output=True, text=True, env={"PATH": _PATH})
    files = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("insmod ")]
    return [Path(file) for file in dict.fromkeys(files)]


def _plain(module: Path) -> bytes:
    """6.12's modules are compressed, and busybox's insmod takes them plain."""
    if module.suffix != ".xz":
        return module.read_bytes()
    return subprocess.run(["xz", "-dc", str(module)], check=True, capture_output=True).stdout
