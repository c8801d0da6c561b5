"""When a keeper is planned, with which orders, and what the plan says of it."""

import json

import pytest

from numapin.cli.options import resolve
from numapin.cli.session import read_and_judge
from numapin.plan import Command
from numapin.sources.opening import open_root
from tests.speak.inside import machine, status

TWO_GPUS = """
node 0 cpus=0-3,8-11 memory=64G distances=10,21 package=0
node 1 cpus=4-7,12-15 memory=64G distances=21,10 package=1
gpu 0000:17:00.0 node=0
gpu 0000:97:00.0 node=1
container cpus=0-15 mems=0-1
"""
ONE_GPU = TWO_GPUS.replace("gpu 0000:97:00.0 node=1\n", "").replace("cpus=0-15 mems=0-1", "cpus=0-3 mems=0")
BOTH = ("--policy", "restricted", "--nics", "none")
SHARES = "workers GPU 0 cpus=0-3,8-11, GPU 1 cpus=4-7,12-15"


@pytest.fixture
def plan(tmp_path, capfd):
    """The steps of a plan on a written machine, by kind: their lines, modes and outcomes."""
    places: dict[str, str | None] = {}

    def made(text: str, *words: str, command: tuple[str, ...] = ("vllm", "serve", "x")) -> dict[str, dict]:
        place = places.setdefault(text, None) or machine(tmp_path / str(len(places)), text)
        places[text] = place
        words = ("--root", place, *words)
        assert status("plan", *words, "--format", "json", "--", *command) == 0
        return {step["kind"]: step for step in json.loads(capfd.readouterr().out)["steps"]}

    return made


def orders(tmp_path, text: str, *command: str, **given):
    """The keeper's orders as a value."""
    asked = resolve({"nics": ("none",), **given}, {})
    judged = read_and_judge(open_root(machine(tmp_path, text)), asked.settings)
    steps = judged.plan(Command("vllm", command)).steps
    return next((one.step.orders for one in steps if one.step.kind == "keeper"), None)


def test_nobody_stays_where_nobody_is_needed(plan):
    assert "keeper" not in plan(ONE_GPU)
    assert "keeper" not in plan(TWO_GPUS, *BOTH, "--workers", "off")


def test_workers_on_several_nodes_need_one(plan):
    step = plan(TWO_GPUS, *BOTH)["keeper"]
    assert step == {"kind": "keeper", "line": f"start keeper: {SHARES}", "mode": "require", "outcome": "planned"}


def test_its_start_comes_after_the_binding_and_before_exec(plan):
    kinds = list(plan(TWO_GPUS, *BOTH, "--hot", "nccl"))
    assert kinds == ["affinity", "mempolicy", "keeper", "environment", "exec"]


def test_whole_cores_are_shared_out(tmp_path):
    found = orders(tmp_path, TWO_GPUS, "vllm", "serve", policy="restricted")
    assert [(share.index, str(share.cpus), share.node, share.device) for share in found.shares] == [
        (0, "0-3,8-11", 0, "/dev/nvidia0"),
        (1, "4-7,12-15", 1, "/dev/nvidia1"),
    ]
    assert found.workers.title == "^VLLM::Worker"


def test_a_variable_changes_ordinals_and_not_device_files(tmp_path):
    text = TWO_GPUS.replace("mems=0-1", "mems=0-1 env=CUDA_VISIBLE_DEVICES=1,0")
    found = orders(tmp_path, text, "vllm", "serve", policy="restricted")
    assert [(share.index, share.device, share.names[0]) for share in found.shares] == [
        (0, "/dev/nvidia1", "1"),
        (1, "/dev/nvidia0", "0"),
    ]


@pytest.mark.parametrize(
    ("command", "title", "variables"),
    [
        ("python -m sglang.launch_server", "^sglang::scheduler", ()),
        ("trtllm-serve x", "", ("OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID")),
        # Of an engine that nobody knows, or whose profile knows no workers, the launcher's convention.
        ("my-server", "", ("LOCAL_RANK",)),
        ("tritonserver x", "", ("LOCAL_RANK",)),
    ],
)
def test_how_workers_are_known(tmp_path, command, title, variables):
    found = orders(tmp_path, TWO_GPUS, *command.split(), policy="restricted")
    assert (found.workers.title, found.workers.variables) == (title, variables)


def test_hot_threads_by_name_by_profile_and_by_engine(plan):
    line = plan(ONE_GPU, "--hot", "auto,my thread=7", "--hot-nice", "zeromq")["keeper"]["line"]
    assert "'VLLM::Worker*' SCHED_FIFO priority=1, 'VLLM::EngineCore*' SCHED_FIFO priority=1" in line
    assert "'my thread' SCHED_FIFO priority=7" in line
    assert "'*ZMQbg/IO/*' nice -10" in line


