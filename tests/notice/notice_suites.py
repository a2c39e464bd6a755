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
# Recorded kernels, whose bytes `warpbit verify` compares with those of a GPU: what changes some is noticed.
RECORDED = ("attention", "gemm_int8", "gemm_mma", "gemm_sparse", "gemm_wgmma", "gemm_wmma", "hopper_tma_gemm", "hopper_warp_specialised",
            "layernorm", "transpose")
MOST, MOST_RECORDED = 20, 16


def answer_of(warpbit, most, *test):
    """What `warpbit notice` answers of one test."""
    run = subprocess.run([warpbit, "notice", "--most", str(most), "--json", "--", *test], stdout=subprocess.PIPE)
    answer = json.loads(run.stdout)
    assert answer["state"] == "tried" and answer["chosen"] > 0, answer
    assert run.returncode == (1 if answer["survived"] else 0), (test, run.returncode, answer["counts"])
    for one in answer["mistakes"]:
        assert one["before"] != one["after"] and one["line"] > 0, one
        # None is called a survivor that left the same bytes for all inputs.
        assert one["survived"] == (one["outcome"] in ("bytes", "fault", "finding", "values", "sizes", "not_executed")), one
    print(f"{test[-1]}: {answer['noticed']} of {answer['noticed'] + answer['survived']}, {answer['counts']}")
    return answer


def main(warpbit):
    for names in ORDERS:
        scores = [answer_of(warpbit, MOST, sys.executable, str(SUITES), name)["score"] for name in names]
        assert scores == sorted(scores, reverse=True) and scores[0] > scores[-1], (names, scores)
        assert scores[0] >= 0.95, (names[0], scores[0])
    answers = [answer_of(warpbit, MOST_RECORDED, warpbit, "verify", "--quiet", f"golden/kernels/{name}.zip") for name in RECORDED]
    noticed = sum(one["noticed"] for one in answers)
    changing = noticed + sum(one["survived"] - one["counts"]["not_executed"] - one["counts"]["finding"] for one in answers)
    assert changing >= 100 and noticed >= 0.95 * changing, (noticed, changing)


if __name__ == "__main__":
    main(*sys.argv[1:])
