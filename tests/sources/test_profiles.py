"""Profiles: those that numapin has, an operator's own, and everything that can be wrong in one."""

import re
from fnmatch import fnmatchcase

import pytest

from numapin.engine import HotRule, Profile, hot_rules, recognise
from numapin.errors import UsageError
from numapin.placement.matching import MOST_NAME, fits
from numapin.sources.profiles import read_profiles

NOWHERE = "/nowhere/at/all"
SHIPPED = read_profiles(NOWHERE)


def test_what_is_shipped():
    assert sorted(SHIPPED) == ["nccl", "sglang", "tensorrt-llm", "torchrun", "triton", "ucx", "vllm", "zeromq"]
    assert all(profile.about and profile.name == name for name, profile in SHIPPED.items())


@pytest.mark.parametrize(
    ("line", "engine"),
    [
        ("vllm serve Qwen/Qwen3-32B", "vllm"),
        ("/usr/bin/python3 /usr/local/bin/vllm serve Qwen/Qwen3-32B --port 80", "vllm"),
        ("python3 -m vllm.entrypoints.openai.api_server --model x", "vllm"),
        ("python -m sglang.launch_server --model-path x", "sglang"),
        ("sglang serve x", "sglang"),
        ("trtllm-serve x --tp_size 8", "tensorrt-llm"),
        ("mpirun -n 8 trtllm-llmapi-launch trtllm-serve x", "tensorrt-llm"),
        ("/opt/tritonserver/bin/tritonserver --model-repository=/models", "triton"),
        ("torchrun --nproc-per-node 8 train.py", "torchrun"),
        ("sh -c exec vllm serve x", "vllm"),
        ("python3 -m torch.distributed.run --nproc-per-node 8 train.py", "torchrun"),
        # A launcher of an engine is the engine.
        ("torchrun --nproc-per-node 8 -m sglang.launch_server", "sglang"),
        ("python3 serve.py --model /models/vllm", None),
        ("python3 client.py --backend vllm --model /models/vllm-tuned", None),
        ("vllm-router serve x", None),
        ("ls /opt/tritonserver-models", None),
        # What is only the end of a path is a model or a folder, unless it is run.
        ("ls /opt/tritonserver", None),
        ("vllm serve /models/tritonserver", "vllm"),
        ("vllm serve x --download-dir /opt/tritonserver --port 80", "vllm"),
        ("vllm serve /models/torchrun", "vllm"),
        ("python -m sglang.launch_server --model-path /models/trtllm-serve", "sglang"),
        ("./tritonserver --model-repository /models", "triton"),
        ("mpirun --allow-run-as-root -n 4 tritonserver --model-repository /models", "triton"),
        ("/usr/bin/python3 /usr/local/bin/trtllm-serve x", "tensorrt-llm"),
        ("/usr/bin/python3 /opt/conda/bin/torchrun --nproc-per-node 8 train.py", "torchrun"),
        ("", None),
    ],
)
def test_an_engine_is_known_by_its_command_line(line, engine):
    found = recognise(SHIPPED, line.split())
    assert (found.name if found else None) == engine


def test_of_several_engines_the_last_then_the_longest_then_the_first_by_name():
    def found(line: str, **commands: str) -> str | None:
        profile = recognise({name: Profile(name, "", (one,)) for name, one in commands.items()}, line.split())
        return profile.name if profile else None

    assert found("a serve b", z="serve", a="b") == "a"
    assert found("a serve b", a="serve", z="b") == "z"
    # An operator's own, for one model of vLLM's, is not lost to vLLM's because of its name.
    assert found("vllm serve mine", mine="vllm serve mine", vllm="vllm serve") == "mine"
    assert found("vllm serve mine", vllm="vllm serve", zebra="vllm serve mine") == "zebra"
    assert found("vllm serve mine", b="vllm serve", a="vllm serve") == "a"


