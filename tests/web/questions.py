# SPDX-License-Identifier: Apache-2.0
"""What is asked of the page, and the command line that says the same.

A row: an address; what is done there; a selector, of all the view or, behind "CAPTION | ", of the table of that caption; the
command; which texts of its answer the elements that are selected must have, in their order. What is done: "click CSS", "key NAME", "type CSS = TEXT" (and Enter), "set NAME = TEXT" for a parameter,
"line TEXT" for the line on top, "back".
"""
from collections import namedtuple

Question = namedtuple("Question", "address steps selector command texts")
Q = Question

MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
SPARSE = "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"
NVFP4 = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"
FP8 = "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32"
WGMMA = "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"
WGMMA_FP8 = "wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3"
TCGEN05 = "tcgen05.mma.cta_group::1.kind::f16"
MAP = "7f0000000000 20000066510 0 0 3ff00000fff 0 3f00000000000000 7f 4000 400 0 0 0 0 0 0"
ULP = ("--a", "0x0 0xbc00 0xc00", "--b", "0x0 0x3c00 0x800")  # where an A100 and an H100 differ by one unit in the last place
ULP_ADDRESS = "a=0x0%200xbc00%200xc00&b=0x0%200x3c00%200x800"


def of(key):
    """The texts of a list of objects: of("answers", "sentence") reads answer["answers"][i]["sentence"]."""
    return lambda answer: [str(item[key[1]]) for item in answer[key[0]]]


SENTENCES = of(("answers", "sentence"))


def places(operand):
    """ "T14 r0:16" for each element, row by row: lane, register and, if it is a part of one, the lowest bit. """
    def read(answer):
        about = next(o for o in answer["operands"] if o["operand"] == operand)
        elements = sorted((e["row"], e["column"], e) for e in answer["elements"] if e["operand"] == operand)
        return [f"T{e['lane']} r{e['register']}" + (f":{e['low_bit']}" if e["bits"] < about["register_bits"] else "")
                for _, _, e in elements]
    return read


def held_by(operand, lane):
    """ "a[3,5] 31:16" for each element that a lane holds, the highest bits first. """
    def read(answer):
        held = [e for e in answer["elements"] if e["operand"] == operand and e["lane"] == lane]
        held.sort(key=lambda e: (e["register"], -e["low_bit"]))
        return [f"{operand}[{e['row']},{e['column']}] {e['low_bit'] + e['bits'] - 1}:{e['low_bit']}" for e in held]
    return read


def fields(*names):
    return lambda answer: [str(f[n]) for f in answer["fields"] for n in names]


def results(answer):
    return [e["sentence"] for e in answer.get("explanations", [answer])]


def columns(answer):
    return [" ".join(f"{r['sign']}{r['kept']}{r['cut']}".split()) for e in answer.get("explanations", [answer])
            for s in e["sums"] for r in s["columns"]["rows"]]


def reasons(answer):
    return [" ".join(dict.fromkeys(r for r in answer["reasons"] if r))]


def accepted(read):
    return lambda answer: [read(a) for a in answer["answers"] if a["accepted"]]


def found(name):
    return lambda answer: answer["found"] and [c for c in answer["inputs"][name]]


UNDERSTOOD = lambda answer: [answer["understood"]]
REFUSAL = lambda text: [text.removeprefix("warpbit: ").strip()]
EMPTY_FINDINGS = lambda answer: ["Nothing looks wrong."] if answer["findings"] == [] else []
FINDINGS = lambda answer: [f"{f['issue'].replace('_', ' ')} {f['message']}" for f in answer["findings"]]
CHOSEN = ".chosen-words .answer span"


def cell(operand, row, column):
    return f".grid[data-operand={operand}] tbody tr:nth-child({row + 1}) td:nth-child({column + 2})"


def element(row, column):
    return f"click {cell('a', row, column)}"


