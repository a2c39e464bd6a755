# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

import warpbit
from conftest import CAPTURE, FORM, GOLDEN, SM_80, SM_90, again, arrays_of, refusal

STATEMENT = FORM + " {d}, {a}, {b}, {c};"


def test_a_file_is_what_numpy_reads(recorded):
    capture = warpbit.Capture(CAPTURE)
    assert capture.header.statement == STATEMENT
    assert (capture.header.target, capture.header.layout, capture.header.source) == ("sm_90a", "registers", "hardware")
    assert "H200" in capture.header.provenance
    assert capture.arrays == {n: (a.dtype, a.shape) for n, a in recorded.items()}
    for name, array in recorded.items():
        read = capture.read(name)
        assert read.dtype == array.dtype and np.array_equal(read, array)
    assert refusal(lambda: capture.read("e")).code == "member_missing"
    again(capture.header)
    assert refusal(lambda: warpbit.Capture("none.npz")).code == "file_unreadable"
    assert refusal(lambda: warpbit.Capture(CAPTURE, max_bytes=100)).code == "archive_too_large"


def test_members(recorded):
    assert warpbit.capture_members(SM_90) == {n: (a.dtype, a.shape[1:]) for n, a in recorded.items()}


def test_verifying(recorded):
    report, = warpbit.verify(CAPTURE)
    assert (report.status, report.cases, report.elements, report.mismatches) == ("replayed", 16, 16 * 128, 0)
    assert report.error is None and str(report.path) == CAPTURE
    older, = warpbit.verify(CAPTURE, target="sm_80", details=2)
    assert older == warpbit.verify([CAPTURE], warpbit.Target("sm_80"), details=2)[0]
    d = warpbit.execute(SM_80, *(recorded[n] for n in "abc")).d
    assert older.mismatches == np.count_nonzero(d != recorded["d"]) and len(older.details) == 2
    assert str(again(older).details[0]) == str(older.details[0])


def test_a_mismatch_has_a_place(recorded, tmp_path):
    d = recorded["d"].copy()
    d[7, 22, 3] ^= 1  # lane 22, register 3: row 22 / 4 + 8, column 2 (22 % 4) + 1
    path = tmp_path / "changed.npz"
    warpbit.write_capture(path, STATEMENT, "sm_90a", {**recorded, "d": d})
    changed = arrays_of(path)
    assert np.array_equal(changed["d"], d) and bytes(changed["source"]) == b"model"
    report, = warpbit.verify(str(path))
    assert report.mismatches == 1
    m = report.details[0]
    assert (m.index, m.lane, m.reg, m.row, m.column) == (7, 22, 3, 13, 5)
    assert (m.expected, m.got, m.format) == (d[7, 22, 3], recorded["d"][7, 22, 3], "f32")
    assert "lane 22" in str(m)
    changes = warpbit.diff(CAPTURE, path)
    assert (changes.cases, changes.elements, changes.differences) == (16, 2048, 1)
    packed = tmp_path / "packed.npz"
    warpbit.pack_capture(path, packed, bytes=1)
    assert warpbit.verify(packed)[0].cases == 1


def test_many_files(tmp_path):
    bad = tmp_path / "bad.npz"
    bad.write_bytes(b"no archive")
    reports = warpbit.verify([CAPTURE, GOLDEN + "mma/mma_sync_aligned_m16n8k8_row_col_f32_f16_f16_f32.npz", tmp_path])
    assert [r.status for r in reports] == ["replayed", "replayed", "unreadable"]
    assert reports[2].error.code == "not_an_archive" and isinstance(reports[2].error, warpbit.Error)
    again(reports[2])
    totals = warpbit.totals(reports)
    assert (totals.files, totals.mismatches, totals.unreadable) == (3, 0, 1)
    assert str(totals).startswith("total: 3 files, ")
    shares = [warpbit.totals(warpbit.verify([GOLDEN + "mma/"], shard=(i, 40))) for i in (1, 2)]
    assert all(t.mismatches == 0 and t.other_shards > 0 for t in shares)


def test_work_is_bounded():
    file = "golden-digests/sm_90a/mma/mma_sync_aligned_m16n8k16_row_col_f32_f16_f16_f32.digests.npz"
    report, = warpbit.verify(file, max_products=1000)
    assert (report.status, report.error.code, report.elements) == ("unreadable", "archive_too_large", 0)
    assert "at most 1000 products are computed for a file" in str(report.error)


def test_running_arrays(recorded, tmp_path):
    np.savez(tmp_path / "in.npz", x=recorded["a"], y=recorded["b"], z=recorded["c"])
    header, cases, inferred = warpbit.run_arrays(str(tmp_path / "in.npz"), str(tmp_path / "out.npz"),
                                                 FORM + " {w}, {x}, {y}, {z};", "sm_90a")
    assert (header.source, cases, inferred) == ("model", 16, False)
    assert np.array_equal(arrays_of(tmp_path / "out.npz")["w"], recorded["d"])


def test_generated_inputs_do_not_depend_on_the_split():
    whole = warpbit.generate(SM_90, 50, seed=9, profile="mixed")
    assert list(whole) == ["a", "b", "c", "d"] and whole["b"].shape == (50, 32, 2)
    parts = [warpbit.generate(SM_90, n, seed=9, profile="mixed", first=first) for first, n in ((0, 7), (7, 1), (8, 42))]
    for name in whole:
        assert np.array_equal(np.concatenate([p[name] for p in parts]), whole[name])
    assert np.array_equal(warpbit.execute(SM_90, *(whole[n] for n in "abc")).d, whole["d"])
    assert not np.array_equal(warpbit.generate(SM_90, 50, seed=10, profile="mixed")["a"], whole["a"])


@pytest.mark.parametrize("arrays, code", [
    ({"a": [1, 2]}, "member_dtype"),
    ({"a": np.zeros(3, ">u4")}, "member_dtype"),
    ({"a": np.zeros(3, complex)}, "member_dtype"),
])
def test_what_no_capture_holds(arrays, code, tmp_path):
    assert refusal(lambda: warpbit.write_capture(tmp_path / "x.npz", STATEMENT, warpbit.Target("sm_90"), arrays)).code == code
    assert not (tmp_path / "x.npz").exists()
