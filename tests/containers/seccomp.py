"""Docker's seccomp rules for memory policy, as a profile that podman takes."""

import json
from pathlib import Path

PODMANS = Path("/usr/share/containers/seccomp.json")
MEMORY_POLICY = {"get_mempolicy", "mbind", "set_mempolicy", "set_mempolicy_home_node"}
EPERM = 1


def like_docker(directory: Path) -> str:
    """Option value that puts a container under the rules of dockerd and of containerd's RuntimeDefault.

    Both let the four calls through only with CAP_SYS_NICE (moby profiles/seccomp/default.json), and answer EPERM to
    whatever no rule names; podman's own profile lets them through, and answers ENOSYS.
    """
    profile = json.loads(PODMANS.read_text())
    for rule in profile["syscalls"]:
        rule["names"] = [name for name in rule["names"] if name not in MEMORY_POLICY]
    profile["syscalls"].append(
        {"names": sorted(MEMORY_POLICY), "action": "SCMP_ACT_ALLOW", "includes": {"caps": ["CAP_SYS_NICE"]}}
    )
    profile |= {"defaultAction": "SCMP_ACT_ERRNO", "defaultErrnoRet": EPERM, "defaultErrno": "EPERM"}
    file = directory / "docker.json"
    file.write_text(json.dumps(profile))
    return f"seccomp={file}"
