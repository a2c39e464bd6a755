# SPDX-License-Identifier: Apache-2.0
import importlib.util
import json
import pickle
import xml.etree.ElementTree as xml
from fractions import Fraction

import numpy as np
import pytest

import warpbit
from conftest import CAPTURE, FORM as K16, SM_80, SM_90, again, arrays_of, refusal

K8 = "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"
ONE, BIG = 1.0, 2.0**24


def is_picture(text):
    return xml.fromstring(text.encode()).tag == "{http://www.w3.org/2000/svg}svg"


def test_an_element():
    e = warpbit.explain(SM_90, [ONE, ONE], np.array([0x3C00, 0x4000], np.uint16), BIG)
    assert (e.target, e.form, e.format, e.instructions, e.inferred) == ("sm_90", K16, "f32", 1, False)
    assert e.exact.decimal() == str(2**24 + 3)  # 2^24 + 1 + 2, cut to even numbers
    assert e.code == e.nearest - 1 and e.code == 0x4B800001
    assert e.result.ratio() == str(2**24 + 2) and e.ulps.ratio() == "1/2"
    assert [a.name for a in e.sums[0].addends][:2] == ["c", "a[0] b[0]"]
    assert (e.sums[0].window.e, e.sums[0].window.f) == (24, 25)
    assert repr(e) == f"<Explanation of {K16} on sm_90: 0x4b800001 (16777218)>"
    assert str(e) == e.text(100) and "a[1] b[1]" in str(e)
    assert max(len(line) for line in e.text(60).splitlines()) <= 60
    assert is_picture(e.svg()) and e._repr_svg_() == e.svg()
    assert json.loads(e.json())["target"] == "sm_90"
    assert again(e).sums[0].addends[1].kept == e.sums[0].addends[1].kept
    assert again(e).format == "f32"


def test_an_element_of_a_capture():
    d = warpbit.gather(warpbit.Instruction(K16, "sm_90a").operand("d"), arrays_of(CAPTURE)["d"])
    e = warpbit.explain_capture(CAPTURE, 3, row=4, column=2)
    assert e.code == e.recorded == d[3, 4, 2]
    assert "expected" in str(refusal(lambda: warpbit.explain_capture(CAPTURE, 16)))


def test_encoded_numbers():
    assert warpbit.explain(SM_90, warpbit.encode("f16", [1.0]), warpbit.encode("f16", [1.0]), np.uint32(0)).code == 0x3F800000


def test_codes_that_are_none():
    for a in ([1 << 64], [0.1], np.zeros((2, 2), np.uint16), np.zeros(2, np.int16), "12", [True]):
        refused = refusal(lambda: warpbit.explain(SM_90, a, [ONE]))
        assert refused.code == "view_mismatch" and refused.where == K16 and refused.seen.startswith("a is ")
    with pytest.raises(TypeError, match="expected an Instruction or a Computation, got object of type str"):
        warpbit.explain(K16, [ONE], [ONE])


def test_two_shapes():
    a = np.zeros(16, np.float16)
    a[[0, 8]] = ONE
    shallow = warpbit.Instruction(K8, "sm_90")
    c = warpbit.compare([warpbit.Computation(SM_90), warpbit.Computation(shallow, "ascending", 16)], a, a, BIG)
    assert [e.code for e in c.explanations] == [0x4B800001, 0x4B800000]  # 2^24 + 2 at once; 2^24 + 1 is cut, twice
    assert c.reasons[0] == "" and "after k = 8" in c.reasons[1]
    assert str(c).splitlines()[0].split() == ["m16n8k16", "0x4b800001", "(16777218)"]
    assert repr(c) == "<ElementComparison: m16n8k16 0x4b800001 (16777218) m16n8k8 0x4b800000 (16777216)>"
    assert c._repr_html_().count("<svg") == 2
    again(c)
    assert warpbit.codes_between("f32", 0x4B800000, 0x4B800001) == 1
    assert warpbit.codes_between("f32", 0x80000000, 0) == 0 and warpbit.codes_between("f32", 0x7FFFFFFF, 0) is None


