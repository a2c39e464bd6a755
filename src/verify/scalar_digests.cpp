// SPDX-License-Identifier: Apache-2.0
// Scalar instructions on inputs that a generator makes: digests of what a GPU returned.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "capture/text.hpp"
#include "ptx/evidence.hpp"
#include "ptx/forms.hpp"
#include "ptx/parts.hpp"
#include "recording/fields.hpp"
#include "threads.hpp"
#include "verify/cases/scalar.hpp"
#include "verify/kinds.hpp"

namespace warpbit::verification {
namespace {

using recording::Fields;

struct RecordedScalar {
  std::string target;
  scalar_cases::Form form;
  std::optional<std::uint64_t> first;  ///< of all inputs of 32 bits; nothing: boundary values and drawn ones
  std::uint64_t elements = 0;
  std::vector<std::string> digests;
};

RecordedScalar read_scalar(const Fields& fields) {
  const std::string name = fields.text("form"), operands = fields.text("operands");
  const auto form = scalar_cases::form(name, operands);
  if (!form)
    fields.refuse("operands", fmt::format("{} of {}", capture::quoted(operands), capture::quoted(name)),
                  "those of an instruction on numbers in registers, as in 'd:T a:T b:u32'");
  RecordedScalar out{
      fields.text_or_empty("target"), *form, {}, fields.number("elements"), fields.texts("digests")};
  if (!fields.has("first")) return out;
  out.first = fields.number("first");
  if (form->sources.size() != 1 || scalar_cases::bits(form->sources[0]) != 32 || form->results.size() != 1)
    fields.refuse("first", "inputs of " + capture::quoted(name),
                  "a form with one source, of 32 bits, and one result");
  if (*out.first % scalar_cases::kLargeBlock != 0 || *out.first > ones(32))
    fields.refuse("first", fmt::format("{:#x}", *out.first), "a multiple of 2^24 below 2^32");
  return out;
}

// Whether operands are those of a form, and of the same sizes.
bool fits(const ptx::MatchedForm& matched, const scalar_cases::Form& form) {
  const std::vector<ptx::OperandForm>& wanted = matched.form->operands;
  if (form.operands.size() > wanted.size()) return false;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (i >= form.operands.size()) {
      if (wanted[i].presence == ptx::OperandForm::Presence::always) return false;
      continue;
    }
    const scalar_cases::Operand& given = form.operands[i];
    if (given.type && ptx::bits(*given.type) != ptx::bits(matched.type_of(wanted[i]))) return false;
    if (!given.part.empty() && !ptx::is_part(wanted[i].parts, given.part)) return false;
    if (given.is_negative && !wanted[i].may_be_negative) return false;
  }
  return true;
}

// Digests of blocks of cases, one after the other; positions count the words.
class Digests {
 public:
  Digests(const scalar_cases::Form& form, std::uint64_t first)
      : form_(form), operation_(scalar_cases::operation(form)), first_(first), position_(first) {}

  std::vector<std::uint64_t> of(const std::vector<scalar_cases::Values>& in) {
    std::vector<std::uint64_t> out;
    for (std::size_t i = 0; i < in[0].size(); ++i) {
      if (i % scalar_cases::kBlock == 0) out.push_back(0);
      add(scalar_cases::sources(form_, in, i), out.back());
    }
    return out;
  }
  // Of inputs that are numbers, from the first one on.
  std::uint64_t of_large_block() {
    scalar::Sources sources;
    sources.count = 1;
    std::uint64_t out = 0;
    for (std::uint64_t i = 0; i < scalar_cases::kLargeBlock; ++i) {
      if (i % scalar_cases::kBlock == 0) end_if(stop_flag());
      sources.value[0] = first_ + i;
      add(sources, out);
    }
    return out;
  }
  std::uint64_t elements() const { return position_ - first_; }