REAL = [
    # Title of the process, and name of the thread as /proc shows it (15 characters).
    ("VLLM::Worker_TP0", "VLLM::Worker_TP"),
    ("VLLM::EngineCore_DP1", "VLLM::EngineCor"),
    ("sglang::scheduler_DP0_TP1_EP1", "sglang::schedul"),
    ("/opt/tritonserver/backends/python/triton_python_backend_stub /models/m/1/model.py", "triton_python_b"),
    ("VLLM::Worker_TP0", "NCCL Progress 0"),
    ("VLLM::Worker_TP0", "NCCL GIN Progre"),
    ("VLLM::Worker_TP0", "ZMQbg/IO/0"),
    ("python3 -m tensorrt_llm.llmapi.mgmn_worker_node", "async"),
]


@pytest.mark.parametrize("name", SHIPPED)
def test_no_hot_rule_is_without_a_thread_that_it_means(name):
    for rule in SHIPPED[name].hot:
        assert any(fnmatchcase(title, rule.process) and fits(rule.thread, thread) for title, thread in REAL), rule


@pytest.mark.parametrize("name", SHIPPED)
def test_threads_named_under_a_variable_are_names_that_the_kernel_can_hold(name):
    profile = SHIPPED[name]
    assert bool(profile.named) == bool(profile.variables)
    assert [one for one in profile.named if len(one.encode()) > MOST_NAME] == []


@pytest.mark.parametrize(
    ("profile", "names"),
    [
        ("nccl", ["NCCL Progress 0", "NCCL Progress12"]),
        ("ucx", ["async"]),
        ("zeromq", ["ZMQbg/IO/0", "mine/ZMQbg/IO/1"]),
        ("vllm", ["VLLM::Worker_TP", "VLLM::EngineCor", "NCCL Progress 0"]),
        ("sglang", ["sglang::schedul", "NCCL Progress 0"]),
        ("triton", ["triton_python_b"]),
    ],
)
def test_hot_threads_by_the_names_that_they_really_have(profile, names):
    rules = hot_rules(SHIPPED, profile)
    assert [name for name in names if not any(fits(rule.thread, name) for rule in rules)] == []
    quiet = ["pt_nccl_watchdg", "NCCL RAS", "ZMQbg/Reaper", "pt_tcpstore", "NCCL Service  0", "python3"]
    assert [name for name in quiet if any(fits(rule.thread, name) for rule in rules)] == []


@pytest.mark.parametrize(
    ("profile", "title", "ranks"),
    [
        ("vllm", "VLLM::Worker_DP1_PP0_TP3_EP7", ["1", "0", None, "3"]),
        ("vllm", "VLLM::Worker_DP1_PP0_PCP2_TP3_DCP1", ["1", "0", "2", "3"]),
        ("vllm", "VLLM::Worker_TP0", [None, None, None, "0"]),
        ("vllm", "VLLM::Worker", [None] * 4),
        ("vllm", "VLLM::Worker_TP12", [None, None, None, "12"]),
        ("sglang", "sglang::scheduler_DP0_TP1", ["0", None, "1"]),
        ("sglang", "sglang::scheduler_DP3_TP3_EP3", ["3", None, "3"]),
        ("sglang", "sglang::scheduler_TP1_PP2", [None, "2", "1"]),
        ("sglang", "sglang::scheduler", [None] * 3),
    ],
)
def test_ranks_in_real_titles(profile, title, ranks):
    workers = SHIPPED[profile].workers
    assert re.search(workers.title, title)
    found = [re.search(expression, title) for expression in workers.ranks]
    assert [match[1] if match else None for match in found] == ranks


def test_uses_may_go_round_in_circles():
    one = Profile("one", "", hot=(HotRule("a"),), uses=("two",))
    two = Profile("two", "", hot=(HotRule("b"), HotRule("a")), uses=("one", "two"))
    assert [rule.thread for rule in hot_rules({"one": one, "two": two}, "one")] == ["a", "b"]


