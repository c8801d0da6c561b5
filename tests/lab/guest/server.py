"""Stands for a server: allocates memory in threads and in a child, then does what it is told, line by line.

server.py MIB          says "ready", then reads commands from standard input
grow MIB           the main thread allocates as much more, and says "grown"
end of file        leaves, and its child with it
"""

import mmap
import os
import subprocess
import sys
import threading

THREADS = 4
PAGE = mmap.PAGESIZE
KEPT: list[mmap.mmap] = []


def allocate(mib: int) -> None:
    """Memory of a mapping of its own, every page touched: a page has a place only from then on."""
    area = mmap.mmap(-1, mib << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for place in range(0, mib << 20, PAGE):
        area[place] = 1
    KEPT.append(area)


def say(word: str) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


def work(mib: int, done: threading.Barrier) -> None:
    allocate(mib)
    done.wait()
    done.wait()  # never: the thread stays, to be looked at


def start_threads(mib: int) -> None:
    done = threading.Barrier(THREADS + 1)
    for _ in range(THREADS):
        threading.Thread(target=work, args=(mib // THREADS, done), daemon=True).start()
    done.wait()


def main(mib: int, *role: str) -> None:
    if role:
        allocate(mib)
    else:
        start_threads(mib * 4 // 5)
        child = [sys.executable, "-S", __file__, str(mib // 5), "child"]
        other = subprocess.Popen(child, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert other.stdout
        other.stdout.readline()
    say("ready")
    for line in sys.stdin:
        if line.startswith("grow "):
            allocate(int(line.split()[1]))
            say("grown")
    os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
