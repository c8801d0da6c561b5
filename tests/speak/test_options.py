"""The option table as an operator sees it: in --help, on the command line, and in the environment."""

import json

import pytest

from numapin.cli.table import ASSIGNED, EVERY, OWN, READING
from tests.speak.inside import TWO_NODES, machine, status

FULL = ("run", "check", "plan")
GIVEN = {
    "policy": "restricted",
    "scope": "pod",
    "align": "socket",
    "unknown": "warn",
    "expect-gpus": "3",
    "expect-rdma": "1",
    "narrow": "0",
    "gpus": "0000:17:00.0",
    "rdma": "mlx5_0",
    "nics": "none",
    "home": "mlx5_0=1",
    "cpus": "0-1",
    "mems": "0",
    "cpu": "try",
    "memory": "off",
    "irq": "require",
    "rt": "off",
    "memory-policy": "preferred",
    "irq-cpus": "local",
    "rt-main": "1",
    "rt-unsafe": "1",
    "hot": "NCCL*=2,pt_main_thread",
    "hot-nice": "ZMQbg/IO*=-5",
    "workers": "off",
    "engine": "vllm",
    "profiles": "/nowhere/at/all",
    "keep": "1",
    "metrics": "/nowhere/at/all",
    "pid": "1",
    "quick": "1",
    "tree": "1",
    "pages": "maps",
    "save": "/nowhere/at/all",
    "seconds": "7",
    "baseline": "/nowhere/at/all",
    "url": "http://127.0.0.1:8000",
    "model": "tiny",
    "clients": "2",
    "tokens": "8",
    "prompt-words": "9",
    "megabytes": "8",
    "bench": "/nowhere/at/all",
    "root": "",
    "format": "json",
    "log-format": "json",
    "termination-log": "/nowhere/at/all",
}
"""A value for every option, none of them its default."""
ELSEWHERE = {"root", "format", "log-format", "termination-log", "scope", "profiles", "metrics"}
ELSEWHERE |= {"pid", "quick", "tree", "pages", "save", "seconds", "baseline", "url", "model", "clients", "tokens"}
ELSEWHERE |= {"prompt-words", "megabytes", "bench"}
"""Options whose effect is not in a dry run's report; other tests hold them."""

ANY_TEXT = {"root", "termination-log", "hot", "hot-nice", "profiles", "save", "baseline", "url", "model"}
"""Options that take every text."""

ONE_OF_EACH = ["--gpus", "0", "--rdma", "mlx5_0", "--nics", "none"]
RESTRICTED = ["--policy", "restricted", "--rdma", "none", "--nics", "none"]
BESIDE = {
    "workers": RESTRICTED,
    "engine": RESTRICTED,
    "align": ["--gpus", "auto", "--rdma", "none", "--nics", "none"],
    "narrow": ONE_OF_EACH,
    "rt": ["--rt-main", "1"],
    "rt-unsafe": ["--rt-main", "1", "--cpus", "0"],
}
"""What must be said too, for an option to show."""

MACHINE = f"""{TWO_NODES.replace("package=1", "package=0")}
gpu 0000:17:00.0 node=0
gpu 0000:97:00.0 node=1
rdma mlx5_0 pci=0000:3c:00.0 node=0 irqs=100-101 netdev=ib0
rdma mlx5_1 pci=0000:9c:00.0 node=1 irqs=200-201 netdev=ib1
nic eth1 pci=0000:5e:00.0
container cpus=0-7 mems=0-1
"""


def test_every_option_has_a_value_here():
    """A new option is tried too."""
    assert set(GIVEN) == {option.name for option in EVERY}


@pytest.mark.parametrize("command", FULL)
def test_help_shows_every_option(capfd, command):
    """With what it takes and its default."""
    assert status(command, "--help") == 0
    told = capfd.readouterr().out
    words = set(told.replace("/", " ").split())
    assert [option.name for option in OWN if f"--{option.name}" not in words] == []
    assert "--no-narrow" in words
    for option in OWN:
        if option.form and option.default not in (None, ("auto",), ()):
            assert f"[default: {option.default}]" in " ".join(told.split())
    assert all(status in told for status in ("69", "70", "77", "78", "126", "127"))


