"""The restrictions under which inference images are run: another user, a read-only root, no capability at all."""

import pytest

from tests.containers.process import SNAPSHOT, parse
from tests.containers.runtime import RUN, podman, run

NON_ROOT = ("--user", "1000")
READ_ONLY = ("--read-only", "--read-only-tmpfs=false")
# What the runtime itself makes in a container's layer.
MOUNT_POINTS = {"/etc", "/run", "/dev", "/proc", "/sys", "/var", "/run/secrets", "/run/.containerenv"}
BARE = ("--cap-drop", "ALL", "--security-opt", "no-new-privileges")


@pytest.mark.parametrize(
    "options",
    [NON_ROOT, READ_ONLY, NON_ROOT + READ_ONLY, NON_ROOT + READ_ONLY + BARE],
    ids=["non-root", "read-only", "non-root, read-only", "non-root, read-only, no capability"],
)
def test_the_server_is_bound_under(image, cpu, options):
    """Neither affinity nor memory policy needs a capability or a place to write."""
    done = run(image, *SNAPSHOT, options=(*cpu.only, *options))
    server = parse(done.out)

    assert done.status == 0, done
    assert server.status["Uid"].split() == ["1000" if "--user" in options else "0"] * 4
    assert server.status["Cpus_allowed_list"] == str(cpu.number)
    assert server.policies == {f"bind=static:{cpu.node}"}


def test_nothing_is_written(image, cpu):
    """No .pyc, no cache, even where it could: podman diff of the ended container shows what it wrote."""
    name = podman("create", *RUN, *cpu.only, image, "/bin/true").out.strip()
    try:
        assert podman("start", "--attach", name).status == 0
        written = [change for change in podman("diff", name).out.splitlines() if not change.startswith("C /etc")]
        assert [change for change in written if change.split(" ")[1] not in MOUNT_POINTS] == []
    finally:
        podman("rm", "--force", name)
