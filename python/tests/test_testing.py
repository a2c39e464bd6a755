# SPDX-License-Identifier: Apache-2.0
"""warpbit.testing: what is said of arrays that differ, written by hand; its fixture of pytest, and its method for unittest."""

import os
import pathlib
import pickle
import subprocess
import sys
import unittest

import numpy as np
import pytest

import stand_ins
import warpbit
from conftest import SM_90, again, refusal
from warpbit.testing import BitsAssertions, BitsDiffer, assert_bits_equal

FOLDER = pathlib.Path(warpbit.__file__).parents[1]
MAP = "a character is 1 row x 1 column: · right, ░▒▓ some wrong, █ all wrong\n"


def differ(got, expected, **how):
    with pytest.raises(BitsDiffer) as raised:
        assert_bits_equal(got, expected, **how)
    return raised.value


def ones(*shape):
    return np.ones(shape, np.float32)


def test_equal():
    x = np.float32([[np.nan, -0.0], [np.inf, 1]])
    assert_bits_equal(x, x.copy())
    assert_bits_equal(x.T, np.ascontiguousarray(x.T))
    assert_bits_equal(x, x.view(np.uint32))
    assert_bits_equal(np.float32(2), np.float32(2))
    assert_bits_equal(np.zeros((0, 4)), np.zeros((0, 4)))


def test_the_whole_message():
    got = ones(4, 8)
    got[1:3, 4:] = 1 + 2.0**-22
    assert str(differ(got, ones(4, 8), name="d")) == (
        "8 of 32 elements of d differ, numbers by at most 2 ulp\n"
        "first at [1, 4]: expected 0x3f800000 (1), got 0x3f800002 (1.000000238418579), 2 ulp apart\n"
        "8 wrong: all with row 1 to 2, column 4 to 7\n" + MAP +
        "0 ········\n"
        "1 ····████\n"
        "2 ····████\n"
        "3 ········")


def test_bits_that_numbers_hide():
    zero = differ(np.float16([0, 1]), np.float16([-0.0, 1]))
    assert str(zero).splitlines()[:2] == ["1 of 2 elements of the array differ",
                                          "first at [0]: expected 0x8000 (-0), got 0x0000 (0): the same number, with other bits"]
    nan = differ(np.uint32([0x7FC00001]).view(np.float32), np.float32([np.nan]))
    assert nan.comparison.first.got == 0x7FC00001 and nan.comparison.first.distance is None
    assert str(nan).endswith("expected 0x7fc00000 (nan), got 0x7fc00001 (nan): both NaN, with other bits")


def test_every_kind_of_array(monkeypatch):
    torch = stand_ins.torch(monkeypatch)
    codes = np.uint16([0x3F80, 0x4000])
    tensor = stand_ins.Tensor(codes, torch.bfloat16)
    assert_bits_equal(tensor, codes)
    assert_bits_equal(tensor, codes.view(np.int16))
    said = differ(stand_ins.Tensor(np.uint16([0x3F80, 0x4001]), torch.bfloat16), tensor)
    assert str(said).splitlines()[1] == "first at [1]: expected 0x4000 (2), got 0x4001 (2.015625), 1 ulp apart"
    assert said.comparison.format == "bf16"
    assert str(differ(codes, codes[::-1], format="f16")).splitlines()[1].startswith("first at [0]: expected 0x4000 (2), ")
    assert str(differ(codes, codes[::-1])).splitlines()[1] == "first at [0]: expected 0x4000, got 0x3f80"
    assert str(differ(np.int32([5, 2]), np.int32([5, -1]))).splitlines()[1] == "first at [1]: expected 0xffffffff (-1), got 0x00000002 (2), 3 apart"
    assert str(differ(np.int16([5]), np.int16([-1]))).splitlines()[1] == "first at [0]: expected 0xffff, got 0x0005"
    assert_bits_equal(memoryview(codes), codes)


@pytest.mark.parametrize("got, expected, seen, accepted", [
    (ones(2, 3), ones(3, 2), "float32 of shape (2, 3)", "uint32 or float32 of shape (3, 2), as expected, float32 of shape (3, 2), has"),
    (np.zeros(3), ones(3), "float64 of shape (3,)", "uint32 or float32 of shape (3,), as expected, float32 of shape (3,), has"),
    (np.zeros(3, np.int32), ones(3), "int32 of shape (3,)", "uint32 or float32 of shape (3,), as expected, float32 of shape (3,), has"),
    (np.zeros(3, np.uint16), ones(3), "uint16 of shape (3,)", "uint32 or float32 of shape (3,), as expected, float32 of shape (3,), has"),
    ([1.0], ones(1), "object of type list", "an array or tensor of floats, integers or codes (unsigned) in this machine's byte order"),
    (ones(1), np.zeros(1, bool), "bool of shape (1,)", "an array or tensor of floats, integers or codes (unsigned) in this machine's byte order"),
    (ones(1), ones(1).astype(">f4"), ">f4 of shape (1,)", "an array or tensor of floats, integers or codes (unsigned) in this machine's byte order"),
])
def test_what_cannot_be_compared(got, expected, seen, accepted):
    error = refusal(lambda: assert_bits_equal(got, expected, name="d"))
    assert (error.code, error.seen, error.accepted) == ("view_mismatch", seen, accepted)
    assert error.where == ("d, expected" if seen.startswith(("bool", ">")) else "d")