def test_a_search():
    search = warpbit.find_difference(SM_80, SM_90)
    found = search.found
    assert not search.equal_steps
    codes = [warpbit.explain(i, found.inputs.a, found.inputs.b, found.inputs.c).code for i in (SM_80, SM_90)]
    assert codes[0] != codes[1] and codes == [e.code for e in found.comparison.explanations]
    assert "sm_80" in str(search)
    again(search)
    equal = warpbit.find_difference(SM_90, warpbit.Instruction(K16, "sm_100"))
    assert equal.found is None and equal.equal_steps and str(equal) == "equal: no input tells them apart"


def test_many_elements():
    instructions = [SM_80, SM_90]
    whole = warpbit.compare_generated(instructions, 20, seed=3, profile="mixed")
    inputs = warpbit.generate(instructions[1], 20, seed=3, profile="mixed")
    other = warpbit.execute(instructions[0], inputs["a"], inputs["b"], inputs["c"]).d
    differing = other != inputs["d"]
    assert (whole.cases, whole.elements) == (20, 20 * 128)
    assert whole.results[1].differing == np.count_nonzero(differing) > 0
    assert whole.first.index == np.flatnonzero(differing.any(axis=(1, 2)))[0]
    shares = [warpbit.compare_generated(instructions, 20, seed=3, profile="mixed", shard=(i, 3)) for i in (3, 1, 2)]
    assert warpbit.merge(shares) == whole
    assert "first: case" in str(whole)
    assert repr(whole) == f"<Comparison of 2560 elements, differing from the first: {whole.results[1].differing}>"
    again(whole)
    for shard in ((0, 3), (4, 3)):
        with pytest.raises(warpbit.Error, match=r"expected \(i, n\) with 1 <= i <= n"):
            warpbit.compare_generated(instructions, 20, shard=shard)
    with pytest.raises(warpbit.Error, match="profile: 'wild'; expected one of uniform, ordinary"):
        warpbit.compare_generated(instructions, 20, profile="wild")
    assert "no computation" in str(refusal(lambda: warpbit.compare_generated([], 20)))


def test_error_statistics():
    c = warpbit.compare_generated([SM_80, SM_90], 20, seed=3, profile="ordinary")
    inputs = warpbit.generate(SM_90, 20, seed=3, profile="ordinary")
    a, b, start = (warpbit.decode(f, warpbit.gather(SM_90.operand(n), inputs[n])) for n, f in
                   (("a", "f16"), ("b", "f16"), ("c", "f32")))
    d = warpbit.decode("f32", warpbit.gather(SM_90.operand("d"), inputs["d"]))
    expected = []
    for index, row, column in np.ndindex(d.shape):
        exact = Fraction(start[index, row, column])
        exact += sum(Fraction(x) * Fraction(y) for x, y in zip(a[index, row], b[index, :, column]))
        # The denominator is a power of two.
        exponent = max(abs(exact.numerator).bit_length() - exact.denominator.bit_length(), -126) if exact else -126
        expected.append(float((Fraction(d[index, row, column]) - exact) / Fraction(2) ** (exponent - 23)))
    result = c.results[1]
    assert result.errors.tolist() == sorted(expected)
    statistics = result.statistics
    magnitudes = sorted(abs(x) for x in expected)
    assert statistics.elements == len(expected) == 20 * 128
    assert (statistics.p50, statistics.max) == (magnitudes[1279], magnitudes[-1])
    assert result.correctly_rounded <= sum(x <= 0.5 for x in magnitudes)
    assert c.names == ["sm_80", "sm_90"] and c.format == "f32"
    assert sum(b.counts[1] for b in c.histogram) == len(expected)
    assert c.text(80).startswith("20 cases, 2560 elements\n") and "99.9 %" in c.text(80)
    assert str(c) == c.text(100)
    assert again(c).results[1].statistics == statistics


def test_the_example_of_error_statistics():
    spec = importlib.util.spec_from_file_location("error_statistics", "examples/error_statistics.py")
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    forms = [(K16, "sm_80"), (K16, "sm_90")]
    c = example.compare(forms, depth=32, cases=2)
    assert c.elements == 256 and [b.up_to for b in c.histogram][:2] == [0, 0.125]


def test_what_matrix_products_use_instead():
    fp8 = warpbit.Instruction("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", "sm_90")
    form = "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3"
    assert form in fp8.note and form in warpbit.explain(fp8, [1], [1]).note
    assert SM_90.note == "" and warpbit.Instruction(form, "sm_90a").note == ""


