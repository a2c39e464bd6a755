// SPDX-License-Identifier: Apache-2.0
// All of warpbit for C++, except kernels under test (warpbit/device.hpp), Eigen's matrices
// (warpbit/eigen.hpp) and the matchers of test frameworks (warpbit/matchers/).
#pragma once

#include "warpbit/capture.hpp"
#include "warpbit/descriptor.hpp"
#include "warpbit/diagnose.hpp"
#include "warpbit/execute.hpp"
#include "warpbit/explain.hpp"
#include "warpbit/fault.hpp"
#include "warpbit/find_order.hpp"
#include "warpbit/format.hpp"
#include "warpbit/fragment.hpp"
#include "warpbit/gemm.hpp"
#include "warpbit/inputs.hpp"
#include "warpbit/instruction.hpp"
#include "warpbit/layout.hpp"
#include "warpbit/machine.hpp"
#include "warpbit/record.hpp"
#include "warpbit/replay.hpp"
#include "warpbit/result.hpp"
#include "warpbit/state.hpp"
#include "warpbit/target.hpp"
#include "warpbit/tensor_map.hpp"
#include "warpbit/tensor_memory.hpp"