QUESTIONS = [
    # ---- Layout
    Q(f"#/layout/{MMA}?select=a[3,5]", [], CHOSEN, ["where", MMA, "a[3,5]"], str.splitlines),
    Q(f"#/layout/{MMA}", [element(3, 5)], CHOSEN, ["where", MMA, "a[3,5]"], str.splitlines),
    Q(f"#/layout/{MMA}", [element(3, 5), "key RIGHT", "key DOWN", "key ENTER"], CHOSEN, ["where", MMA, "a[4,6]"], str.splitlines),
    Q(f"#/layout/{MMA}", [element(3, 5), element(9, 0), "back"], CHOSEN, ["where", MMA, "a[3,5]"], str.splitlines),
    Q(f"#/layout/{MMA}", ["set select = lane 7 reg 2"], CHOSEN, ["where", MMA, "lane", "7", "reg", "2", "--json"], SENTENCES),
    Q(f"#/layout/{MMA}", [], ".grid[data-operand=a] tbody td", ["layout", MMA, "--json"], places("a")),
    Q(f"#/layout/{MMA}", [], ".grid[data-operand=d] tbody td", ["layout", MMA, "--json"], places("d")),
    Q(f"#/layout/{MMA}?select=a[3,5]", [], ".lanes dl:nth-child(2) span", ["layout", MMA, "--json"], held_by("a", 14)),
    Q(f"#/layout/{MMA}?by=ldmatrix", [], ".card p:last-of-type", ["layout", MMA, "--by", "ldmatrix", "--json"],
      lambda answer: [m.get("reason") or f"lane i points to [{m['row']}, {m['column']}]" for m in answer["moves"]]),
    Q(f"#/layout/{SPARSE}?f=1", ["set select = lane 5 reg 0"], CHOSEN,
      ["where", f"{SPARSE} {{d}}, {{a}}, {{b}}, {{c}}, e, 1;", "lane", "5", "reg", "0", "--json"], SENTENCES),
    Q(f"#/layout/{NVFP4}?select=scale_a[3,0]", [], CHOSEN, ["where", NVFP4, "scale_a[3,0]"], str.splitlines),
    Q(f"#/layout/{WGMMA}?swizzle=128&select=b[9,8]", [], CHOSEN, ["where", WGMMA, "--swizzle", "128", "b[9,8]"], str.splitlines),
    Q(f"#/layout/{WGMMA}", ["set swizzle = 64", "set select = b byte 0x412"], CHOSEN,
      ["where", WGMMA, "--swizzle", "64", "b", "byte", "0x412"], str.splitlines),
    Q(f"#/layout/{WGMMA}?swizzle=128", [], ".figures p.fine, .figures p.warn", ["layout", WGMMA, "--swizzle", "128", "--json"],
      lambda answer: [o["banks"]["sentence"] + "." for o in answer["operands"] if "banks" in o]),
    Q(f"#/layout/{TCGEN05}?idesc=0x8200010&select=d[17,5]", [], CHOSEN,
      ["where", TCGEN05, "--idesc", "0x8200010", "d[17,5]"], str.splitlines),
    Q("#/layout/scale_factors?rows=256&blocks=8&select=sf[37,2]", [], CHOSEN,
      ["where", "scale_factors", "--rows", "256", "--blocks", "8", "sf[37,2]"], str.splitlines),
    Q("#/layout/mma.m16n8k16.f64.f16", [], "#view .refusal", ["layout", "mma.m16n8k16.f64.f16"], REFUSAL),
    # ---- Sum
    Q(f"#/sum/{MMA}?targets=sm_80,sm_90a&{ULP_ADDRESS}", [], "#view .verdict",
      ["compare", MMA, "--targets", "sm_80,sm_90a", *ULP, "--json"], reasons),
    Q(f"#/sum/{MMA}?targets=sm_80,sm_90a&{ULP_ADDRESS}", [], "#view p.result",
      ["compare", MMA, "--targets", "sm_80,sm_90a", *ULP, "--json"], results),
    Q(f"#/sum/{MMA}?targets=sm_80,sm_90a&{ULP_ADDRESS}", [], "table.sum tbody td:nth-child(2)",
      ["compare", MMA, "--targets", "sm_80,sm_90a", *ULP, "--json"], columns),
    Q(f"#/sum/{MMA}?{ULP_ADDRESS}", ["set targets = A100,L40S,H100,B200"], "#view p.result",
      ["compare", MMA, "--targets", "A100,L40S,H100,B200", *ULP, "--json"], results),
    Q(f"#/sum/{WGMMA_FP8}?targets=sm_90a&a=448%201%20-448%200.0625&b=1%201%201%200.0625", [], "table.sum tbody td:nth-child(2)",
      ["explain", WGMMA_FP8, "--target", "sm_90a", "--a", "448 1 -448 0.0625", "--b", "1 1 1 0.0625", "--json"], columns),
    Q(f"#/sum/{MMA}?targets=sm_90a", ["type [data-number=a][data-index='0'] = 0.1"], ".term:first-child .number:first-child > code",
      ["format", "f16", "0.1", "--json"], lambda answer: [answer["code"]]),
    Q(f"#/sum/{MMA}?targets=sm_90a&a=1&b=1", ["click [data-word='a/0'] [data-bit='0']"], "#view p.result",
      ["explain", MMA, "--target", "sm_90a", "--a", "0x3c01", "--b", "1", "--json"], results),
    Q(f"#/sum/{MMA}?targets=sm_90a&a=1&b=1", ["click [data-number=a][data-index='0']", "key UP"], "#view p.result",
      ["explain", MMA, "--target", "sm_90a", "--a", "0x3c01", "--b", "1", "--json"], results),
    Q(f"#/sum/{NVFP4}?targets=sm_120a&a=6%203&b=1.5%20-4&a-scale=0.5&b-scale=2", [], "#view p.result",
      ["explain", NVFP4, "--target", "sm_120a", "--a", "6 3", "--b", "1.5 -4", "--a-scale", "0.5", "--b-scale", "2", "--json"], results),
    # ---- GPU
    Q(f"#/gpu/{FP8}", [], "table.evidence tbody th", ["check", FP8, "--json"], accepted(lambda a: a["target"])),
    Q(f"#/gpu/{FP8}", [], "table.evidence tbody td:nth-child(3)", ["check", FP8, "--json"],
      accepted(lambda a: (a.get("machine_code") or {}).get("text") or a.get("machine", ""))),
    Q(f"#/gpu/{FP8}", [], "table.evidence tbody td:nth-child(5) .basis", ["check", FP8, "--json"],
      accepted(lambda a: a["evidence"]["order"]["basis"])),
    # ---- Descriptor
    Q(f"#/descriptor/0x4000004000010040?form={WGMMA}", [], "#view .answer",
      ["descriptor", "0x4000004000010040", "--form", WGMMA, "--json"], lambda answer: [answer["text"]]),
    Q(f"#/descriptor/0x4000004000010040?form={WGMMA}", [], "Fields | tbody td:nth-child(4)",
      ["descriptor", "0x4000004000010040", "--form", WGMMA, "--json"], fields("meaning")),
    Q(f"#/descriptor/0x4000004000013fff?form={WGMMA}", [], "#view .findings li",
      ["descriptor", "0x4000004000013fff", "--form", WGMMA, "--json"], FINDINGS),
    Q(f"#/descriptor/0x8200010?form={TCGEN05}", [], "Fields | tbody td:nth-child(3)",
      ["descriptor", "0x8200010", "--form", TCGEN05, "--json"], fields("value")),
    Q(f"#/descriptor/0x4000004000010040?form={WGMMA}", ["click [data-bit='62']"], "#view .answer",
      ["descriptor", "0x4000010040", "--form", WGMMA, "--json"], lambda answer: [answer["text"]]),
    # ---- Tensor map
    Q(f"#/tensormap/{MAP}", [], "#view .fine", ["tensormap", *MAP.split(), "--json"], EMPTY_FINDINGS),
    Q(f"#/tensormap/{MAP}", [], "Fields | tbody td:nth-child(3)", ["tensormap", *MAP.split(), "--json"], fields("value")),
    Q(f"#/tensormap/{MAP.replace('7f0000000000', '7f0000000008')}", [], "#view .findings li",
      ["tensormap", *MAP.replace("7f0000000000", "7f0000000008").split(), "--json"], FINDINGS),
    # ---- Format
    *(Q("#/format/e4m3?number=3.3", [], f"3.3 in each mode | tbody tr:nth-child({row}) td:nth-child(2)",
        ["format", "e4m3", "3.3", "--round", mode, "--json"], lambda answer: [answer["code"]])
      for row, mode in ((1, "rn"), (3, "rp"))),
    Q("#/format/e2m1", [], "details td:nth-child(4)", ["format", "e2m1", "--table", "--json"], of(("codes", "value"))),
    Q("#/format/nvfp4?number=1%202%203.3", [], "#view p + .scroll td:nth-child(2)",
      ["format", "nvfp4", "1", "2", "3.3", "--json"], lambda answer: [e["code"] for b in answer["blocks"] for e in b["elements"]]),
    # ---- The line on top
    *(Q("", [f"line {line}"], "#understood > p", ["ask", line, "--json"], UNDERSTOOD) for line in (
        "HMMA.16816.F32", "SM80_16x8x16_F32F16F16F32_TN", "0x4000004000010040", "e4m3 0x7e", "1 + 2^-24", MAP,
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, {%r4,%r5}, {%f4,%f5,%f6,%f7};")),
]
