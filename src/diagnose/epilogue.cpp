// SPDX-License-Identifier: Apache-2.0
// What a kernel does to its sums behind the product: it rounds them to a narrower format, or cuts negative ones off.
#include <fmt/format.h>

#include <algorithm>

#include "diagnose/elements.hpp"
#include "diagnose/hypothesis.hpp"
#include "numeric/formats.hpp"

namespace warpbit::diagnosis {
namespace {

// `to` of a code of D and of the kernel's code there.
template <class To>
void add_epilogue(Collection& to, Hypothesis h, To code_of) {
  to.add(std::move(h)).results = [code_of](const Problem& p, const Fragment& d, Array& out,
                                           std::vector<Knowledge>&) {
    for (std::uint64_t i = 0, n = out.header.items(); i < n; ++i)
      out.set(i, with_elements(d.packing(), out.at(i), [&](std::uint64_t code, int low) {
                return code_of(code, p.expected.at(i) >> low & d.packing().mask());
              }));
  };
}

struct EpilogueRounding {
  std::string_view text;
  Rounding rounding;
};
constexpr EpilogueRounding kEpilogueRoundings[] = {{"to nearest even", Rounding::nearest_even},
                                                   {"toward zero", Rounding::toward_zero}};

// A number that goes through a narrower format. Conversions to 8 bits saturate; a NaN may have any code.
std::uint64_t through(const Format& f, const Format& narrow, Rounding rounding, std::uint64_t code,
                      std::uint64_t kernels) {
  const Decoded x = decode(f, code);
  if (x.cls == Class::nan) return decode(f, kernels).cls == Class::nan ? kernels : code;
  const bool saturates = narrow.bits == 8;
  if (x.cls == Class::infinity && !saturates) return code;
  const std::uint64_t stored =
      x.cls == Class::infinity
          ? largest(narrow, x.negative)
          : encode(narrow, exact(x, f), rounding, saturates ? Overflow::saturate : Overflow::ieee);
  return rounded_to(f, narrow, stored);
}

void collect_epilogue_roundings(Collection& to, const Format& f) {
  constexpr FormatId kNarrow[] = {FormatId::f32,  FormatId::tf32, FormatId::f16,
                                  FormatId::bf16, FormatId::e4m3, FormatId::e5m2};
  for (const FormatId id : kNarrow) {
    const Format& narrow = format(id);
    if (f.is_integer || narrow.fraction_bits >= f.fraction_bits) continue;
    for (const EpilogueRounding& row : kEpilogueRoundings)
      add_epilogue(to,
                   {"rounded", "d", fmt::format("D is rounded to {}, {}", narrow.name, row.text),
                    "the epilogue: in which format D is stored; what is meant must be rounded, too", 1, true},
                   [&f, &narrow, rounding = row.rounding](std::uint64_t code, std::uint64_t kernels) {
                     return through(f, narrow, rounding, code, kernels);
                   });
  }
}

}  // namespace

void collect_epilogue(Collection& to) {
  const Format& f = *find_format(to.fragment(Part::d).op().format);
  collect_epilogue_roundings(to, f);
  if (!f.is_signed) return;
  // max(x, 0) and x > 0 ? x : 0 differ in NaN and -0, which are 0 of either sign or stay: any is a relu.
  add_epilogue(to, {"relu", "d", "negative elements of D are 0: relu", "the epilogue: its activation", 1, true},
               [&f](std::uint64_t code, std::uint64_t kernels) {
                 const Decoded x = decode(f, code);
                 const bool stays = x.cls == Class::nan || x.cls == Class::zero;
                 if (stays && (kernels == code || kernels == 0)) return kernels;
                 const bool negative = f.is_integer ? (code >> (f.bits - 1) & 1) != 0 : x.negative;
                 return negative || x.cls == Class::nan ? std::uint64_t{0} : code;
               });
}

}  // namespace warpbit::diagnosis
