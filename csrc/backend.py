"""The build backend: cffi writes the glue of numapin's two C modules from their headers, setuptools does the rest.

pyproject.toml names this module (PEP 517, in-tree backend) and lists the glue among the extensions' sources, so that
there is no setup.py and no generated C in git.
"""

from pathlib import Path

from cffi import FFI
from setuptools.build_meta import *  # noqa: F403 -- the hooks, as they are

HERE = Path(__file__).parent
BUILD = Path("build")  # a front end runs every hook in the directory of pyproject.toml
MODULES = {"_native": "numapin.h", "_bench": "bench.h"}


def write_glue(module: str, header: str) -> None:
    """Write the C file that makes the functions of a header a Python module."""
    ffi = FFI()
    ffi.cdef((HERE / header).read_text(encoding="utf-8"))
    ffi.set_source(f"numapin.{module}", f'#include "{header}"')
    BUILD.mkdir(exist_ok=True)
    ffi.emit_c_code(str(BUILD / f"{module}.c"))


# On import, because every hook, even the one that only lists requirements, makes setuptools look at the sources.
for _module, _header in MODULES.items():
    write_glue(_module, _header)
