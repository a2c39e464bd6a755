// SPDX-License-Identifier: Apache-2.0
#include "warpbit/fragment.hpp"

namespace warpbit {
namespace {

// A dense array [cases][lanes][registers].
template <class View, class Base>
View dense_view(Base* base, int lanes, int registers, int register_bits) {
  const std::ptrdiff_t reg = register_bits / 8, lane = reg * registers;
  return {base, lane * lanes, lane, reg};
}

}  // namespace

OperandView OperandView::dense(const void* base, int lanes, int registers, int register_bits) {
  return dense_view<OperandView>(static_cast<const std::byte*>(base), lanes, registers, register_bits);
}

ResultView ResultView::dense(void* base, int lanes, int registers, int register_bits) {
  return dense_view<ResultView>(static_cast<std::byte*>(base), lanes, registers, register_bits);
}

}  // namespace warpbit
