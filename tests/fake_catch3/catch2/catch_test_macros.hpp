// SPDX-License-Identifier: Apache-2.0
// What warpbit/matchers/catch2.hpp uses of Catch2, version 3, as that declares it.
#pragma once

#include <ostream>

namespace Catch {

class ITransientExpression {
  bool m_isBinaryExpression, m_result;

 public:
  constexpr ITransientExpression(bool isBinaryExpression, bool result)
      : m_isBinaryExpression(isBinaryExpression), m_result(result) {}
  constexpr bool isBinaryExpression() const { return m_isBinaryExpression; }
  constexpr bool getResult() const { return m_result; }
  virtual void streamReconstructedExpression(std::ostream& os) const = 0;

 protected:
  ~ITransientExpression() = default;
};

}  // namespace Catch
