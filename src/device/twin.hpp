// SPDX-License-Identifier: Apache-2.0
// Launches of kernels in source in a test that `warpbit notice` runs (test_process.hpp).
//
//     memory --.-- the kernel as it is ----> bytes -.    in processes of their own, as it is host code, which may do anything
//              |-- again, with the mistake > bytes -+- equal? Then both once more with other values, and with larger grids
//              `-- with the mistake, for the test
#pragma once

#include <functional>

#include "device/call_watch.hpp"
#include "test_process.hpp"
#include "warpbit/device/launch.hpp"

namespace warpbit::device {

/// Precondition: the launch is possible.
Launched launch_once(const Launch& how, const std::function<void()>& thread, CallWatch* watch);

/// The first run: writes that there is a launch, and what it calls, each place once in a process:
///
///     {"event": "call", "file": "gemm.cpp", "line": 57, "call": "cp.async.wait_group 1", "target": "sm_90a"}
///     {"event": "source"}
Launched launch_recorded(const TestProcess& process, const Launch& how, const std::function<void()>& thread);

/// The others: with the mistake, if it is one in a call. Where it is executed, that is written, and what it changes:
///
///     {"event": "planted"}
///     {"event": "source", "outcome": one of those of grid/twin_launch.hpp, but finding and no_effect,
///      "inputs": how many others were tried, "what": of a fault}
///
/// Once other bytes are known in this process nothing is compared any more.
Launched launch_twins(const TestProcess& process, const Launch& how, const std::function<void()>& thread);

}  // namespace warpbit::device
