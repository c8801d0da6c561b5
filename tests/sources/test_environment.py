"""The environment as the kernel keeps it, and the variables by which engines bind themselves."""

import pytest

from numapin.sources.environment import BINDERS, binders, read_environment
from tests.sources.trees import Tree

ENVIRONMENTS = {
    "usual": (b"A=1\0B=2\0", {"A": "1", "B": "2"}),
    "an equals sign in the value": (b"A=x=y\0", {"A": "x=y"}),
    "twice: the first counts, as getenv has it": (b"NVIDIA_VISIBLE_DEVICES=void\0NVIDIA_VISIBLE_DEVICES=GPU-1\0", None),
    "no value": (b"A=\0B=1", {"A": "", "B": "1"}),
    "no equals sign": (b"A\0B=1\0", {"B": "1"}),
    "several lines": (b"A=1\n2\0B=3\0", {"A": "1\n2", "B": "3"}),
    "a name that no shell takes": (b"PCIDEVICE_A-B=1\0", {"PCIDEVICE_A-B": "1"}),
    "empty": (b"", {}),
}


@pytest.mark.parametrize(("content", "expected"), ENVIRONMENTS.values(), ids=ENVIRONMENTS)
def test_variables_are_separated_by_zeros(tree: Tree, content: bytes, expected) -> None:
    found = read_environment(tree({"/proc/self/environ": content}))
    assert found == (expected if expected is not None else {"NVIDIA_VISIBLE_DEVICES": "void"})


def test_no_file_is_no_environment(tree: Tree) -> None:
    assert read_environment(tree({})) == {}


def test_an_environment_may_be_longer_than_a_megabyte(tree: Tree) -> None:
    """The kernel takes a quarter of the stack limit, 2 MiB: a namespace of 5000 services fills that in every pod."""
    content = b"".join(
        b"SERVICE_%05d_PORT_8000_TCP=tcp://10.96.%d.%d:8000\0" % (i, i >> 8, i & 255) for i in range(28_000)
    )
    assert 1 << 20 < len(content) < 2 << 20
    found = read_environment(tree({"/proc/self/environ": content + b"CUDA_VISIBLE_DEVICES=1\0"}))
    assert found["CUDA_VISIBLE_DEVICES"] == "1"


@pytest.mark.parametrize("name", BINDERS)
def test_a_variable_that_binds_is_reported_and_a_harmless_value_is_not(name: str) -> None:
    assert binders({name: "7"}) == (f"{name}=7",)
    assert [binders({name: value}) for value in BINDERS[name]] == [()] * len(BINDERS[name])
    assert binders({}) == ()


BINDING = {
    "NCCL_IGNORE_CPU_AFFINITY": "1",
    "UCCL_EP_DISABLE_CPU_AFFINITY": "0",
    "OMP_PROC_BIND": "close",
    "KMP_AFFINITY": "granularity=fine,compact",
    "GOMP_CPU_AFFINITY": "0-7",
    "SGLANG_AUTO_NUMA_BIND": "1",
    "TLLM_NUMA_AWARE_WORKER_AFFINITY": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "auto",
}


def test_the_values_that_engines_are_given() -> None:
    assert set(binders(BINDING | {"PATH": "/bin"})) == {f"{name}={value}" for name, value in BINDING.items()}