def test_a_format_that_does_not_fit():
    error = refusal(lambda: assert_bits_equal(np.uint32([1]), np.uint32([1]), format="f16"))
    assert (error.seen, error.accepted) == ('uint32 of shape (1,) with format="f16"', "uint16 or float16")
    assert refusal(lambda: assert_bits_equal(np.uint32([1]), np.uint32([1]), format="f31")).code == "usage"


# ---- The mistake

def product():
    a = (np.arange(32 * 16) % 7 - 3).reshape(32, 16).astype(np.float16)
    b = (np.arange(16 * 16) % 11 - 5).reshape(16, 16).astype(np.float16)
    return a, b, a.astype(np.float32) @ b.astype(np.float32)  # small integers: exact


def test_the_mistake_that_explains_all():
    a, b, d = product()
    c = np.arange(32 * 16, dtype=np.float32).reshape(32, 16)
    d += c
    # PTX manual, fragments of mma.m16n8k16: d1 is the right neighbour of d0, and d2 is 8 rows below.
    got = d.copy()
    one, other = d.reshape(2, 2, 8, 8, 2), got.reshape(2, 2, 8, 8, 2)
    other[:, 0, :, :, 1], other[:, 1, :, :, 0] = one[:, 1, :, :, 0], one[:, 0, :, :, 1]
    said = differ(got, d, a=a, b=b, c=c, instruction=SM_90)
    assert said.diagnosis.verdict == "mistake" and said.diagnosis.findings[0].mistake == "registers of D: d1 and d2 are exchanged"
    lines = str(said).splitlines()
    assert lines[3].startswith("mistake: registers of D: d1 and d2 are exchanged (explains all 512 elements")
    assert lines[-33] + "\n" == MAP
    same = differ(d, d + 1, a=a, b=b, c=c, instruction="mma.m16n8k16.f32.f16", target="H100")
    # Where all is wrong there is no map.
    assert str(same).endswith("\nthe array is what mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 gives on sm_90a: look at what was expected")
    assert same.diagnosis.verdict == "correct"


def test_no_diagnosis_says_why():
    a, b, d = product()
    said = differ(-d[:16], d[:16], a=a, b=b, instruction=SM_90)
    assert said.diagnosis is None
    line, = [line for line in str(said).splitlines() if line.startswith("no diagnosis: ")]
    assert "shape (32, 16)" in line


@pytest.mark.parametrize("how, seen", [
    ({"a": ones(1, 1)}, "no b"),
    ({"a": ones(1, 1), "b": ones(1, 1)}, "no instruction"),
    ({"instruction": SM_90}, "no a"),
    ({"a": ones(1, 1), "b": ones(1, 1), "instruction": "mma.m16n8k16.f32.f16"}, "the instruction 'mma.m16n8k16.f32.f16' without a target"),
    ({"launch": "gemm"}, "launch is a str"),
    ({"launch": (1, 2)}, "launch is a tuple"),
])
def test_wrong_use_is_told_though_the_arrays_are_equal(how, seen):
    error = refusal(lambda: assert_bits_equal(ones(1), ones(1), **how))
    assert (error.code, error.seen) == ("usage", seen)


# ---- The store

