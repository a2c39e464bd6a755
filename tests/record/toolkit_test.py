# SPDX-License-Identifier: Apache-2.0
"""What the recorder reads of images that nvcc makes, packed in each of its ways. Needs nvcc (WARPBIT_NVCC) and WARPBIT_CXX."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
NVCC, CXX = os.environ.get("WARPBIT_NVCC", "nvcc"), os.environ.get("WARPBIT_CXX", "g++")
SOURCE = "__device__ int counter; __constant__ float k[4];\n" \
         "extern \"C\" __global__ void scale(float* p) { p[threadIdx.x] *= k[0]; if (p[0] > 1) counter++; }\n"


def setUpModule():
    if shutil.which(NVCC) is None:
        print(f"not run: there is no {NVCC}")
        sys.exit(77)


class Images(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = tempfile.TemporaryDirectory()
        cls.at = pathlib.Path(cls.work.name)
        (cls.at / "a.cu").write_text(SOURCE)
        subprocess.run([CXX, "-std=c++17", str(HERE / "images_test.cpp"), "-o", str(cls.at / "read"), "-ldl"], check=True)

    def read(self, *options):
        subprocess.run([NVCC, "-fatbin", *options, "a.cu", "-o", "a.fatbin"], cwd=self.at, check=True)
        return subprocess.run(["./read", "a.fatbin", "scale"], cwd=self.at, stdout=subprocess.PIPE, universal_newlines=True,
                              check=True).stdout.splitlines()

    def test_each_way_to_pack(self):
        for mode in ("none", "speed", "balance", "size"):
            with self.subTest(mode):
                self.assertEqual(self.read("-compress-mode=" + mode, "-gencode", "arch=compute_90,code=[sm_90,compute_90]"),
                                 ["machine 90", "ptx 90 entry counter k"])

    def test_architectures(self):
        self.assertEqual(self.read("-gencode", "arch=compute_90a,code=sm_90a"), ["machine 90a"])
        self.assertEqual(sorted(self.read("-gencode", "arch=compute_90a,code=[sm_90a,compute_90a]", "-gencode",
                                          "arch=compute_80,code=compute_80")),
                         ["machine 90a", "ptx 80 entry counter k", "ptx 90a entry counter k"])


if __name__ == "__main__":
    unittest.main()
