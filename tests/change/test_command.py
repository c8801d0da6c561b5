"""Which command it is: found as execvp(3) finds it, and 126 or 127 before anything is touched."""

import os
import shutil
import stat
from pathlib import Path

import pytest

from numapin.command import DEFAULT_PATH
from tests.change.launch import RUN, SCRIPT, environment, numapin

STEPS = (b"sched_setaffinity", b"set_mempolicy", b"execve")


def executable(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    path.chmod(0o755)
    return path


def refuses(done, status: int, *named: str) -> None:
    """One sentence that names the command, no step done or tried, no traceback."""
    assert done.returncode == status, done
    assert done.stdout == b""
    sentence, *hints = done.stderr.decode().splitlines()
    assert sentence.startswith("numapin: cannot execute ")
    assert all(name in sentence for name in named), sentence
    assert all(line.startswith("  hint: ") for line in hints)
    assert not any(step in done.stderr for step in STEPS)


@pytest.mark.parametrize("name", ["no-such-command", "/no/such/file", "./no-such-file", "no/such/../file"])
def test_a_command_that_is_not_there_is_127(name):
    """By name or by path."""
    refuses(numapin(*RUN, name), 127, name)


def test_an_empty_name_is_127():
    """As a shell has it: the empty word is no command."""
    refuses(numapin(*RUN, ""), 127)


def test_a_directory_is_126(tmp_path):
    """By path; one in PATH is passed over, as execvp(3) does."""
    refuses(numapin(*RUN, str(tmp_path)), 126, str(tmp_path), "directory")
    (tmp_path / "server").mkdir()
    refuses(numapin(*RUN, "server", env=environment(PATH=str(tmp_path)), via=SCRIPT), 127, "server")


def test_a_file_that_is_not_executable_is_126(tmp_path):
    """By path and in PATH."""
    (tmp_path / "server").write_text("#!/bin/sh\n")
    refuses(numapin(*RUN, str(tmp_path / "server")), 126, str(tmp_path / "server"), "not executable")
    refuses(numapin(*RUN, "server", env=environment(PATH=str(tmp_path)), via=SCRIPT), 126, "server", "not executable")


def test_a_file_that_is_no_program_is_126(tmp_path):
    """ENOEXEC: a shell would run it as a script of its own; execve(2) does not."""
    file = executable(tmp_path / "server", "echo no first line\n")
    refuses(numapin(*RUN, str(file)), 126, str(file), "#!")


def test_an_empty_file_is_126(tmp_path):
    """It is executable, and nothing to execute."""
    file = executable(tmp_path / "server", "")
    refuses(numapin(*RUN, str(file)), 126, str(file))


def test_a_missing_interpreter_is_127_and_says_that_it_is_the_interpreter(tmp_path):
    """The file is there: "no such file" would send the reader looking in the wrong place."""
    file = executable(tmp_path / "server", "#!/no/such/interpreter\n")
    refuses(numapin(*RUN, str(file)), 127, str(file), "interpreter")


def test_an_interpreter_that_may_not_be_executed_is_126(tmp_path):
    """EACCES of the interpreter, not of the file."""
    (tmp_path / "interpreter").write_text("")
    file = executable(tmp_path / "server", f"#!{tmp_path}/interpreter\n")
    refuses(numapin(*RUN, str(file)), 126, str(file))


def test_a_path_through_a_file_is_127(tmp_path):
    """ENOTDIR."""
    file = executable(tmp_path / "server", "#!/bin/sh\n")
    refuses(numapin(*RUN, f"{file}/deeper"), 127, f"{file}/deeper")


def test_links_in_circles_are_refused(tmp_path):
    """ELOOP: whatever the status, a sentence and no traceback."""
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    done = numapin(*RUN, str(tmp_path / "a"))
    refuses(done, done.returncode, str(tmp_path / "a"))
    assert done.returncode in (126, 127)


def test_a_name_that_is_no_text_is_named_all_the_same():
    """The kernel's names are bytes; the sentence shows them escaped."""
    refuses(numapin(*RUN, b"/nowhere/caf\xe9"), 127, "/nowhere/caf")


@pytest.mark.parametrize("name", ["./server", "folder/../server", "server"])
def test_relative_names_are_looked_up_from_here(tmp_path, name):
    """With a slash from the working directory, without one in PATH, whose own parts may be relative too."""
    (tmp_path / "folder").mkdir()
    executable(tmp_path / "server", '#!/bin/sh\necho "$0"\n')
    done = numapin(*RUN, name, cwd=tmp_path, via=SCRIPT, env=environment(PATH=f".:{os.environ['PATH']}"))
    assert (done.returncode, done.stdout.decode().strip()) == (0, name if "/" in name else "./server")


def test_the_first_executable_in_path_counts(tmp_path):
    """What is there and not executable is passed over for what is."""
    for name, mode in (("one", 0o644), ("two", 0o755), ("three", 0o755)):
        (tmp_path / name).mkdir()
        executable(tmp_path / name / "server", f"#!/bin/sh\necho {name}\n").chmod(mode)
    path = ":".join(str(tmp_path / name) for name in ("none", "one", "two", "three"))
    assert numapin(*RUN, "server", via=SCRIPT, env=environment(PATH=path)).stdout == b"two\n"


def test_an_empty_part_of_path_is_the_working_directory(tmp_path):
    """`PATH=:/bin` (environ(7))."""
    executable(tmp_path / "server", "#!/bin/sh\necho here\n")
    for path in (":/nowhere", "/nowhere:", "/nowhere::/nowhere"):
        assert numapin(*RUN, "server", cwd=tmp_path, via=SCRIPT, env=environment(PATH=path)).stdout == b"here\n"


def test_without_path_the_usual_places_are_searched():
    """No PATH at all: what a login would have."""
    variables = environment()
    del variables["PATH"]
    assert set(DEFAULT_PATH.split(":")) >= {"/usr/bin", "/bin"}
    assert numapin(*RUN, "sh", "-c", "echo found", via=SCRIPT, env=variables).stdout == b"found\n"


def test_an_empty_path_is_the_working_directory(tmp_path):
    """As execvp(3) and sh(1) have it: PATH= is one empty part."""
    executable(tmp_path / "server", "#!/bin/sh\necho here\n")
    refuses(numapin(*RUN, "sh", cwd=tmp_path, via=SCRIPT, env=environment(PATH="")), 127, "sh")
    assert numapin(*RUN, "server", cwd=tmp_path, via=SCRIPT, env=environment(PATH="")).stdout == b"here\n"


def test_the_name_by_which_it_was_called_is_the_first_argument(tmp_path):
    """busybox and others look at it."""
    place = Path(shutil.which("sh") or "/bin/sh")
    assert numapin(*RUN, "sh", "-c", "echo $0").stdout == b"sh\n"
    link = tmp_path / "other-name"
    link.symlink_to(place)
    assert numapin(*RUN, str(link), "-c", "echo $0").stdout.decode() == f"{link}\n"


def test_a_program_that_may_be_executed_and_not_read_runs(tmp_path, probe):
    """Mode 0111: execve(2) needs no read permission."""
    copy = tmp_path / "server"
    shutil.copy(probe, copy)
    copy.chmod(stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    assert numapin(*RUN, str(copy)).returncode == 0