def test_an_operators_profiles_are_added_and_replace(tmp_path):
    (tmp_path / "mine.toml").write_text('about = "mine"\ncommands = ["mine"]\n[workers]\nvariables = ["R"]\n')
    (tmp_path / "vllm.toml").write_text('[[hot]]\nthread = "x"\n')
    (tmp_path / "README").write_text("no profile")
    found = read_profiles(str(tmp_path))
    assert set(found) == {*SHIPPED, "mine"}
    assert found["mine"].workers.variables == ("R",)
    assert (found["vllm"].hot, found["vllm"].uses) == ((HotRule("x"),), ())


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("about = ", "is no TOML"),
        (b"\xff\xfe", "is no TOML"),
        ("[" * 5000, "is no TOML"),
        ("abuot = 'x'", "'abuot' is no key; there are about, commands, flags, hot"),
        ("about = 7", "about is '7'; it should be a text"),
        ("commands = 'vllm'", "commands is 'vllm'; it should be a list of texts"),
        ("commands = [7]", "commands is '7'; it should be text"),
        ("commands = ['(']", "no regular expression"),
        ("hot = 'x'", "hot is 'x'; it should be a list of tables"),
        ("hot = ['x']", "hot is a list of something else"),
        ("[[hot]]\nprocess = 'x'", "hot.thread is nothing; it should be a glob"),
        ("[[hot]]\nthread = 'x'\nnice = 1", "hot.'nice' is no key; there are process, thread"),
        ("[workers]\ntitle = '['", "workers.title is '[', no regular expression"),
        ("[workers]\nranks = ['_TP\\d']", "an expression without exactly one group"),
        ("[workers]\nranks = ['(a)(b)']", "an expression without exactly one group"),
        ("workers = 1", "workers is '1'; it should be a table"),
        ("[workers]\nrank = ['(a)']", "workers.'rank' is no key"),
        ("[workers]\nranks = ['(']", "it should be a regular expression with one group for the number"),
        ("commands = ['[[a]']", "no regular expression (Possible nested set"),
        ("about = 0x" + "f" * 6000, "about is a number of thousands of digits"),
        # Deeper than repr() goes; in two keys, since tomli takes at most 1,000 parts in one.
        ("[about" + ".a" * 900 + "]\na" + ".a" * 900 + " = 1", "about is a table; it should be a text"),
        ("commands = [['x']]", "commands is a list; it should be text"),
        ("[variables]\nA = 1", "variables is '1'; it should be text"),
        ("[variables]\n'A=B' = 'x'", "variables is a table with 'A=B' = 'x'; it should be a table of names of letters"),
        ("[variables]\n'' = 'x'", "variables is a table with '' = 'x'"),
        ('[variables]\nA = "\\u0000"', "and texts without NUL"),
        ("[flags]\nnode = '--x'", "flags is a table with 'node'; it should be a table of enable, nodes, cpus"),
        ("uses = ['none']", "bad.toml: uses is 'none', no profile; there are bad, nccl"),
        ("#" * (1 << 20) + "\n\n", "longer than 1 MiB"),
    ],
)
def test_what_is_wrong_is_a_sentence(tmp_path, content, sentence):
    file = tmp_path / "bad.toml"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(UsageError, match=re.escape(sentence)) as error:
        read_profiles(str(tmp_path))
    assert str(file) in error.value.message


@pytest.mark.parametrize("name", ["Two Words", "../x", "auto", "off", "UPPER", "-x", "x" * 50])
def test_a_name_that_no_option_could_give(tmp_path, name):
    (tmp_path / f"{name.replace('/', '%')}.toml").write_text("about = 'x'")
    with pytest.raises(UsageError, match="name is"):
        read_profiles(str(tmp_path))


def test_a_folder_that_is_none(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="Not a directory"):
        read_profiles(str(tmp_path / "file"))
    (tmp_path / "mine.toml").mkdir()
    with pytest.raises(UsageError, match="cannot be read"):
        read_profiles(str(tmp_path))
