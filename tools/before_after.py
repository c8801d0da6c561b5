"""`make proof`: the table of the README, from an emulated computer with two nodes.

A server that answers like vLLM's and takes memory for every answer is started with its CPUs beside the GPU, its memory
and the NIC's interrupts across the link, and measured; then again behind numapin. QEMU has no slower link between its
nodes: memory, interrupts and scheduling are real there, latencies are not.
"""

import sys
import tempfile
from pathlib import Path

from demo import say

TOP = Path(__file__).parents[1]
sys.path.insert(0, str(TOP))

from tests.lab.boot import DidNotFinish  # noqa: E402 -- the lab is the tests'
from tests.lab.computers import TWO_SOCKETS  # noqa: E402
from tests.lab.rounds import CaseFailed, Round, Rounds  # noqa: E402


def main() -> int:
    """The exit status."""
    rounds = Rounds(Path(tempfile.mkdtemp(prefix="numapin-proof-")))
    try:
        say(f"booting {TWO_SOCKETS.name}, which takes a minute")
        seen = rounds.start(Round(TWO_SOCKETS, ("alignment",))).result()["before_and_after"]
    except (DidNotFinish, CaseFailed) as problem:
        print(f"proof: {problem}", file=sys.stderr)
        return 1
    finally:
        rounds.close()
    for words, told in (("numactl --cpunodebind=0 --membind=1", "misplaced"), ("numapin run --", "aligned")):
        report = seen[told]["json"]
        say(f"\n{words} SERVER; numapin verify: {report['verdict']}, exit {seen[told]['status']}")
        for reason in report["reasons"]:
            say(f"  {reason['code']}: {reason['message']}")
    say(f"\n$ numapin measure --baseline before.json\n{seen['after']['out']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
