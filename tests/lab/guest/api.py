"""A server that answers like vLLM's and takes memory for every answer: api.py MIB, then "PORT" on standard output."""

import mmap
import sys
from typing import Any

from tests.figures.api import Api, serving
from tests.lab.guest.server import allocate

ANSWER_MIB, KEPT_MIB = 4, 1


class Working(Api):
    """Touches new memory for each answer, as a server does for its batches, and keeps some, as for its caches."""

    def do_POST(self) -> None:  # noqa: N802 -- as http.server wants it
        size = ANSWER_MIB << 20
        with mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as area:
            for place in range(0, size, mmap.PAGESIZE):
                area[place] = 1
            super().do_POST()
        allocate(KEPT_MIB)


def main(mib: int) -> Any:
    allocate(mib)
    with serving(kind=Working) as (url, _):
        sys.stdout.write(f"{url}\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    main(int(sys.argv[1]))