 private:
  void add(const scalar::Sources& sources, std::uint64_t& digest) {
    const scalar::Results got = scalar::execute(operation_, sources);
    digest += inputs::mix(position_++, got.value);
    if (form_.results.size() > 1) digest += inputs::mix(position_++, second(got) ? 1 : 0);
  }

  bool second(const scalar::Results& got) const {
    switch (form_.results[1].role) {
      case scalar_cases::Role::carry: return got.carry;
      case scalar_cases::Role::borrow: return !got.carry;
      default: return got.second;
    }
  }

  const scalar_cases::Form& form_;
  scalar::Operation operation_;
  std::uint64_t first_, position_;
};

// The digests of a record's blocks, computed here. Errors: the record has not as many, or not as many elements.
Result<FileStatus> compare_digests(const Subject& subject, const RecordedScalar& recorded, FileReport& report) {
  const std::uint64_t first = recorded.first.value_or(0),
                      of_block = recorded.first ? scalar_cases::kLargeBlock : scalar_cases::kBlock;
  Digests computed(recorded.form, first);
  std::vector<std::uint64_t> got;
  if (recorded.first) {
    report.cases = of_block;
    got = {computed.of_large_block()};
  } else {
    const std::vector<scalar_cases::Values> in = scalar_cases::inputs(recorded.form);
    report.cases = in[0].size();
    got = computed.of(in);
  }
  report.elements = computed.elements();
  for (const auto& [member, seen, wanted] : {std::tuple("elements", recorded.elements, report.elements),
                                             {"digests", recorded.digests.size(), got.size()}})
    if (seen != wanted)
      return Error{Errc::record_malformed, fmt::format("line {}: '{}'", subject.record.line, member),
                   fmt::format("{}", seen), fmt::format("{}, as its inputs have", wanted)};
  for (std::size_t i = 0; i < got.size(); ++i) {
    const std::string text = fmt::format("{:016x}", got[i]);
    if (text == recorded.digests[i]) continue;
    const std::uint64_t from = i * of_block, count = std::min(of_block, report.cases - from);
    ++report.mismatches;
    report.notes.push_back(fmt::format("cases {} to {}: expected digest 0x{}, got 0x{}", first + from,
                                       first + from + count - 1, recorded.digests[i], text));
  }
  return FileStatus::replayed;
}

// The form of the target that has these words and operands.
Result<ptx::MatchedForm> matched_form(const scalar_cases::Form& form, Target target) {
  const auto forms = ptx::match_scalar(form.words[0], form.qualifiers(), target);
  if (!forms) return forms.error();
  const auto found = std::ranges::find_if(*forms, [&](const auto& one) { return fits(one, form); });
  if (found != forms->end()) return *found;
  return Error{Errc::operand_kind, form.name, form.notation, std::string(forms->front().form->row->operands)};
}

}  // namespace

Result<FileStatus> verify_scalar_digests(const Subject& subject, FileReport& report) {
  const auto recorded = recording::reading([&] {
    const Fields fields = recording::fields_of(subject.record);
    report.header.statement = fields.text("form");
    return read_scalar(fields);
  });
  if (!recorded) return recorded.error();
  const Result<Target> target = subject.target(recorded->target);
  if (!target) return target.error();
  report.target = target->name();
  const scalar_cases::Form& form = recorded->form;
  const Result<ptx::MatchedForm> matched = matched_form(form, *target);
  if (!matched) return matched.error();
  if (matched->form->row->kind == ptx::Kind::not_measured) {
    report.notes.emplace_back("the PTX manual does not define this form, and nothing is computed for it");
    return FileStatus::not_reproducible;
  }
  if (scalar_cases::operation(form).execute == nullptr)
    return Error{Errc::instruction_not_modelled, form.name, "it computes no number", ""};
  const ptx::KindRow* const kind = ptx::kind_of(*matched->form, form.qualifiers());
  report.inferred =
      ptx::evidence(kind, form.words[0], form.qualifiers(), *target).rests == ptx::Rests::inferred;
  return compare_digests(subject, *recorded, report);
}

}  // namespace warpbit::verification
