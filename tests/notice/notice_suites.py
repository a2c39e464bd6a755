# SPDX-License-Identifier: Apache-2.0
"""Of the suites in suites.py, the stronger one notices more: notice_suites.py WARPBIT."""
import json
import pathlib
import subprocess
import sys

SUITES = pathlib.Path(__file__).with_name("suites.py")
# From strong to empty, of each kernel; the last number is how many survive, of all mistakes that change something.
ORDERS = [("saxpy_bits", "saxpy_one_shape", "saxpy_tolerance", "saxpy_empty"),
          ("row_sums_bits", "row_sums_tolerance", "row_sums_ones", "row_sums_empty"),
          ("transpose_bits", "transpose_one_shape", "transpose_ones", "transpose_empty")]
MOST = 20


def asked(warpbit, name):
    """What `warpbit notice` answers of one suite."""
    command = [warpbit, "notice", "--most", str(MOST), "--json", "--", sys.executable, str(SUITES), name]
    run = subprocess.run(command, stdout=subprocess.PIPE)
    answer = json.loads(run.stdout)
    assert answer["state"] == "tried" and answer["chosen"] > 0, answer
    assert run.returncode == (1 if answer["survived"] else 0), (name, run.returncode, answer["counts"])
    for one in answer["mistakes"]:
        assert one["before"] != one["after"] and one["line"] > 0, one
        # None is called a survivor that left the same bytes for all inputs.
        assert one["survived"] == (one["outcome"] in ("bytes", "fault", "values", "sizes", "not_executed")), one
    print(f"{name}: {answer['score']:.2f} of {answer['noticed'] + answer['survived']}, {answer['counts']['same']} may change nothing")
    return answer


def main(warpbit):
    for names in ORDERS:
        scores = [asked(warpbit, name)["score"] for name in names]
        assert scores == sorted(scores, reverse=True) and scores[0] > scores[-1], (names, scores)
        assert scores[0] >= 0.95, (names[0], scores[0])


if __name__ == "__main__":
    main(*sys.argv[1:])
