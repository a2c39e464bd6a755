// SPDX-License-Identifier: Apache-2.0
#include "diagnose/orders.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "numeric/formats.hpp"
#include "warpbit/find_order.hpp"

namespace warpbit::diagnosis {
namespace {

constexpr std::size_t kMostOrders = 4;   // that are named
constexpr int kMostLeftOut = 256;        // values of K
constexpr std::size_t kEstimated = 512;  // elements of D

// Numbers for an estimate: to about 53 bits. NaN for what is no number.
double number(const Format& format, std::uint64_t code) {
  const Decoded d = decode(format, code);
  if (d.cls != Class::finite && d.cls != Class::zero) return std::nan("");
  const Exact x = exact(d, format);
  return std::ldexp(x.negative ? -static_cast<double>(x.magnitude) : static_cast<double>(x.magnitude),
                    x.exponent);
}

// Whether a sum in some order may be this D.
class Estimate {
 public:
  Estimate(const Instruction& i, const Matrices& m)
      : m_(m),
        of_a_(*find_format(i.find(Part::a)->format)),
        of_b_(*find_format(i.find(Part::b)->format)),
        of_d_(*find_format(i.operands()[0].format)),
        left_out_(static_cast<std::size_t>(std::min(kMostLeftOut, m.depth())), true) {}

  bool is_possible() {
    const std::size_t size = m_.d.codes.size(), stride = (size / kEstimated) | 1;
    for (std::size_t n = 0; n < size; n += stride)
      if (!fits(n)) return false;
    for (std::size_t n = 0, wrong = 0; n < size && wrong < kEstimated; ++n) {
      if (m_.d.codes[n] == m_.right.codes[n]) continue;
      ++wrong;
      if (!fits(n)) return false;
    }
    return true;
  }

 private:
  // Whether some number of values left out, the same for all elements until now, explains this one. left_out_[0]: none.
  bool fits(std::size_t place) {
    const int row = static_cast<int>(place) / m_.d.columns, column = static_cast<int>(place) % m_.d.columns;
    const double d = number(of_d_, m_.d.at(row, column));
    double sum = number(of_d_, m_.c.at(row, column)), magnitude = std::abs(sum);
    const int depth = m_.depth(), most = static_cast<int>(left_out_.size());
    std::vector<double> products(static_cast<std::size_t>(depth));
    for (int k = 0; k < depth; ++k) {
      const double x = number(of_a_, m_.a.at(row, k)) * number(of_b_, m_.b.at(k, column));
      products[static_cast<std::size_t>(k)] = x;
      sum += x;
      magnitude += std::abs(x);
    }
    if (!std::isfinite(d) || !std::isfinite(magnitude)) return true;
    // Far more than what roundings of any order make of such a sum, and far less than a mistake does in many elements.
    const double allowed = of_d_.is_integer ? 0 : std::ldexp(magnitude, -6);
    bool any = false;
    for (int n = 0; n < most; ++n) {
      const auto at = static_cast<std::size_t>(n);
      left_out_[at] = left_out_[at] && std::abs(sum - d) <= allowed;
      any = any || left_out_[at];
      sum -= products[static_cast<std::size_t>(depth - 1 - n)];
    }
    return any;
  }

  const Matrices& m_;
  const Format &of_a_, &of_b_, &of_d_;
  std::vector<bool> left_out_;
};

// The given one, and then the usual ones of these operands.
std::vector<Instruction> instructions_for(const Instruction& i) {
  std::vector<Instruction> out = {i};
  const auto usual = instructions_of_products(i.find(Part::a)->format, i.find(Part::b)->format, i.target());
  for (std::size_t n = 0; usual && n < usual->size(); ++n)
    if ((*usual)[n].canonical() != i.canonical()) out.push_back((*usual)[n]);
  return out;
}

std::string order_words(const Instruction& plain, const FoundOrder& f) {
  std::string words = f.order.text();
  if (!f.same.empty()) words += fmt::format(", the same as {}", f.same[0].order.text());
  if (f.instruction.canonical() == plain.canonical()) return words;
  return fmt::format("{}{}", f.instruction.canonical(), words == "ascending" ? "" : ", " + words);
}

Finding order_finding(const Instruction& plain, const FoundOrder& f, const OrderSearch& search) {
  Finding out;
  const bool is_shape = f.instruction.canonical() != plain.canonical() && f.order.text() == "ascending";
  out.kind = f.left_out != 0 ? kLeftOutKind : is_shape ? "shape" : kOrderKind;
  out.operand = f.left_out != 0 ? "a b" : is_shape ? "" : "d";
  out.order = f.order.text();
  out.form = f.instruction.canonical();
  out.left_out = f.left_out;
  const std::string words = order_words(plain, f);
  out.mistake = f.left_out == 0
                    ? fmt::format("D is the sum by {}", words)
                    : fmt::format("the last {} values of K are not in the sum: it is by {}", f.left_out, words);
  out.hint = f.left_out == 0
                 ? "the order is no mistake, but the bits follow from it"
                 : "a defect known of cuBLAS (splitK: K / runs is rounded down); a loop over K that is not "
                   "rounded up";
  out.hint += fmt::format("; {} orders were tried", search.tried);
  out.explained = f.equal;
  out.elements = f.elements;
  return out;
}

}  // namespace

Result<OrderFindings> find_orders(const Instruction& instruction, const Gemm& product, const Matrices& matrices,
                                  std::uint64_t right, const DiagnoseOptions& options) {
  OrderFindings out;
  if (!Estimate(instruction, matrices).is_possible()) return out;
  const std::vector<Instruction> instructions = instructions_for(instruction);
  FindOrderOptions how;
  how.most_products = options.most_products;
  how.most_found = kMostOrders;
  how.known.store = options.store;
  for (const bool c_last : {false, true}) {
    if (c_last && (product.c.data == nullptr || find_format(instruction.operands()[0].format)->is_integer))
      break;
    how.known.c_last = c_last;
    const Result<OrderSearch> search = find_order(instructions, {product}, how);
    if (!search) return search.error();
    out.tried += search->tried;
    for (const FoundOrder& f : search->found) out.all.push_back(order_finding(instruction, f, *search));
    out.inferred = out.inferred || (search->inferred && !search->found.empty());
    if (out.all.empty()) continue;
    // Each element that the plain chain gives otherwise is worth a bit or more: another order has it by chance in half of the
    // cases at most.
    const std::uint64_t wrong = out.all[0].elements - right;
    out.all[0].certain = out.all.size() == 1 && search->complete &&
                         wrong >= static_cast<std::uint64_t>(std::bit_width(out.tried)) + 20;
    break;
  }
  return out;
}

}  // namespace warpbit::diagnosis
