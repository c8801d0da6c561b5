"""Builds the tests' own NVIDIA driver library and writes the answers it gives (nvml.h describes both).

    library = build(tmp_path_factory.getbasetemp() / "nvml")
    file.write_text(answers([Gpu(uuid="GPU-1f...", pci="0000:3b:00.0", cpus="0-31,64-95", nodes="0")]))
    subprocess.run([...], env=os.environ | environment(library.parent, file))

pynvml opens `libnvidia-ml.so.1` with dlopen, so LD_LIBRARY_PATH decides before the process starts which one it finds:
whatever is to see these GPUs runs in a process of its own.
"""

import hashlib
import os
import platform
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

SONAME = "libnvidia-ml.so.1"  # what pynvml's _LoadNvmlLibrary opens
VARIABLE = "NUMAPIN_TEST_NVML"  # names the answers file; read by nvml.c at the first nvmlInit
DRIVER = "550.54.15"

_SOURCES = Path(__file__).parent
_COMPILE = (
    *("cc", "-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-fPIC", "-fvisibility=hidden"),
    *("-shared", f"-Wl,-soname,{SONAME}", "-Wl,-z,defs"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """A GPU as NVML tells it; its index is its place in the list. `None` is a question the driver does not support.

    `cpus` and `nodes` are kernel lists, host-wide and not cut by any cpuset, as the real driver answers; the socket
    ones default to them. `numa` is the node of a coherent GPU's own memory (Grace), not the node beside it.
    """

    uuid: str
    pci: str
    minor: int | None = None  # N of /dev/nvidiaN; defaults to the index
    cpus: str | None = None
    nodes: str | None = None
    socket_cpus: str | None = None
    socket_nodes: str | None = None
    numa: int | None = None
    mig: bool = False  # MIG mode; a Mig on this GPU turns it on by itself
    name: str = "NVIDIA H100 80GB HBM3"

    def line(self, index: int) -> str:
        fields = {
            "uuid": self.uuid,
            "pci": self.pci,
            "minor": self.minor,
            "cpus": self.cpus,
            "nodes": self.nodes,
            "socket-cpus": self.socket_cpus,
            "socket-nodes": self.socket_nodes,
            "numa": self.numa,
            "mig": int(self.mig),
            "name": self.name,
        }
        return _statement(f"gpu {index}", fields)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mig:
    """A MIG device on the GPU with index `gpu`. Its own index may leave gaps, as after an instance was destroyed."""

    gpu: int
    uuid: str
    index: int | None = None  # defaults to the first free one
    gpu_instance: int | None = None  # defaults to the index + 1
    compute_instance: int = 0
    name: str = "NVIDIA H100 80GB HBM3 MIG 1g.10gb"

    def line(self) -> str:
        fields = {
            "uuid": self.uuid,
            "index": self.index,
            "gi": self.gpu_instance,
            "ci": self.compute_instance,
            "name": self.name,
        }
        return _statement(f"mig {self.gpu}", fields)


@dataclass(frozen=True, slots=True)
class Error:
    """The NVML function that fails, by its name in C, with which code; for one GPU and its MIG devices, or for all."""

    function: str
    code: int
    gpu: int | None = None

    def line(self) -> str:
        return _statement(f"error {self.function} {self.code}", {"gpu": self.gpu})


@dataclass(frozen=True, slots=True)
class Ancestor:
    """How near two GPUs are, in NVML_TOPOLOGY_*: 0, 10, 20, 30, 40 or 50. Unsaid: 40 on the same nodes, else 50."""

    first: int
    second: int
    level: int

    def line(self) -> str:
        return f"ancestor {self.first} {self.second} {self.level}"


def answers(
    gpus: Iterable[Gpu] = (),
    migs: Iterable[Mig] = (),
    errors: Iterable[Error] = (),
    driver: str = DRIVER,
    ancestors: Iterable[Ancestor] = (),
) -> str:
    """The text of the answers file that tells all this."""
    lines = [f"driver {driver}", *(gpu.line(index) for index, gpu in enumerate(gpus)), *(mig.line() for mig in migs)]
    lines += [*(pair.line() for pair in ancestors), *(error.line() for error in errors)]
    return "\n".join(lines) + "\n"


def build(directory: Path) -> Path:
    """The library, compiled into `directory`, or found there when its sources have not changed since.

    It lies alone in a folder of its own, so that LD_LIBRARY_PATH finds nothing else there.
    """
    sources = sorted(_SOURCES.glob("*.[ch]"))
    content = b"\0".join([" ".join(_COMPILE).encode(), platform.machine().encode(), *(s.read_bytes() for s in sources)])
    library = directory / hashlib.sha256(content).hexdigest()[:16] / SONAME
    if not library.exists():
        library.parent.mkdir(parents=True, exist_ok=True)
        _compile([source for source in sources if source.suffix == ".c"], library)
    return library


def environment(library_dir: Path, answers_file: Path) -> dict[str, str]:
    """The variables that make a process find the library and the library its answers."""
    inherited = os.environ.get("LD_LIBRARY_PATH")
    search = f"{library_dir}{os.pathsep}{inherited}" if inherited else str(library_dir)
    return {"LD_LIBRARY_PATH": search, VARIABLE: str(answers_file)}


def _compile(sources: list[Path], library: Path) -> None:
    """Compile aside and move into place, so that tests that run side by side never load half a library."""
    with tempfile.TemporaryDirectory(dir=library.parent) as aside:
        made = Path(aside, SONAME)
        done = subprocess.run([*_COMPILE, "-o", made, *sources], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"the tests' driver library does not compile:\n{done.stderr}")
        made.replace(library)


def _statement(head: str, fields: dict[str, str | int | None]) -> str:
    """One line: the head and the fields that are given; a name comes last, since it takes the rest of the line."""
    return " ".join([head, *(f"{key}={value}" for key, value in fields.items() if value is not None)])
