// SPDX-License-Identifier: Apache-2.0
// What describes a launch, as Python has it.
#pragma once

#include <optional>
#include <vector>

#include "module.hpp"
#include "warpbit/ptx.hpp"

namespace warpbit::python {

using Extent = As<"_Extent">;
using OptionalExtent = As<"Optional[_Extent]">;
using LaunchArguments = As<"Sequence[_Argument]", py::sequence>;
using Grades = As<"Mapping[str, str]", py::dict>;
using AnyArray = As<"_Bits">;

/// One to three numbers. Errors: launch_shape, for what is none.
Dim3 dim3_of(const Extent& given, const char* what);
std::optional<Dim3> cluster_of(const OptionalExtent& cluster);
/// Errors: usage, for a grade that is none.
std::vector<ptx::GradedRule> grades_of(const Grades& rules);
/// What must live until the launch has ended comes to `held`. Errors: argument_mismatch.
std::vector<ptx::Argument> arguments_of(const ptx::Function& function, const LaunchArguments& args,
                                        std::vector<py::object>& held);
/// The bytes of an element of an array on the memory of an argument. Errors: argument_mismatch; view_mismatch for the index.
std::span<const std::byte> element_of(const AnyArray& array, const std::vector<py::ssize_t>& index);
/// The address by which launches reach an array, as long as that lives. Errors: argument_mismatch.
std::uint64_t address_of(const AnyArray& object);
/// Bytes as UTF-8: \xNN for a byte that is none.
std::string utf8(const std::string& bytes);

}  // namespace warpbit::python