def test_a_scaled_group():
    nvfp4 = warpbit.Instruction(
        "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3", "sm_120a")
    e = warpbit.explain(nvfp4, [1, 2], [1, 2], a_scale=[0.5], b_scale=[0.5])
    codes = [0b0010, 0b0100]  # 1 and 2
    assert warpbit.explain(nvfp4, codes, codes, a_scale=[0x30], b_scale=[0x30], codes=True) == e
    group = e.sums[0].addends[1].group
    assert [x.decimal() for x in (group.sum, group.a_scale, group.b_scale)] == ["5", "0.5", "0.5"]
    assert e.result.decimal() == "1.25" and e.sums[0].addends[0].group is None
    again(e)


def test_a_capture_on_other_targets():
    c = warpbit.compare_capture(CAPTURE, [SM_90, warpbit.Instruction(K16, "sm_100"), SM_80])
    file = arrays_of(CAPTURE)
    older = warpbit.execute(SM_80, *(file[n] for n in "abc")).d
    assert c.results[2].differing == np.count_nonzero(older != file["d"]) > 0
    assert c.results[1].differing == 0


def test_a_diagnosis():
    inputs = warpbit.generate(SM_90, 4, seed=1, profile="ordinary")
    a, b, c = (inputs[n] for n in "abc")
    right = warpbit.diagnose(SM_90, a, b, c, d=inputs["d"])
    assert right.verdict == "correct" and right.right == right.elements == 4 * 128
    d = warpbit.execute(SM_90, a, b, np.zeros_like(c)).d
    wrong = warpbit.diagnose(SM_90, a, b, c, d=d)
    assert wrong.verdict == "mistake" and wrong.findings[0].operand == "c" and wrong.findings[0].certain
    assert wrong.findings[0].mistake in str(wrong)
    again(wrong)
    with pytest.raises(warpbit.Error, match=r"d is uint32 of shape \(3, 32, 4\); expected 4 cases"):
        warpbit.diagnose(SM_90, a, b, c, d=d[:3])


def test_a_diagnosis_of_whole_matrices():
    rng = np.random.default_rng(1)
    a, b = (rng.uniform(-2, 2, size).astype(np.float16) for size in [(40, 56), (56, 24)])
    d = warpbit.gemm(SM_90, a, b, order="descending").d
    found = warpbit.diagnose_product(SM_90, a, b, d=d)
    assert found.verdict == "mistake" and found.findings[0].kind == "k_order"
    assert "descending" in found.findings[0].mistake
    tail = warpbit.gemm(SM_90, np.where(np.arange(56) < 48, a, np.float16(0)), b).d
    assert warpbit.diagnose_product(SM_90, a, b, d=tail).findings[0].kind == "tail_missing"
    with pytest.raises(warpbit.Error, match=r"expected shape \(40, 24\)"):
        warpbit.diagnose_product(SM_90, a, b, d=d[:3])


def test_a_diagnosis_of_a_product_of_wgmma():
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-9, 10, size).astype(np.float16) for size in [(128, 64), (64, 64)])
    wgmma = warpbit.Instruction("wgmma.m64n64k16.f32.f16", "H100")
    d = a.astype(np.float32) @ b.astype(np.float32)  # small integers
    assert warpbit.diagnose_product(wgmma, a, b, d=d).verdict == "correct"
    assert warpbit.diagnose_product(wgmma, a, b, d=d.astype(np.float16), store="f16").verdict == "correct"
    relu = warpbit.diagnose_product(wgmma, a, b, d=np.maximum(d, 0))
    assert relu.findings[0].kind == "relu" and relu.where == []
    noise = d.copy()
    noise[80:96] += 1 + rng.integers(0, 1000, (16, 64))
    found = warpbit.diagnose_product(wgmma, a, b, d=noise, pairs=False)
    assert found.verdict == "none" and found.where[0].is_complete and found.where[0].wrong == 1024
    assert str(found.where[0]) == "1024 wrong: all with tile row 1, warp 1, row 80 to 95"
    assert found.where[0].indices[1].values == [1] and found.where[0].indices[1].size == 4
    assert str(found.where[0]) in str(found)
    again(found)