def test_auto_is_nothing_where_the_engine_is_not_known(plan):
    assert "keeper" not in plan(ONE_GPU, "--hot", "auto", command=("my-server",))
    assert "VLLM" in plan(ONE_GPU, "--hot", "auto", "--engine", "vllm", command=("my-server",))["keeper"]["line"]


def test_nccl_names_its_threads_only_where_it_is_told_to(plan):
    assert plan(ONE_GPU, "--hot", "NCCL Progress*")["environment"]["line"] == "setenv NCCL_SET_THREAD_NAME=1"
    assert plan(ONE_GPU, "--hot", "*")["environment"]["line"] == "setenv NCCL_SET_THREAD_NAME=1"
    assert "environment" not in plan(ONE_GPU, "--hot", "VLLM::EngineCore")
    assert "environment" not in plan(ONE_GPU, "--hot", "zeromq")


def test_no_affinity_no_keeper(plan):
    step = plan(ONE_GPU, "--hot", "x", "--cpu", "off")["keeper"]
    assert (step["outcome"], step["hint"]) == ("skipped", "--cpu off")


def test_where_nothing_is_bound_nothing_is_kept_and_that_is_said(plan):
    step = plan(ONE_GPU, "--hot", "x", "--policy", "none")["keeper"]
    assert (step["outcome"], step["hint"]) == ("skipped", "nothing is bound here")
    assert "keeper" not in plan(TWO_GPUS, "--policy", "none")


def test_without_scheduling_only_the_cpu_is_promised(plan):
    assert plan(ONE_GPU, "--hot", "x", "--rt", "off")["keeper"]["line"] == "start keeper: threads 'x' own CPU only"


UNSAFE = ONE_GPU + "file /proc/sys/kernel/sched_rt_runtime_us -1\nfile /proc/version Linux version 6.1.0\n"


def test_where_a_spinning_thread_could_hang_the_host_it_is_refused(plan, tmp_path, capfd):
    assert plan(UNSAFE, "--hot", "x")["keeper"]["line"].endswith("own CPU only")
    step = plan(UNSAFE, "--hot", "x", "--rt", "require")["keeper"]
    assert step["outcome"] == "refused"
    assert step["hint"].endswith("or force it with --rt-unsafe.")
    assert plan(UNSAFE, "--hot", "x", "--rt-unsafe")["keeper"]["line"].endswith("SCHED_FIFO priority=1")
    assert status("check", "--root", machine(tmp_path / "check", UNSAFE), "--hot", "x") == 0
    assert "warning RT_UNSAFE: sched_rt_runtime_us is -1" in capfd.readouterr().out


def test_what_the_kernel_will_refuse_is_said_before(tmp_path, capfd):
    """By `check`, as for the main thread; a niceness needs no such right."""
    place = machine(tmp_path, ONE_GPU.rstrip() + " caps=0")
    assert status("check", "--root", place, "--hot", "x=3") == 0
    assert "RT_NOT_PERMITTED: SCHED_FIFO 3 needs CAP_SYS_NICE or RLIMIT_RTPRIO 3" in capfd.readouterr().out
    assert status("check", "--root", place, "--hot-nice", "x") == 0
    assert "RT_NOT_PERMITTED" not in capfd.readouterr().out


def test_the_engines_own_flags(tmp_path, capfd):
    words = ("--root", machine(tmp_path, TWO_GPUS), *BOTH)
    assert status("plan", *words, "--engine", "vllm") == 0
    flags = "--numa-bind --numa-bind-nodes 0 1 --numa-bind-cpus 0-3,8-11 4-7,12-15"
    assert capfd.readouterr().out.splitlines()[-1] == f"or by vllm itself: {flags}"
    assert status("plan", *words, "--engine", "sglang", "--format", "json") == 0
    assert json.loads(capfd.readouterr().out)["engine"] == {"name": "sglang", "flags": ["--numa-node", "0", "1"]}
    assert status("plan", *words, "--engine", "triton") == 0
    nothing = "has no options of its own for this, or no accelerator here has a known node"
    assert capfd.readouterr().out.splitlines()[-1] == f"triton {nothing}"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--engine", "vlm"), "--engine vlm: there is no such profile. There are nccl, sglang"),
        (("--workers", "vlm"), "--workers vlm: there is no such profile"),
        (("--workers", "zeromq"), "--workers zeromq: this profile says nothing of worker processes"),
    ],
)
def test_a_profile_that_is_not_there(tmp_path, capfd, words, sentence):
    assert status("plan", "--root", machine(tmp_path, TWO_GPUS), *BOTH, *words) == 2
    assert sentence in capfd.readouterr().err
