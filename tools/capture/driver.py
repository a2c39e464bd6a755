# SPDX-License-Identifier: Apache-2.0
"""The first GPU, through the driver's library."""
import ctypes


class DriverError(Exception):
    """A function of the driver has returned an error: its name, and that of the error."""


class Driver:
    """The primary context of the GPU is current."""

    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        self.device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuDeviceGet", ctypes.byref(self.device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), self.device)
        self.call("cuCtxSetCurrent", context)

    def call(self, function, *arguments):
        code = getattr(self.cuda, function)(*arguments)
        if code != 0:
            name = ctypes.c_char_p()
            self.cuda.cuGetErrorName(code, ctypes.byref(name))
            raise DriverError(f"{function}: {(name.value or b'an unknown error').decode()}")

    def name(self):
        text = ctypes.create_string_buffer(256)
        self.call("cuDeviceGetName", text, len(text), self.device)
        return text.value.decode()

    def allocate(self, size):
        """An address."""
        out = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(out), ctypes.c_size_t(size))
        return out.value

    def write(self, address, data):
        self.call("cuMemcpyHtoD_v2", ctypes.c_uint64(address), ctypes.c_char_p(data), ctypes.c_size_t(len(data)))

    def read(self, address, size):
        out = ctypes.create_string_buffer(size)
        self.call("cuMemcpyDtoH_v2", out, ctypes.c_uint64(address), ctypes.c_size_t(size))
        return out.raw

    def load(self, cubin, entry):
        """A module, freshly loaded, and a function of it."""
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), ctypes.c_char_p(cubin))
        self.call("cuModuleGetFunction", ctypes.byref(function), module, entry.encode())
        return module, function
