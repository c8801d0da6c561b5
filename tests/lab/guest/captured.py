"""What numapin says of this computer, live, and the capture that must make it say the same anywhere."""

import time
from typing import Any

from tests.lab.guest.launch import driver, numapin
from tests.lab.guest.machine import addresses
from tests.lab.guest.main import case
from tests.lab.guest.setting import network

REPORTS = ("check", "plan", "show")


@case
def replayed() -> dict[str, Any]:
    """In a network namespace that has every NIC, with every accelerator assigned."""
    names = sorted(addresses())
    variables = driver(*(name for name in names if name.startswith("gpu")))
    with network("captured", *(name for name in names if name.startswith("nic"))) as front:
        reports = {name: numapin(name, "--format", "json", front=front, variables=variables)["out"] for name in REPORTS}
        begin = time.monotonic()
        capture = numapin("capture", front=front, variables=variables)
        seconds = time.monotonic() - begin
    return {"reports": reports, "capture": capture["out"], "err": capture["err"], "seconds": seconds}
