# SPDX-License-Identifier: Apache-2.0
"""Programs of the tests call this: the driver of fake_gpu.cpp."""
import ctypes

cuda = ctypes.CDLL("libcuda.so.1")
u32, u64, pointer = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p
for name, arguments in {
    "cuMemAlloc_v2": [pointer, u64], "cuMemFree_v2": [u64], "cuMemcpyHtoD_v2": [u64, pointer, u64],
    "cuMemcpyAsync": [u64, u64, u64, pointer], "cuMemsetD32_v2": [u64, u32, u64],
    "cuModuleLoadData": [pointer, pointer], "cuModuleGetFunction": [pointer, pointer, ctypes.c_char_p],
    "cuLaunchKernel": [pointer, *[u32] * 7, pointer, pointer, pointer],
    "cuLaunchKernelEx": [pointer, pointer, pointer, pointer],
}.items():
    getattr(cuda, name).argtypes = arguments
cuda.cuInit(0)


def allocate(values, code="f"):
    """Memory with these numbers: of ctypes' kind `code`."""
    array = {"f": ctypes.c_float, "Q": u64}[code]
    data = (array * len(values))(*values)
    address = u64()
    cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.sizeof(data))
    cuda.cuMemcpyHtoD_v2(address, data, ctypes.sizeof(data))
    return address.value


def floats(address, count):
    return list((ctypes.c_float * count).from_address(address))


def load(image):
    module = pointer()
    cuda.cuModuleLoadData(ctypes.byref(module), ctypes.c_char_p(image))
    return module


def function(module, name):
    out = pointer()
    cuda.cuModuleGetFunction(ctypes.byref(out), module, name.encode())
    return out


def launch(handle, *arguments, grid=(2, 1, 1), block=(32, 1, 1), stream=0):
    """Arguments: ctypes values."""
    pointers = (pointer * max(len(arguments), 1))(*(ctypes.addressof(a) for a in arguments))
    return cuda.cuLaunchKernel(handle, *grid, *block, 64, stream, pointers, None)


def ptx(*names, head=""):
    entries = "".join(f".visible .entry {name}()\n{{ ret; }}\n" for name in names)
    return f".version 9.0\n.target sm_90a\n.address_size 64\n{head}{entries}".encode()
