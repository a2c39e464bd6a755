// SPDX-License-Identifier: Apache-2.0
// Products of tcgen05.mma whose types stand in the name: no forms of PTX, and not among the families.
#pragma once

#include <span>
#include <string_view>

#include "isa/form.hpp"

namespace warpbit {

const Family& tensor_product_family();
/// Words of a tcgen05.mma that say nothing of its product.
std::span<const std::string_view> words_beside_product();
/// The first of these forms with the kind of a tcgen05.mma, to show how they are written; empty for other forms.
std::string_view product_by_types(const Form& form);

}  // namespace warpbit