PTX = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry pairs(.param .u64 out, .param .u32 last) {
  .reg .pred %p<2>;
  .reg .b32 %r<6>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [out];
  ld.param.u32 %r5, [last];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %tid.x;
  mad.lo.u32 %r3, %r1, 32, %r2;
  mul.wide.u32 %rd2, %r3, 8;
  add.u64 %rd3, %rd1, %rd2;
  setp.ge.u32 %p1, %r3, %r5;
  @%p1 bra done;
  st.global.v2.u32 [%rd3], {%r3, %r2};
done:
  ret;
}
"""
LINE = 1 + PTX.splitlines().index("  st.global.v2.u32 [%rd3], {%r3, %r2};")


def launched(last=64):
    kernel = warpbit.RawModule(PTX).get_function("pairs")
    d = np.zeros((64, 2), np.int32)
    kernel(2, 32, (d, last))
    return kernel, d


def test_the_store_of_the_first_wrong_element():
    kernel, d = launched()
    expected = d.copy()
    expected[37, 1] = 9
    before = d.copy()
    said = differ(d, expected, launch=(kernel, 2, 32, (d, 64)))
    assert ("\nstored by st.global.v2.u32 [%rd3], {%r3, %r2}\n"
                              f"  pairs, block (1, 0, 0)\n  PTX line {LINE}: warp 0, lane 5\n") in str(said)
    assert (d == before).all()
    found = kernel.find_store(2, 32, (d, 64), array=d, index=(37, 1))
    assert (found.block, found.at.warp, found.at.lanes, found.at.ptx_line) == ((1, 0, 0), 0, [5], LINE)
    assert found.statement == "st.global.v2.u32 [%rd3], {%r3, %r2}"
    again(found)


def test_an_element_that_nothing_stores():
    kernel, d = launched(8)
    expected = d.copy()
    expected[40, 0] = 1
    assert str(differ(d, expected, launch=(kernel, 2, 32, (d, 8)))).splitlines()[3] == "no store of a thread was found"
    said = differ(d, expected, launch=(kernel, 2, 32, (expected, 8), {"shared_mem": 0}))
    assert "\nno store found: " in str(said) and "an element that no argument holds" in str(said)
    assert refusal(lambda: kernel.find_store(2, 32, (d, 8), array=d, index=(64, 0))).accepted == "an index of an array of shape (64, 2)"
    assert refusal(lambda: kernel.find_store(2, 32, (d, 8), array=d, index=(1,))).accepted == "an index of an array of shape (64, 2)"


# ---- Data, pictures, frameworks

def test_a_comparison_as_data():
    got = ones(16, 16)
    got[8:, :8] = got[:8, 8:] = 2
    comparison = again(warpbit.compare_bits(got, ones(16, 16)))
    assert (comparison.elements, comparison.different, comparison.farthest) == (256, 128, 1 << 23)
    assert (comparison.first.index, comparison.first.expected, comparison.first.got) == ([0, 8], 0x3F800000, 0x40000000)
    tiles = comparison.tiles
    assert (tiles.size, tiles.wrong, tiles.all, tiles.row, tiles.column) == (8, 2, 4, 0, 8)
    assert comparison.shape == [16, 16] and sum(comparison.map.wrong) == 128
    assert repr(comparison) == "<BitsComparison: 128 of 256 elements of the array differ, numbers by at most 8388608 ulp>"
    assert warpbit.compare_bits(got, got).first is None and str(warpbit.compare_bits(got, got)) == ""
    error = differ(got, ones(16, 16))
    same = pickle.loads(pickle.dumps(error))
    assert str(same) == str(error) and same.comparison == comparison and same.diagnosis is None


def test_a_picture(tmp_path):
    path = tmp_path / "maps/d.svg"
    said = differ(ones(2, 2), -ones(2, 2), svg=path)
    assert str(said).endswith(f"\nmap: {path}")
    assert path.read_text(encoding="utf-8") == said.comparison.svg()
    assert_bits_equal(ones(2), ones(2), svg=tmp_path / "none.svg")
    assert not (tmp_path / "none.svg").exists()


def test_unittest(tmp_path):
    class Test(BitsAssertions, unittest.TestCase):
        bits_maps = tmp_path

        def test_d(self):
            self.assertBitsEqual(ones(2), ones(2))
            self.assertBitsEqual(ones(2), 2 * ones(2), "the second half", name="d")

    result = unittest.TestResult()
    Test("test_d").run(result)
    assert result.errors == [] and len(result.failures) == 1
    text = result.failures[0][1]
    file, = tmp_path.glob("*.svg")
    assert file.name.endswith("Test.test_d.svg")
    assert "2 of 2 elements of d differ, numbers by at most 8388608 ulp\n" in text
    assert text.endswith(f"\nmap: {file}\nthe second half\n")
    assert "warpbit/testing.py" not in text


TEST = """
import numpy as np

def test_right(assert_bits_equal):
    assert_bits_equal(np.float32([1]), np.float32([1]))

def test_wrong(assert_bits_equal):
    assert_bits_equal(np.float32([1, 2]), np.float32([1, 3]), name="d")
"""


def run_pytest(folder, *arguments):
    (folder / "conftest.py").write_text('pytest_plugins = ["warpbit.pytest_plugin"]\n')
    (folder / "test_d.py").write_text(TEST)
    done = subprocess.run([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", f"--basetemp={folder}/own", *arguments],
                          cwd=folder, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(FOLDER)})
    assert done.returncode == 1 and "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "1 of 2 elements of d differ, numbers by at most 4194304 ulp" in done.stdout
    assert "warpbit/testing.py" not in done.stdout and "pytest_plugin.py" not in done.stdout
    return done.stdout


def test_pytest_writes_into_the_folder_of_the_test(tmp_path):
    said = run_pytest(tmp_path)
    file, = (tmp_path / "own").rglob("*.svg")
    assert file.name == "test_wrong.svg" and f"map: {file}" in said


def test_pytest_writes_into_the_folder_that_it_is_told(tmp_path):
    said = run_pytest(tmp_path, "--bits-maps=maps")
    assert f"map: {tmp_path}/maps/test_d.py_test_wrong.svg" in said
    assert (tmp_path / "maps/test_d.py_test_wrong.svg").read_text(encoding="utf-8").startswith("<?xml")
    (tmp_path / "pytest.ini").write_text("[pytest]\nbits_maps = others\n")
    assert f"map: {tmp_path}/others/test_d.py_test_wrong.svg" in run_pytest(tmp_path)
