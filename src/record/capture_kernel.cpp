// SPDX-License-Identifier: Apache-2.0
// The statements in which a form is captured, and PTX kernels that execute one on the members of a capture.
#include "warpbit/record.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "isa/instruction.hpp"
#include "record/members.hpp"
#include "warpbit/inputs/text.hpp"

namespace warpbit {
namespace {

// ---- Statements

// The member that holds an operand (src/capture/FORMAT.md).
std::string_view member_name(const OperandSpec& spec) {
  const bool described = spec.kind == OperandKind::descriptor;
  switch (spec.part) {
    case Part::a: return described ? "desc_a" : "a";
    case Part::b: return described ? "desc_b" : "b";
    case Part::metadata: return "e";
    case Part::scale_a: return "sfa";
    case Part::scale_b: return "sfb";
    case Part::address: return "addr";
    default: return spec.role;
  }
}

// Those of an immediate, the least that is not negative first.
std::vector<std::string> values(const ImmediateRange& range) {
  std::vector<int> all;
  for (int value = range.least; value <= range.most; value += range.step) all.push_back(value);
  std::stable_partition(all.begin(), all.end(), [](int value) { return value >= 0; });
  std::vector<std::string> out;
  for (const int value : all) out.push_back(std::to_string(value));
  return out;
}

// What may stand in the place of an operand, the default first; "" where it may be omitted.
std::vector<std::string> choices(const OperandSpec& spec) {
  const std::string name(member_name(spec));
  switch (spec.kind) {
    case OperandKind::vector: return {fmt::format("{{{}}}", name)};
    case OperandKind::address: return {fmt::format("[{}]", name)};
    case OperandKind::immediate: return values(spec.immediate);
    case OperandKind::pair: {
      const std::vector<std::string> first = values(spec.immediate), second = values(spec.second);
      std::vector<std::string> out;
      for (const std::string& x : first) out.push_back(fmt::format("{{{}, {}}}", x, second[0]));
      for (const std::string& y : std::span(second).subspan(1))
        out.push_back(fmt::format("{{{}, {}}}", first[0], y));
      return out;
    }
    case OperandKind::scalar:
    case OperandKind::descriptor:
    case OperandKind::predicate: break;
  }
  return spec.optional ? std::vector<std::string>{name, ""} : std::vector<std::string>{name};
}

std::string statement(const Form& form, std::vector<std::string> operands) {
  std::erase(operands, "");
  return fmt::format("{} {};", form.canonical, fmt::join(operands, ", "));
}

// ---- Kernels

// The version of PTX that the tables under tests/isa were made with.
constexpr std::string_view kPtxVersion = "9.0";

constexpr int kThreads = 256;  // in a block, of an instruction of each thread
constexpr int kChunk = 16;     // bytes of the image that a thread copies at a time

// Writes the kernel of one statement. Registers have the names of the members that they hold.
class KernelWriter {
 public:
  KernelWriter(const Instruction& instruction, const std::vector<CaptureMember>& members)
      : instruction_(instruction), specs_(instruction.decoded().form->operands), members_(members) {
    if (const auto* move = std::get_if<MatrixMove>(&instruction.decoded().form->action)) space_ = move->space;
    for (const CaptureMember& member : members)
      if (member.name == kMemory) image_bytes_ = member.case_bytes();
  }

  std::string text() {
    head();
    find_case();
    if (image_bytes_ > 0) find_image();
    for (std::size_t i = 0; i < operands().size(); ++i) declare(operands()[i], specs_[i]);
    for (const Operand& operand : operands()) load(operand);
    if (image_bytes_ > 0) copy_in();
    if (is_asynchronous()) line("wgmma.fence.sync.aligned;");
    line("{}", statement());
    if (is_asynchronous()) {
      line("wgmma.commit_group.sync.aligned;");
      line("wgmma.wait_group.sync.aligned 0;");
    }
    if (stores())
      copy_out();
    else
      move("st", operands()[0], operands()[0].label);
    line("ret;");
    return text_ + "}\n";
  }

