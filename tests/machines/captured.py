"""Where the captured machines are, and what a test does where they are not."""

import os
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
PLACE = Path(os.environ.get("NUMAPIN_MACHINES") or PROJECT.parent / "shared" / "machines")
"""The directory of the captured machines: NUMAPIN_MACHINES, or shared/machines beside the checkout."""

GPU_HOSTS = (
    "aws-p4d-8gpu",
    "azure-ndv4-8gpu-4node",
    "azure-ndv5-8gpu",
    "h100-8gpu-16nic",
    "mi300a-4gpu-4node",
    "mi300x-8gpu-8nic",
    "rome-8gpu-nps4",
    "rome-8gpu-nps4-7nodes",
)
"""Named here, not found there: a machine that went missing is seen."""

HWLOC = (
    "128arm-2pa2n8cluster4co",
    "128ia64-17n4s2c",
    "16amd64-8n2c",
    "16em64t-4s2c2t",
    "16em64t-4s2c2t-offlines",
    "16em64t-4s2ca2c-cpusetreorder",
    "16ia64-8n2s",
    "20em64t-hybrid-1p6c2t+2ca4co1t",
    "20s390-2g6s4c",
    "2arm-2c",
    "2i386-2c-nohugepage",
    "2i386-2t-hugepagesizecount",
    "2pa-pcidomain32bits",
    "2ps3-2t",
    "32intel64-2p8co2t+8ve",
    "40intel64-2g2n4c+pcilocality",
    "40intel64-4n10c+pci-conflicts",
    "4fake-4gr1nu1pu",
    "64amd64-4s2n4ca2co",
    "64fake-4n2s2ca2c2t",
    "8em64t-2s2ca2c-buggynuma",
    "8em64t-2s4c-asymcaches",
    "8ia64-2n2s2c",
    "8ia64-2s2c2t",
    "96em64t-4no4pa3ca2co",
    "fakecpuid1f-64intel64-2p4d2n2c2t",
    "fakeheteromemtiers",
    "memorysidecaches",
    "nvidia-dgx-gb10",
    "nvidiagpunumanodes",
)


def archive(name: str) -> Path:
    """The archive of a captured machine; the test is skipped where there are none, and fails there in CI."""
    path = PLACE / "gpu-hosts" / f"{name}.tar.xz" if name in GPU_HOSTS else PLACE / "hwloc" / f"{name}.tar.bz2"
    if not path.exists():
        reason = f"the captured machine {path} is not here (NUMAPIN_MACHINES names the directory that has them)"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return path
