// SPDX-License-Identifier: Apache-2.0
// As catch_test_macros.hpp.
#pragma once

#include <string>
#include <utility>

#include "catch2/catch_test_macros.hpp"

namespace Catch {
namespace Matchers {

class MatcherUntypedBase {
 protected:
  virtual ~MatcherUntypedBase() = default;
  virtual std::string describe() const = 0;
};
template <typename T>
class MatcherBase : public MatcherUntypedBase {
 public:
  virtual bool match(T const& arg) const = 0;
};

}  // namespace Matchers

template <typename ArgT, typename MatcherT>
class MatchExpr : public ITransientExpression {
 public:
  MatchExpr(ArgT&& arg, MatcherT const& matcher) : ITransientExpression{true, matcher.match(arg)} {}
  void streamReconstructedExpression(std::ostream& os) const override { os << "the whole argument"; }
};
template <typename ArgT, typename MatcherT>
MatchExpr<ArgT, MatcherT> makeMatchExpr(ArgT&& arg, MatcherT const& matcher) {
  return MatchExpr<ArgT, MatcherT>(std::forward<ArgT>(arg), matcher);
}

}  // namespace Catch
