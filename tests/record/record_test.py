# SPDX-License-Identifier: Apache-2.0
"""The recorder with a driver and a CUPTI that need no GPU (fake_gpu.cpp): what a recording has. Needs WARPBIT_CXX."""
import ctypes
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
RECORD = HERE.parents[1] / "tools/record/record"
START = """
import ctypes, os, sys
from fake_gpu import *
module = load(ptx("add_one", "noisy", "count", "through", "store_map", "fails", head=".visible .global .align 4 .u32 counter;\\n"))
p = allocate([1, 2, 3, 4])
get = lambda name: function(module, name)
"""


def setUpModule():
    global work
    work = pathlib.Path(tempfile.mkdtemp())
    compiler = os.environ.get("WARPBIT_CXX", "g++")
    subprocess.run([compiler, "-std=c++17", "-O1", "-fPIC", "-shared", "-fvisibility=hidden", str(HERE / "fake_gpu.cpp"), "-o",
                    str(work / "libcuda.so.1"), "-ldl"], check=True)
    (work / "libcupti.so.13").symlink_to("libcuda.so.1")


def tearDownModule():
    shutil.rmtree(work)


class Recording:
    def __init__(self, program, *options, path=()):
        folder = tempfile.mkdtemp(dir=work)
        self.folder = pathlib.Path(folder) / "out"
        environment = {"XDG_CACHE_HOME": str(work), **os.environ, "LD_LIBRARY_PATH": str(work),
                       "PYTHONPATH": os.pathsep.join(map(str, [*path, HERE]))}
        self.done = subprocess.run([sys.executable, str(RECORD), "-o", str(self.folder), *options, "--", sys.executable, "-c",
                                    START + program], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   universal_newlines=True)
        lines = self.folder / "recording.jsonl"
        all_lines = [json.loads(line) for line in lines.read_text().splitlines()] if lines.exists() else [None]
        self.header, self.records = all_lines[0], all_lines[1:]

    def data(self, name):
        return (self.folder / "data" / name).read_bytes()

    def floats(self, name):
        data = self.data(name)
        return list((ctypes.c_float * (len(data) // 4)).from_buffer_copy(data))


class Launches(unittest.TestCase):
    def test_a_launch_has_its_memory_before_and_after(self):
        r = Recording("launch(get('add_one'), u64(p + 4), u32(2)); print(floats(p, 4))")
        self.assertEqual((r.done.returncode, r.done.stdout), (0, "[1.0, 3.0, 4.0, 4.0]\n"))
        self.assertEqual([r.header[m] for m in ("format", "target", "source", "device")],
                         ["recording-1", "sm_90a", "hardware", "fake"])
        [launch] = r.records
        [part] = launch["memory"]
        self.assertEqual((launch["kind"], launch["entry"], launch["grid"], launch["block"], launch["shared"]),
                         ("launch", "add_one", [2, 1, 1], [32, 1, 1], 64))
        self.assertEqual(launch["parameters"][0]["bytes"], (int(part["address"], 16) + 4).to_bytes(8, "little").hex())
        self.assertEqual(launch["parameters"][1]["bytes"], "02000000")
        self.assertEqual((part["bytes"], r.floats(part["before"]), r.floats(part["after"])),
                         (16, [1, 2, 3, 4], [1, 3, 4, 4]))
        self.assertIs(launch["stable"], True)
        self.assertIn(b".entry add_one", r.data(launch["module"]))

    def test_a_second_run_that_differs_leaves_what_the_first_left(self):
        r = Recording("launch(get('noisy'), u64(p), u32(1)); print(floats(p, 1))")
        self.assertEqual(r.done.stdout, "[1.0]\n")
        self.assertIs(r.records[0]["stable"], False)

    def test_once_has_no_second_run(self):
        r = Recording("launch(get('noisy'), u64(p), u32(1)); launch(get('noisy'), u64(p), u32(1)); print(floats(p, 1))", "--once")
        self.assertEqual(r.done.stdout, "[2.0]\n")
        self.assertNotIn("stable", r.records[1])

    def test_variables_of_the_module(self):
        r = Recording("launch(get('count')); launch(get('count'))")
        for i, launch in enumerate(r.records):
            [variable] = launch["variables"]
            self.assertEqual((variable["name"], r.data(variable["before"])[0], r.data(variable["after"])[0]),
                             ("counter", i, i + 1))
            self.assertEqual((launch["memory"], launch["parameters"]), ([], []))

    def test_pointers_in_memory_are_followed_if_asked_for(self):
        program = "t = allocate([7], 'Q'); a = allocate([t], 'Q'); launch(get('through'), u64(a), u32(1)); print(u64.from_address(t).value)"
        plain, followed = Recording(program), Recording(program, "--follow")
        self.assertEqual((plain.done.stdout, followed.done.stdout), ("8\n", "8\n"))
        self.assertNotIn("stable", plain.records[0])
        self.assertIn("--follow", plain.records[0]["note"])
        self.assertEqual(len(followed.records[0]["memory"]), 2)
        self.assertIs(followed.records[0]["stable"], True)

    def test_the_address_in_a_tensor_map_is_reached(self):
        r = Recording("m = (ctypes.c_char * 128)(); u64.from_buffer(m).value = p; launch(get('store_map'), m)")
        self.assertEqual([len(q["bytes"]) for q in r.records[0]["parameters"]], [256])
        self.assertEqual(r.records[0]["memory"][0]["bytes"], 16)

    def test_a_module_that_is_no_ptx(self):
        r = Recording("import struct\n"
                      "elf = bytearray(64); elf[:4] = b'\\x7fELF'; b = ctypes.create_string_buffer(bytes(elf), 64)\n"
                      "launch(function(load(b.raw), 'add_one'), u64(p), u32(1))")
        self.assertEqual((r.records[0]["reason"], r.records[0]["memory"]), ("the module has no PTX", []))
        self.assertNotIn("module", r.records[0])


class Choices(unittest.TestCase):
    def test_the_first_of_each_code(self):
        r = Recording("for i in range(5): launch(get('add_one'), u64(p), u32(1))")
        self.assertEqual(len(r.records), 3)
        self.assertIn("3 launches", r.done.stderr)
        self.assertIn("left out: 2 launches after the first of each code (--first)", r.done.stderr)
        self.assertEqual(len(Recording("for i in range(5): launch(get('add_one'), u64(p), u32(1))", "--first", "0").records), 5)

    def test_kernels_by_name(self):
        r = Recording("launch(get('add_one'), u64(p), u32(1)); launch(get('noisy'), u64(p), u32(1))", "--kernels", "^noi")
        self.assertEqual([x["entry"] for x in r.records], ["noisy"])
        none = Recording("launch(get('add_one'), u64(p), u32(1))", "--no-kernels")
        self.assertIn("nothing was recorded", none.done.stderr)

    def test_limits_of_bytes(self):
        r = Recording("launch(get('add_one'), u64(p), u32(1))", "--record-bytes", "15")
        self.assertRegex(r.records[0]["reason"], "^memory of \\d+ bytes is over the limit$")
        self.assertEqual(r.records[0]["memory"], [])
        r = Recording("for i in range(3): launch(get('add_one'), u64(p), u32(1))", "--bytes", "1")
        self.assertEqual(len(r.records), 1)
        self.assertIn("2 records over the budget of bytes", r.done.stderr)

    def test_copies_and_fills(self):
        r = Recording("q = allocate([5]); cuda.cuMemcpyAsync(q, p, 4, None); cuda.cuMemsetD32_v2(q, 9, 1)", "--copies")
        self.assertEqual([x.get("what") for x in r.records], ["host to device", "host to device", "device to device", "fill"])
        self.assertEqual(r.records[2]["from"], r.records[0]["to"])
        self.assertEqual(r.data(r.records[3]["data"]), b"\x09\0\0\0")

    def test_what_is_captured_into_a_graph_is_left_out(self):
        r = Recording("launch(get('add_one'), u64(p), u32(1), stream=99)")
        self.assertEqual(r.records, [])
        self.assertIn("while a CUDA graph was captured", r.done.stderr)


class Ends(unittest.TestCase):
    def test_a_crash_loses_nothing(self):
        r = Recording("launch(get('add_one'), u64(p), u32(1)); os.kill(os.getpid(), 11)")
        self.assertEqual((r.done.returncode, len(r.records)), (139, 1))
        self.assertEqual(r.floats(r.records[0]["memory"][0]["after"])[0], 2)

    def test_signals_are_for_the_threads_of_the_program(self):
        r = Recording("launch(get('add_one'), u64(p), u32(1))\n"
                      "others = set(os.listdir('/proc/self/task')) - {str(os.getpid())}\n"
                      "blocked = lambda task: int(open(f'/proc/self/task/{task}/status').read().split('SigBlk:')[1].split()[0], 16)\n"
                      "print([blocked(task) >> 10 & 1 for task in others], blocked(os.getpid()))")
        self.assertEqual(r.done.stdout, "[1] 0\n")  # the recorder's thread has SIGSEGV blocked, the program's nothing

    def test_exits_that_clean_up_nothing(self):
        r = Recording("launch(get('add_one'), u64(p), u32(1)); sys.modules['warpbit_record.library'] if False else None; import warpbit_record.library; os._exit(7)")
        self.assertEqual((r.done.returncode, len(r.records)), (7, 1))

    def test_children_have_folders_of_their_own(self):
        r = Recording("import subprocess\nlaunch(get('add_one'), u64(p), u32(1))\n"
                      "if len(sys.argv) == 1: subprocess.run([sys.executable, '-c', open('/proc/self/cmdline').read().split('\\0')[2], 'child'])")
        self.assertEqual(len(r.records), 1)
        self.assertTrue((r.folder.parent / "out.2/recording.jsonl").exists(), r.done.stderr)

    def test_a_child_by_fork_does_not_disturb(self):
        r = Recording("launch(get('add_one'), u64(p), u32(1))\nif os.fork() == 0: sys.exit(0)\nos.wait()\nlaunch(get('noisy'), u64(p), u32(1))")
        self.assertEqual((r.done.returncode, len(r.records)), (0, 2))

    def test_refusals(self):
        r = Recording("pass")
        self.assertEqual(r.done.returncode, 0)
        for options, said in ((["-o", str(HERE)], "is no recording"), (["-o", "x", "--first", "two"], "not a number"),
                              (["-o", "x", "--bytes", "much"], "not a size"), (["-o", "x", "--kernels", "("], "not a regular expression")):
            done = subprocess.run([sys.executable, str(RECORD), *options, "--", "true"], stderr=subprocess.PIPE, universal_newlines=True)
            self.assertEqual(done.returncode, 2)
            self.assertIn(said, done.stderr)


if __name__ == "__main__":
    unittest.main()