def test_a_diagnosis_of_a_file(tmp_path):
    inputs = warpbit.generate(SM_90, 4, seed=1)
    transposed = warpbit.scatter(SM_90.operand("a"), np.ascontiguousarray(
        warpbit.gather(SM_90.operand("a"), inputs["a"]).transpose(0, 2, 1)))
    d = warpbit.execute(SM_90, transposed, inputs["b"], inputs["c"]).d
    warpbit.write_capture(tmp_path / "wrong.npz", K16 + " {d}, {a}, {b}, {c};", SM_90.target, {**inputs, "d": d})
    assert warpbit.diagnose_capture(tmp_path / "wrong.npz").findings[0].kind == "transposed"
    assert warpbit.diagnose_capture(str(tmp_path / "wrong.npz"), target="sm_80").target == "sm_80"


def test_layouts():
    l = warpbit.layout(K16, "a")
    assert [o.role for o in l.operands] == ["a"] and l.operands[0].medium == "registers"
    # groupID = lane / 4: element (9, 3) is in lane 4 (9 - 8) + 1, register 1, the upper half.
    assert l.where("a[9,3]") == ["a[9,3]: lane 5, register 1, bits 31:16"]
    assert any("9" in line and "3" in line for line in l.where("a lane 5 reg 1"))
    cells = l.operands[0].cells
    assert cells.shape == (256, 7)
    assert cells[(cells[:, 1] == 9) & (cells[:, 2] == 3)].tolist() == [[0, 9, 3, 5, 1, 16, 16]]
    assert is_picture(l.svg()) and l._repr_svg_() == l.svg()
    assert len(json.loads(l.json())["elements"]) == 256
    assert l.csv().count("\n") == 257 and l.markdown().startswith("|")
    assert str(l) and l.text(by_lanes=True) != l.text()
    assert "operand" in str(refusal(lambda: warpbit.layout(SM_90, "e")))
    # CUTLASS, mma_traits_sm80.hpp: SM80_16x8x16_F32F16F16F32_TN::ALayout.
    assert (l.operands[0].cute, l.operands[0].cute_domain) == ("((4,8),(2,2,2)):((32,1),(16,8,128))", "(T32,V8) -> (M16,K16)")
    tile = warpbit.layout("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16", "b", swizzle=128, tile=(64, 64))
    assert (tile.operands[0].rows, tile.operands[0].columns, len(tile.operands[0].cells)) == (64, 64, 64 * 64)
    assert "multiples of" in str(refusal(
        lambda: warpbit.layout("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16", "b", swizzle=128, tile=(60, 64))))


def test_fragment_moves():
    found = warpbit.fragment_moves(K16, "a")
    rows = found.moves[0]
    assert (rows.form, rows.order, rows.row, rows.column) == (
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16", "row_major", "i % 16", "i / 16 * 8")
    assert rows.registers == [[0, 1, 2, 3]] and rows.addresses[17] == (0, 0, 17, 1, 8)
    assert json.loads(found.json())["moves"][0]["form"] == rows.form and rows.form in str(found)
    assert "operand" in str(refusal(lambda: warpbit.fragment_moves(K16, "e")))


def test_scale_factors():
    scales = warpbit.ScaleLayout(200, 6)
    assert scales.bytes == 4 * 512 and scales.offset(37, 2) == 37 % 32 * 16 + 4 + 2
    assert scales.at(37 % 32 * 16 + 4 + 2) == (37, 2) and scales.at(2047) is None
    assert warpbit.ScaleLayout(200, 6, "linear").offset(3, 1) == 19
    assert "rows" in str(refusal(lambda: scales.offset(200, 0)))


def test_descriptors():
    d = warpbit.Descriptor(start=0x400, leading=16, stride=1024, swizzle=128)
    assert d.encode() == 1 << 62 | 64 << 32 | 1 << 16 | 0x40
    assert warpbit.Descriptor.decode(d.encode()) == d == pickle.loads(pickle.dumps(d))
    assert (d.start, d.leading, d.stride, d.base_offset, d.swizzle) == (0x400, 16, 1024, 0, 128)
    assert str(d).startswith("start 0x400, LBO 16, SBO 1024, base offset 0, 128-byte swizzle")
    assert refusal(lambda: warpbit.Descriptor(start=8).encode()).code == "descriptor_field"
    assert "expected 0, 32, 64 or 128 bytes" in str(refusal(lambda: warpbit.Descriptor(swizzle=16)))
