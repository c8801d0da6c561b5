"""The build backend: cffi writes the glue of numapin._native from csrc/numapin.h, setuptools does the rest.

pyproject.toml names this module (PEP 517, in-tree backend) and lists the glue among the extension's sources, so that
there is no setup.py and no generated C in git.
"""

from pathlib import Path

from cffi import FFI
from setuptools.build_meta import *  # noqa: F403 -- the hooks, as they are

HEADER = Path(__file__).with_name("numapin.h")
GLUE = Path("build/_native.c")  # a front end runs every hook in the directory of pyproject.toml


def write_glue() -> None:
    """Write the C file that makes the functions of numapin.h a Python module."""
    ffi = FFI()
    ffi.cdef(HEADER.read_text(encoding="utf-8"))
    ffi.set_source("numapin._native", f'#include "{HEADER.name}"')
    GLUE.parent.mkdir(exist_ok=True)
    ffi.emit_c_code(str(GLUE))


# On import, because every hook, even the one that only lists requirements, makes setuptools look at the sources.
write_glue()
