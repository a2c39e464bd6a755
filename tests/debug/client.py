# SPDX-License-Identifier: Apache-2.0
"""A client of the Debug Adapter Protocol: client.py WARPBIT. Thirty sessions over ten kernels; each value is what a launch computes.

A launch says what each statement of a warp reads and writes (launch --trace --json); a session must show the same values.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy

sys.path.insert(0, "tools/capture")
import recording

WARPBIT = sys.argv[1]
EXAMPLE = ["examples/ptx_kernel.ptx", "--grid", "4,4", "--block", "32", "--arg", "zeros:f16:64x48", "--arg", "zeros:f16:32x48", "--arg", "zeros:f32:64x32",
           "--arg", "i32:32", "--arg", "i32:48"]
RECORDED = ("gemm_mma", "gemm_wgmma", "divergence", "attention", "layernorm", "hopper_cluster_reduction", "hopper_tma_gemm")
MAPS = {"map_a": "a", "map_b": "b"}


def seen_path(file):
    """Of a source as the adapter names it: absolute where it is there."""
    return os.path.abspath(file) if os.path.exists(file) else file


def options_of(name, folder):
    """What to launch, as a command line, of a recorded kernel."""
    r = recording.read(f"golden/kernels/{name}.zip")
    record = next(one for one in r.records if one["kind"] == "launch")
    (folder / "kernel.ptx").write_bytes(r.data[record["module"]])
    memory = {}
    for one in record["memory"]:
        data, dtype = r.data[one["before"]], one.get("dtype", "uint8").replace("bfloat16", "uint16")
        memory[one["address"]] = memory[one["name"]] = str(folder / f"{one['name']}.npy")
        numpy.save(memory[one["name"]], numpy.frombuffer(data, dtype).reshape(one["shape"]))
    shape = lambda x: ",".join(map(str, x))
    out = [str(folder / "kernel.ptx"), "--entry", record["entry"], "--grid", shape(record["grid"]), "--block", shape(record["block"]), "--shared",
           str(record["shared"])]
    if max(record["cluster"]) > 1:
        out += ["--cluster", shape(record["cluster"])]
    for one in record["parameters"]:
        number = int.from_bytes(bytes.fromhex(one["bytes"]), "little")
        out += ["--arg", memory[hex(number)] if one["type"] == "pointer" else
                f"tensor_map:64x64:elemtype=bf16:swizzle_mode=bytes_128:{memory[MAPS[one['name']]]}" if one["type"] == "tensor_map" else
                f"u32:{number:#x}"]
    return out


def tensor_memory(folder):
    """A product with tensor memory, of 128 x 64 by 64 x 128."""
    numbers = numpy.random.default_rng(1)
    for name, shape in (("a", (128, 64)), ("b", (64, 128))):
        numpy.save(folder / f"{name}.npy", numbers.integers(-4, 5, shape).astype(numpy.float16))
    arguments = [folder / "a.npy", folder / "b.npy", "zeros:f16:128x128", "i32:128", "i32:128", "i32:64", "i32:64", "i32:1", "i32:128", "i32:1", "i32:128",
                 "i32:1", "null", "null"]
    out = ["tests/kernels/sm_100/triton_matmul.ptx", "--grid", "1", "--block", "128", "--shared", "32784"]
    return out + [word for one in arguments for word in ("--arg", str(one))]


class Client:
    """One session."""

    def __init__(self, options):
        self.process = subprocess.Popen([WARPBIT, "debug", *options, "--dap"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.sequence, self.events = 0, []

    def message(self):
        length = 0
        while line := self.process.stdout.readline().strip():
            if line.startswith(b"Content-Length: "):
                length = int(line.split()[1])
        return json.loads(self.process.stdout.read(length)) if length else None

    def ask(self, command, **arguments):
        """The body of the answer."""
        answer = self.ask_any(command, **arguments)
        assert answer["success"], answer
        return answer["body"]

    def ask_any(self, command, **arguments):
        self.sequence += 1
        text = json.dumps({"seq": self.sequence, "type": "request", "command": command, "arguments": arguments}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(text) + text)
        self.process.stdin.flush()
        while (message := self.message())["type"] != "response":
            self.events.append(message)
        assert message["request_seq"] == self.sequence and message["command"] == command, message
        return message

    def event(self, *names):
        """The next event, which has one of these names."""
        message = self.events.pop(0) if self.events else self.message()
        assert message["event"] in names, message
        return message

    def begin(self, breakpoints=(), functions=(), entry=True):
        assert self.ask("initialize", adapterID="warpbit")["supportsStepBack"]
        self.event("initialized")
        self.ask("launch", stopOnEntry=entry)
        for path, lines in breakpoints:
            body = self.ask("setBreakpoints", source={"path": path}, breakpoints=lines)
            assert all(one["verified"] for one in body["breakpoints"]), body
        body = self.ask("setFunctionBreakpoints", breakpoints=[{"name": one} for one in functions])
        assert all(one["verified"] for one in body["breakpoints"]), body
        self.ask("configurationDone")
        self.last = self.event("stopped", "exited")
        return self.last

    def place(self, warp):
        """The line of the PTX, the scopes by name, and the stack of a warp."""
        frames = self.ask("stackTrace", threadId=warp + 1)["stackFrames"]
        scopes = {one["name"]: one["variablesReference"] for one in self.ask("scopes", frameId=frames[0]["id"])["scopes"]}
        return frames[-1]["line"], scopes, frames

    def values(self, reference):
        """Registers with their bits by lane."""
        out = {}
        for one in self.ask("variables", variablesReference=reference)["variables"]:
            lanes = self.ask("variables", variablesReference=one["variablesReference"])["variables"]
            out[one["name"]] = [int(lane["value"].split()[0], 0) for lane in lanes]
        return out

    def end(self):
        self.ask("disconnect")
        self.process.stdin.close()
        assert self.process.wait() == 0


def trace_of(options, warp):
    """What a warp of the first block executes, as a launch says it."""
    run = subprocess.run([WARPBIT, "launch", *options, "--trace", str(warp), "--json", "--threads", "1"], stdout=subprocess.PIPE, check=False)
    return json.loads(run.stdout)["trace"]


def same(shown, traced):
    """Values of a session, which have a sign where the type has one, and those of a trace."""
    for one in traced:
        bits = 64 if one["type"].endswith("64") else 32
        got = [value % (1 << bits) if value < 0 else value for value in shown[one["name"]]]
        wanted = [value % (1 << bits) if min(shown[one["name"]]) < 0 else value for value in one["values"]]
        assert got == wanted, (one, shown[one["name"]])
    assert len(shown) == len(traced), (shown.keys(), traced)
    return len(traced)


def is_at(client, trace, number, warp):
    """Whether the place is a statement of a trace, with its values. How many registers were compared."""
    line, scopes, frames = client.place(warp)
    step = trace[number]
    assert line == step["line"] and frames[-1]["name"] == step["statement"], (line, step)
    assert [(one["source"]["path"], one["line"]) for one in reversed(frames[:-1])] == [(seen_path(one["file"]), one["line"]) for one in step["chain"]]
    return same(client.values(scopes["read"]), step["read"]) + same(client.values(scopes["written"]), step["written"])


def step_through(options, trace):
    """Statement by statement, forwards and back."""
    client = Client(options)
    client.begin()
    compared, number = 0, 0
    while client.place(0)[0] != trace[0]["line"]:  # other warps may begin
        client.ask("stepIn", threadId=1)
        client.event("stopped")
    for move in ["stepIn"] * 14 + ["stepBack"] * 3 + ["stepIn"]:
        client.ask(move, threadId=1, granularity="instruction")
        client.event("stopped")
        number += 1 if move == "stepIn" else -1
        compared += is_at(client, trace, number, 0)
    client.end()
    return compared


def break_at_line(options, trace):
    """At a line in the middle, the first times that it is executed."""
    line = trace[len(trace) // 2]["line"]
    executed = [i for i, one in enumerate(trace) if one["line"] == line and one["lanes"]][:3]
    client = Client(options)
    client.begin([(options[0], [{"line": line}])], entry=False)
    compared, seen = 0, []
    while client.last["event"] == "stopped" and len(seen) < len(executed):
        if client.last["body"]["threadId"] == 1:  # others may stop there, too
            compared += is_at(client, trace, executed[len(seen)], 0)
            seen.append(line)
        client.ask("continue", threadId=1)
        client.last = client.event("stopped", "exited")
    assert seen, "the line was never reached"
    client.end()
    return compared


def to_the_end(options, fault):
    """To the end: it is a fault, or not; back from a fault there is the statement that has it."""
    client = Client(options)
    stop = client.begin(entry=False)
    assert (stop["event"] == "stopped" and stop["body"]["reason"] == "exception") == fault, stop
    if fault:
        assert "out of bounds" in stop["body"]["text"], stop
        client.ask("stepBack", threadId=stop["body"]["threadId"])
        assert client.event("stopped")["body"]["reason"] in ("step", "entry")
    refused = client.ask_any("evaluate", expression="%nothing")
    assert not refused["success"] and "%nothing" in refused["message"], refused
    assert not client.ask_any("nonsense")["success"]
    client.end()
    return 1


def mma_matrix(options, trace):
    """D of the first mma as a matrix: of m16n8, register r of lane l is row l / 4 + 8 (r / 2), column 2 (l mod 4) + r mod 2 (PTX manual)."""
    step = next(one for one in trace if one["statement"].startswith("mma") and one["lanes"])
    assert ".m16n8" in step["statement"] and ".f32." in step["statement"], step
    written = [numpy.array(one["values"], numpy.uint32).view(numpy.float32) for one in step["written"]]
    d = numpy.zeros((16, 8), numpy.float32)
    for r, values in enumerate(written):
        for lane, value in enumerate(values):
            d[lane // 4 + 8 * (r // 2), 2 * (lane % 4) + r % 2] = value
    client = Client(options)
    client.begin(functions=["mma"], entry=False)
    while client.last["body"]["threadId"] != 1:  # others may come first
        client.ask("continue", threadId=1)
        client.last = client.event("stopped")
    scopes = client.place(0)[1]
    shown = {one["name"]: one for one in client.ask("variables", variablesReference=scopes["fragments"])["variables"]}["d"]
    rows = client.ask("variables", variablesReference=shown["variablesReference"])["variables"]
    expected = [" ".join(f"{value:.6g}" for value in row.tolist()) for row in d]
    assert [one["value"] for one in rows] == expected and d.any(), (rows, expected)
    client.end()


def product_in_tensor_memory(folder):
    """D of a product of small integers, in tensor memory when it is loaded first, is a @ b."""
    client = Client(tensor_memory(folder))
    client.begin(functions=["tcgen05.ld"], entry=False)
    assert client.last["body"]["reason"] == "function breakpoint"
    scopes = client.place(client.last["body"]["threadId"] - 1)[1]
    parts = client.ask("variables", variablesReference=scopes["tensor memory"])["variables"]
    assert parts[0]["name"] == "columns 0 to 31"
    d = numpy.load(folder / "a.npy").astype(numpy.float32) @ numpy.load(folder / "b.npy").astype(numpy.float32)
    for part, first in zip(parts, range(0, 128, 32)):
        rows = client.ask("variables", variablesReference=part["variablesReference"])["variables"]
        words = numpy.array([[int(word, 0) for word in one["value"].split()] for one in rows], numpy.uint32)
        assert numpy.array_equal(words.view(numpy.float32), d[:, first:first + 32]), part
    client.end()


# Thread i stores its number to tile[i] and to y[i]. An mbarrier of two arrivals gets one.
SMALL = """
.version 8.7
.target sm_90a
.address_size 64
.visible .entry small(.param .u64 y)
{
  .reg .pred %p<2>; .reg .b32 %r<9>; .reg .b64 %rd<6>;
  .shared .align 8 .b64 full;
  .shared .align 16 .b32 tile[32];
  ld.param.u64 %rd1, [y];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, tile;
  mov.u32 %r3, full;
  setp.eq.u32 %p1, %r1, 0;
  @%p1 mbarrier.init.shared::cta.b64 [%r3], 2;
  @%p1 mbarrier.arrive.shared::cta.b64 %rd2, [%r3];
  shl.b32 %r4, %r1, 2;
  add.u32 %r4, %r2, %r4;
  st.shared.u32 [%r4], %r1;
  mul.wide.u32 %rd3, %r1, 4;
  add.u64 %rd3, %rd1, %rd3;
  st.global.u32 [%rd3], %r1;
  ret;
}
"""


def bytes_and_findings(folder):
    """Data breakpoints, filters of exceptions, scopes of the block, and values that are set."""
    (folder / "small.ptx").write_text(SMALL)
    client = Client([str(folder / "small.ptx"), "--block", "32", "--arg", "zeros:u32:8x4"])
    able = client.ask("initialize", adapterID="warpbit")
    assert able["supportsDataBreakpoints"] and able["supportsSetVariable"]
    assert [one["filter"] for one in able["exceptionBreakpointFilters"]] == ["finding", "fault"]
    client.event("initialized")
    client.ask("launch", stopOnEntry=False)
    ids = [client.ask("dataBreakpointInfo", name=name)["dataId"] for name in ("y[2,1]", "shared tile+0x24:4", "0x0010", "%r1")]
    assert ids == ["y[2,1]", "shared tile+0x24:4", "shared 0x0010:32", None]
    body = client.ask("setDataBreakpoints", breakpoints=[{"dataId": ids[0]}, {"dataId": ids[1]}, {"dataId": "shared none"}])
    assert [one["verified"] for one in body["breakpoints"]] == [True, True, False]
    client.ask("setExceptionBreakpoints", filters=["finding"])
    client.ask("configurationDone")
    assert client.event("stopped")["body"]["reason"] == "data breakpoint"
    _, scopes, frames = client.place(0)
    assert frames[-1]["name"] == "st.shared.u32 [%r4], %r1"
    objects = client.ask("variables", variablesReference=scopes["mbarriers"])["variables"]
    assert [one["name"] for one in objects] == ["0x0"] and "arrivals: 1 of 2" in objects[0]["value"] and "name: full" in objects[0]["value"]
    cells = {one["name"]: one["value"] for one in client.ask("variables", variablesReference=objects[0]["variablesReference"])["variables"]}
    assert cells["phase"] == "0" and cells["parity"] == "0" and cells["arrivals"] == "1 of 2", cells
    assert client.ask("variables", variablesReference=scopes["waits"])["variables"] == []
    registers = {one["name"]: one for one in client.ask("variables", variablesReference=scopes["registers"])["variables"]}
    client.ask("setVariable", variablesReference=registers["%r1"]["variablesReference"], name="lane 3", value="9")
    assert client.values(client.place(0)[1]["registers"])["%r1"] == [9 if lane == 3 else lane for lane in range(32)]
    client.ask("continue", threadId=1)
    assert client.event("stopped")["body"]["reason"] == "data breakpoint"
    line, scopes, frames = client.place(0)
    assert frames[-1]["name"] == "st.global.u32 [%rd3], %r1"
    assert client.values(scopes["read"])["%r1"][2:5] == [2, 9, 4]
    client.ask("continue", threadId=1)
    assert client.event("stopped", "exited")["event"] == "exited"
    client.end()


def main():
    sessions, compared = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        kernels = [(name, [EXAMPLE[0], "--entry", name, *EXAMPLE[1:]]) for name in ("gemm", "gemm_too_far")]
        for name in RECORDED:
            own = pathlib.Path(folder) / name
            own.mkdir()
            kernels.append((name, options_of(name, own)))
        kernels.append(("matmul", tensor_memory(pathlib.Path(folder))))
        for name, options in kernels:
            trace = trace_of(options, 0)
            results = [step_through(options, trace), break_at_line(options, trace), to_the_end(options, name == "gemm_too_far")]
            print(name, len(trace), results)
            sessions += len(results)
            compared += sum(results)
        mma_matrix(kernels[2][1], trace_of(kernels[2][1], 0))
        product_in_tensor_memory(pathlib.Path(folder))
        bytes_and_findings(pathlib.Path(folder))
    assert sessions == 30 and compared > 290, (sessions, compared)  # registers of 32 lanes each


if __name__ == "__main__":
    main()