 private:
  std::span<const Operand> operands() const { return instruction_.operands(); }
  bool one_thread() const { return instruction_.lanes() == 1; }
  bool stores() const { return !operands()[0].is_destination(); }
  bool is_asynchronous() const { return accumulates_in_place(instruction_); }

  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text_ += "  " + fmt::format(format, std::forward<Args>(args)...) + "\n";
  }

  void head() {
    text_ = fmt::format("// {}\n.version {}\n.target {}\n.address_size 64\n.visible .entry capture(",
                        instruction_.text(), kPtxVersion, instruction_.target().name());
    for (std::size_t i = 0; i < members_.size(); ++i)
      text_ += fmt::format("{}.param .u64 p{}", i ? ", " : "", i);
    if (one_thread()) text_ += ", .param .u32 cases";
    text_ += ")\n{\n";
    line(".reg .b32 %case, %lane, %place, %bytes, %word<4>;");
    line(".reg .b64 %pointer, %offset, %image, %from, %to;");
    line(".reg .pred %more;");
  }

  // %case; %lane; %place = %case * lanes + %lane.
  void find_case() {
    line("mov.u32 %case, %ctaid.x;");
    line("mov.u32 %lane, %tid.x;");
    line("mad.lo.u32 %place, %case, {}, %lane;", one_thread() ? kThreads : instruction_.lanes());
    if (!one_thread()) return;
    line("ld.param.u32 %bytes, [cases];");
    line("setp.ge.u32 %more, %place, %bytes;");
    line("@%more ret;");
  }

  // ---- Members

  // %pointer = where the entry of this case begins, or that of this lane.
  void point(std::string_view member, std::size_t bytes, bool by_lane) {
    const auto at = std::ranges::find(members_, member, &CaptureMember::name);
    line("ld.param.u64 %pointer, [p{}];", at - members_.begin());
    line("mul.wide.u32 %offset, {}, {};", by_lane ? "%place" : "%case", bytes);
    line("add.u64 %pointer, %pointer, %offset;");
  }

  static bool is_vector(const Operand& operand) { return operand.kind == OperandKind::vector; }
  static std::string reg(const Operand& operand, int i) {
    return is_vector(operand) ? fmt::format("%{}{}", operand.label, i) : "%" + operand.label;
  }
  // "{%a2, %a3}"
  static std::string registers(const Operand& operand, int first, int count) {
    std::vector<std::string> out;
    for (int i = first; i < first + count; ++i) out.push_back(reg(operand, i));
    return fmt::format("{{{}}}", fmt::join(out, ", "));
  }
  // Of an operand that is no register: an immediate, a pair of selectors, a literal.
  static bool is_literal(const Operand& operand) { return !operand.literals.empty(); }

  void declare(const Operand& operand, const OperandSpec& spec) {
    if (is_literal(operand)) return;
    const std::string_view types = spec.registers->types;
    line(".reg .{} %{};", types.substr(0, types.find(' ')),
         is_vector(operand) ? fmt::format("{}<{}>", operand.label, operand.registers) : operand.label);
  }

  // Loads or stores the registers of an operand, up to 128 bits at a time.
  void move(std::string_view what, const Operand& operand, std::string_view member) {
    const int count = operand.registers, bytes = operand.register_bits / 8;
    point(member, static_cast<std::size_t>(count * bytes), true);
    int width = bytes < 4 ? 1 : 16 / bytes;
    while (count % width != 0) width /= 2;
    const std::string vector = width == 1 ? "" : fmt::format(".v{}", width);
    for (int first = 0; first < count; first += width) {
      const std::string value = width > 1 ? registers(operand, first, width) : reg(operand, first);
      const std::string place = fmt::format("[%pointer+{}]", first * bytes);
      line("{}.global{}.b{} {}, {};", what, vector, operand.register_bits, what == "ld" ? value : place,
           what == "ld" ? place : value);
    }
  }

