# SPDX-License-Identifier: Apache-2.0
"""A recorded launch run again as each assembler makes it, with a driver and a ptxas that need no GPU. WARPBIT_CLI is the tool."""
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

import record_test
from record_test import HERE, setUpModule, tearDownModule  # noqa: F401: the fake driver

LEVELS = HERE.parents[1] / "tools/arbiter/levels"
PTX = """.version 9.0
.target sm_90a
.address_size 64
.visible .entry add_one(.param .u64 p, .param .u32 n)
{
  .reg .b64 %rd<4>; .reg .b32 %r<4>; .reg .f32 %f<4>;
  ld.param.u64 %rd1, [p];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd2, %rd1, %rd2;
  ld.global.f32 %f1, [%rd2];
  add.rn.f32 %f1, %f1, 0f3F800000;
  st.global.f32 [%rd2], %f1;
  ret;
}
"""
# -O0 makes what the PTX says, -O2 does not work, and the others add 2.
PTXAS = """#!/bin/sh
case "$*" in
  *--version*) echo "Cuda compilation tools, release 13.9, V13.9.1"; exit;;
  *-O2*) echo "fatal: no -O2 here" >&2; exit 1;;
esac
while [ $# -gt 1 ]; do
  case $1 in -O0) image="as it is";; -O*) image="by two";; -o) out=$2;; esac
  shift
done
printf "%s" "$image" > "$out"
"""
COUNT, ADDRESS = 8, 0x7F2C40000010


def floats(*values):
    return struct.pack(f"<{len(values)}f", *values)


class Levels(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=record_test.work))
        (self.folder / "bin").mkdir()
        (self.folder / "bin/ptxas").write_text(PTXAS)
        (self.folder / "bin/ptxas").chmod(0o755)
        self.environment = {**os.environ, "LD_LIBRARY_PATH": str(record_test.work), "WARPBIT_LEVELS": str(LEVELS),
                            "PATH": f"{self.folder}/bin:/usr/bin:/bin"}
        for name in ("CUDA_HOME", "CUDA_PATH"):
            self.environment.pop(name, None)

    def recording(self, added, ptx=PTX, **more):
        """Of a launch that has added so much."""
        out = self.folder / "recorded"
        (out / "data").mkdir(parents=True)
        files = {"k.ptx": ptx.encode(), "before": floats(*range(COUNT)), "after": floats(*(x + added for x in range(COUNT)))}
        for name, content in files.items():
            (out / "data" / name).write_bytes(content)
        launch = {"kind": "launch", "name": "first", "entry": "add_one", "module": "k.ptx", "grid": [1, 1, 1], "block": [COUNT, 1, 1],
                  "parameters": [{"bytes": ADDRESS.to_bytes(8, "little").hex()}, {"bytes": COUNT.to_bytes(4, "little").hex()}],
                  "memory": [{"address": hex(ADDRESS), "bytes": 4 * COUNT, "name": "p", "before": "before", "after": "after"}], **more}
        header = {"format": "recording-1", "target": "sm_90a", "source": "hardware", "program": "a test"}
        (out / "recording.jsonl").write_text(json.dumps(header) + "\n" + json.dumps(launch) + "\n")
        return out

    def run_levels(self, recording, *options, name="first"):
        # The one assembler: others of this machine would not know the driver.
        command = [sys.executable, LEVELS, recording, name, "-o", self.folder / "levels", "--ptxas", self.folder / "bin/ptxas", *options]
        return subprocess.run(command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)

    def test_each_level_says_which_bytes_it_left(self):
        done = self.run_levels(self.recording(2))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual([json.loads(line) for line in done.stdout.splitlines()], [
            {"name": "ptxas 13.9.1 -O0", "bytes": "others"}, {"name": "ptxas 13.9.1 -O1", "bytes": "recorded"},
            {"name": "ptxas 13.9.1 -O2", "bytes": "none", "reason": "fatal: no -O2 here"},
            {"name": "ptxas 13.9.1 -O3", "bytes": "recorded"}])
        left = [json.loads(line) for line in (self.folder / "levels/recording.jsonl").read_text().splitlines()]
        self.assertEqual([(one.get("name"), one.get("ptxas")) for one in left],
                         [(None, None)] + [(f"ptxas 13.9.1 {level}", level) for level in ("-O0", "-O1", "-O3")])
        self.assertEqual(left[0]["device"], "fake")
        [part] = left[1]["memory"]
        self.assertEqual(part["address"], hex(ADDRESS))
        self.assertEqual((self.folder / "levels/data" / part["after"]).read_bytes(), floats(*(x + 1 for x in range(COUNT))))

    def test_what_cannot_be_run_is_refused(self):
        for recording, name, says in (
                (self.recording(2), "second", "no launch 'second'"),
                (self.folder / "nowhere.zip", "first", "No such file"),
                (self.again(ptx=PTX.replace("sm_90a", "sm_100a")), "first", "the PTX is for sm_100a, and this GPU is sm_90"),
                (self.again(ptx="no PTX"), "first", "the PTX has no .target")):
            done = self.run_levels(recording, name=name)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(says, done.stderr)

    def again(self, **more):
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        (self.folder / "bin").symlink_to(self.folder.parent / "bin")
        return self.recording(2, **more)

    @unittest.skipUnless("WARPBIT_CLI" in os.environ, "WARPBIT_CLI is not set")
    def test_the_arbiter_asks_the_gpu(self):
        (self.folder / "levels").write_text(f'#!/bin/sh\nexec {sys.executable} {LEVELS} "$@" --ptxas {self.folder}/bin/ptxas\n')
        (self.folder / "levels").chmod(0o755)
        self.environment["WARPBIT_LEVELS"] = str(self.folder / "levels")
        recording = self.recording(2)

        def arbiter(*options):
            done = subprocess.run([os.environ["WARPBIT_CLI"], "arbiter", recording, *options], env=self.environment, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, universal_newlines=True)
            self.assertEqual((done.returncode, done.stderr), (1, ""))
            return done.stdout

        self.assertIn("ptxas 13.9.1 -O0: the bytes that the PTX has here\n"
                      "ptxas 13.9.1 -O1: the recorded bytes, which the PTX does not have here\n"
                      "ptxas 13.9.1 -O2: fatal: no -O2 here\n"
                      "ptxas 13.9.1 -O3: the recorded bytes, which the PTX does not have here\n"
                      "verdict: the assembler is at fault, by one of these causes\n", arbiter())
        verdict = json.loads(arbiter("--json"))
        self.assertEqual([verdict["ruling"], verdict["certain"], verdict["causes"][0]["hypothesis"]], ["assembler", False, "levels"])
        self.assertEqual(verdict["levels"][2], {"name": "ptxas 13.9.1 -O2", "recorded": False, "ptx": False, "reason": "fatal: no -O2 here"})
        self.assertIn("verdict: other code ran", arbiter("--no-gpu"))


if __name__ == "__main__":
    unittest.main()