def test_help_of_show_has_what_show_takes(capfd):
    """And nothing about judging or binding."""
    assert status("show", "--help") == 0
    words = set(capfd.readouterr().out.split())
    assert {f"--{option.name}" for option in (*ASSIGNED, *READING)} <= words
    assert not {"--cpu", "--irq", "--memory"} & words


def test_the_help_of_all_names_every_command(capfd):
    """With a line for each."""
    assert status("--help") == 0
    told = capfd.readouterr().out
    assert [command for command in (*FULL, "show", "keep") if f"\n  {command} " not in told] == []


def report(capfd, *words: str) -> dict:
    """What a dry run says; the status may be any of a verdict's."""
    assert status("plan", *words, "--format", "json") in (0, 69, 78)
    return json.loads(capfd.readouterr().out)


def as_words(name: str) -> list[str]:
    flags = {"narrow": ["--no-narrow"], "rt-unsafe": ["--rt-unsafe"], "keep": ["--keep"]}
    return flags.get(name, [f"--{name}", GIVEN[name]])


@pytest.mark.parametrize("name", sorted(set(GIVEN) - ELSEWHERE))
def test_an_option_and_its_variable_do_the_same(tmp_path, capfd, monkeypatch, name):
    """And both do something: the report differs from that of the defaults."""
    root = ["--root", machine(tmp_path, MACHINE), *BESIDE.get(name, [])]
    plain, by_option = report(capfd, *root), report(capfd, *root, *as_words(name))
    monkeypatch.setenv(f"NUMAPIN_{name.upper().replace('-', '_')}", GIVEN[name])
    assert report(capfd, *root) == by_option
    assert by_option != plain


@pytest.mark.parametrize("name", sorted(set(GIVEN) - ANY_TEXT - {"narrow", "rt-unsafe", "keep", "pid"}))
def test_a_wrong_variable_is_named(tmp_path, capfd, monkeypatch, name):
    """The operator looks for it in a pod spec, where it has the variable's name."""
    monkeypatch.setenv(f"NUMAPIN_{name.upper().replace('-', '_')}", "~wrong~")
    assert status("plan", "--root", machine(tmp_path, MACHINE)) == 2
    told = capfd.readouterr().err
    assert "~wrong~" in told
    assert f"NUMAPIN_{name.upper().replace('-', '_')}" in told or f"--{name}" in told


def test_the_command_line_goes_before_the_environment(tmp_path, capfd, monkeypatch):
    """Also where it says what the default is."""
    monkeypatch.setenv("NUMAPIN_POLICY", "none")
    root = machine(tmp_path, MACHINE)
    assert report(capfd, "--root", root)["policy"] == "none"
    assert report(capfd, "--root", root, "--policy", "single-numa-node")["policy"] == "single-numa-node"


def test_an_empty_variable_is_as_good_as_none(tmp_path, capfd, monkeypatch):
    """Pod specs set variables to nothing."""
    for option in EVERY:
        if option.name != "root":
            monkeypatch.setenv(option.variable, "")
    assert report(capfd, "--root", machine(tmp_path, MACHINE))["policy"] == "single-numa-node"


@pytest.mark.parametrize(
    ("text", "expected"), [("1", True), ("true", True), ("yes", True), ("0", False), ("no", False)]
)
def test_a_switch_in_the_environment_takes_the_usual_words(tmp_path, capfd, monkeypatch, text, expected):
    """NUMAPIN_NARROW=0 is --no-narrow."""
    monkeypatch.setenv("NUMAPIN_NARROW", text)
    found = report(capfd, "--root", machine(tmp_path, MACHINE), *ONE_OF_EACH)
    assert (found["verdict"] == "aligned") is expected


def test_homes_may_be_given_several_times(tmp_path, capfd):
    """Or once, with commas."""
    root = machine(tmp_path, MACHINE)
    apart = report(capfd, "--root", root, "--home", "mlx5_0=1", "--home", "mlx5_1=0")
    together = report(capfd, "--root", root, "--home", "mlx5_0=1,mlx5_1=0")
    assert apart == together
    assert [(one["node"], one["source"]) for one in apart["assignment"]["rdma"]] == [(1, "operator"), (0, "operator")]