  void load(const Operand& operand) {
    if (is_literal(operand)) return;
    if (operand.is_destination()) {
      if (is_asynchronous()) move("ld", operand, kBefore);
    } else if (operand.kind == OperandKind::descriptor) {
      // Bits 0 to 13 are the start address in units of 16 bytes.
      load(operand, 8, false,
           {"ld.global.b64 {}, [%pointer];", "shr.u64 %offset, %image, 4;", "add.u64 {0}, {0}, %offset;"});
    } else if (operand.kind == OperandKind::predicate) {
      load(operand, 1, false, {"ld.global.u8 %bytes, [%pointer];", "setp.ne.u32 {}, %bytes, 0;"});
    } else if (operand.kind == OperandKind::address) {
      load(operand, 4, true,
           {"ld.global.u32 %bytes, [%pointer];", "cvt.u64.u32 {}, %bytes;", "add.u64 {0}, {0}, %image;"});
    } else if (operand.part == Part::stride) {
      load(operand, 4, false, {"ld.global.b32 {}, [%pointer];"});
    } else {
      move("ld", operand, operand.label);
    }
  }
  // By these instructions on its register.
  void load(const Operand& operand, std::size_t bytes, bool by_lane, std::initializer_list<const char*> lines) {
    point(operand.label, bytes, by_lane);
    for (const char* text : lines) line(fmt::runtime(text), "%" + operand.label);
  }

  // ---- Memory

  // %image: the address of the image in the state space of the instruction.
  void find_image() {
    line(".shared .align 1024 .b8 image[{}];", image_bytes_);
    line("mov.u64 %image, image;");
    if (space_ == Space::generic) line("cvta.shared.u64 %image, %image;");
  }

  void copy_in() {
    point(kMemory, image_bytes_, false);
    copy("in", "global", "%pointer", name(space_), "%image");
    if (is_asynchronous()) line("fence.proxy.async.shared::cta;");
    line("bar.sync 0;");
  }

  void copy_out() {
    line("bar.sync 0;");
    point(kMemoryAfter, image_bytes_, false);
    copy("out", name(space_), "%image", "global", "%pointer");
  }

  // All threads copy 16 bytes at a time.
  void copy(std::string_view label, std::string_view from_space, std::string_view from,
            std::string_view to_space, std::string_view to) {
    const auto suffix = [](std::string_view space) {
      return space == "generic" ? "" : fmt::format(".{}", space);
    };
    line("shl.b32 %bytes, %lane, 4;");
    text_ += fmt::format("copy_{}:\n", label);
    line("setp.ge.u32 %more, %bytes, {};", image_bytes_);
    line("@%more bra copied_{};", label);
    line("cvt.u64.u32 %offset, %bytes;");
    line("add.u64 %from, {}, %offset;", from);
    line("add.u64 %to, {}, %offset;", to);
    line("ld{}.v4.b32 {{%word0, %word1, %word2, %word3}}, [%from];", suffix(from_space));
    line("st{}.v4.b32 [%to], {{%word0, %word1, %word2, %word3}};", suffix(to_space));
    line("add.u32 %bytes, %bytes, {};", kChunk * instruction_.lanes());
    line("bra copy_{};", label);
    text_ += fmt::format("copied_{}:\n", label);
  }

  std::string statement() const {
    std::vector<std::string> out;
    for (const Operand& operand : operands()) out.push_back(operand_text(operand));
    return fmt::format("{} {};", instruction_.canonical(), fmt::join(out, ", "));
  }

  static std::string operand_text(const Operand& operand) {
    if (operand.kind == OperandKind::pair) return "{" + operand.label + "}";
    if (is_literal(operand)) return operand.label;
    if (operand.kind == OperandKind::address) return fmt::format("[%{}+{}]", operand.label, operand.offset);
    if (!is_vector(operand)) return "%" + operand.label;
    return registers(operand, 0, operand.registers);
  }

  const Instruction& instruction_;
  std::span<const OperandSpec> specs_;
  const std::vector<CaptureMember>& members_;
  Space space_ = Space::shared;
  std::size_t image_bytes_ = 0;
  std::string text_;
};

// What names the statement among all of its target: the form with underscores, then immediates and selectors.
std::string file_stem(const Instruction& statement) {
  std::string out;
  for (const char c : statement.canonical())  // "." and "::" become "_"
    if (c != ':' || out.back() != '_') out += c == '.' || c == ':' ? '_' : c;
  bool described = false, in_registers = false, strides = false;
  for (const Operand& operand : statement.operands()) {
    described |= operand.kind == OperandKind::descriptor;
    in_registers |= operand.part == Part::a && operand.kind == OperandKind::vector;
    strides |= operand.part == Part::stride;
  }
  if (described) out += in_registers ? "_rs" : "_ss";
  for (const Operand& operand : statement.operands()) {
    if (operand.kind != OperandKind::immediate && operand.kind != OperandKind::pair) continue;
    out += operand.part == Part::selector ? "_sel" : "_";
    for (const char c : operand.label)  // "-1" -> "m1", "{0, 1}" -> "01"
      if (c != ',' && c != ' ') out += c == '-' ? 'm' : c;
  }
  const std::vector<OperandSpec>& specs = statement.decoded().form->operands;
  if (!strides && specs.back().part == Part::stride) out += "_no_stride";
  return out;
}

std::string member_line(std::string_view key, const CaptureMember& member) {
  std::string out = fmt::format("{} {} {} {}", key, member.name, member.item_bytes, member.register_bits);
  for (const std::uint64_t extent : member.shape) out += fmt::format(" {}", extent);
  return out + "\n";
}

}  // namespace

std::vector<std::string> capture_statements(const Instruction& instruction) {
  const Form& form = *instruction.decoded().form;
  if (!capture_members(instruction)) return {};
  std::vector<std::vector<std::string>> all;
  std::vector<std::string> defaults;
  for (const OperandSpec& spec : form.operands) defaults.push_back(all.emplace_back(choices(spec)).front());
  std::vector<std::string> out = {statement(form, defaults)};
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const std::string& other : std::span(all[i]).subspan(1)) {
      std::vector<std::string> operands = defaults;
      operands[i] = other;
      out.push_back(statement(form, operands));
    }
  return out;
}

Result<std::string> capture_kernel(const Instruction& statement) {
  const std::vector<std::string> known = capture_statements(statement);
  if (std::ranges::find(known, statement.text()) == known.end())
    return Error{Errc::member_value, "statement", fmt::format("'{}'", statement.text()),
                 known.empty() ? "an instruction with results" : fmt::format("'{}'", known.front())};
  return KernelWriter(statement, *capture_members(statement)).text();
}

Result<std::string> capture_block(const Instruction& statement) {
  const Result<std::string> kernel = capture_kernel(statement);
  if (!kernel) return kernel.error();
  std::string folder(statement.family());
  std::ranges::replace(folder, '.', '_');
  std::string out = fmt::format("form {}\nstatement {}\nfile {}/{}\nlanes {}\n", statement.canonical(),
                                statement.text(), folder, file_stem(statement), statement.lanes());
  for (const CaptureMember& member : *capture_members(statement)) {
    out += member_line(member.fills.empty() ? "result" : "member", member);
    for (const inputs::Member& fill : member.fills) out += fmt::format("fill {}\n", inputs::text(fill));
  }
  out += probe_lines(statement);
  return fmt::format("{}ptx {}\n{}", out, std::ranges::count(*kernel, '\n'), *kernel);
}

}  // namespace warpbit
