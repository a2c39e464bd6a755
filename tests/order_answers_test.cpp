// SPDX-License-Identifier: Apache-2.0
// What warpbit order answers of files as people have them: the store by D's type or values, orders that are one sum, split-K,
// and a D of no order. The files' D are made by gemm in orders that the search does not see.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>

#include "api/sum_identity.hpp"
#include "tool.hpp"
#include "warpbit/find_order.hpp"
#include "warpbit/format.hpp"
#include "warpbit/gemm.hpp"
#include "warpbit/replay.hpp"

namespace order_answers_test {

using namespace warpbit;
using namespace tool;
using Catch::Contains;
using Json = nlohmann::json;

// ---- Files

struct Matrix {
  std::size_t rows, columns;
  std::vector<std::uint64_t> codes;
};

// Numbers near 1 with signs.
Matrix random_matrix(std::string_view format, std::size_t rows, std::size_t columns, unsigned seed) {
  const Codec codec = Codec::find(format == "tf32" ? "f32" : format).value();
  std::mt19937_64 random(seed);
  Matrix out{rows, columns, {}};
  for (std::size_t n = 0; n < rows * columns; ++n)
    out.codes.push_back(
        codec.encode(static_cast<double>(static_cast<int>(random() % 65535) - 32767) / 16384).value());
  return out;
}

// A B, and the files of a question.
class Question {
 public:
  Question(const std::string& form, const std::string& target, std::size_t m, std::size_t n, std::size_t k)
      : i_(Instruction::parse(form, target).value()),
        format_(i_.find(Part::a)->format),
        a_(random_matrix(format_, m, k, 1)),
        b_(random_matrix(format_, k, n, 2)) {}

  bool has_f16() const { return format_ == "f16"; }

  // D of this order: codes of its format.
  Matrix product(const std::string& order) const {
    MatrixOperands operands;
    operands.a = {a_.rows, a_.columns, a_.codes};
    operands.b = {b_.rows, b_.columns, b_.codes};
    GemmOptions options;
    options.order = SumOrder::parse(order).value();
    const CodeMatrix d = run_matrices(i_, operands, options).value();
    return {d.rows, d.columns, d.codes};
  }

  std::string file(const std::string& name, const Matrix& m, char kind, std::size_t bytes) const {
    Array array = Array::zeros("m", bytes, {m.rows, m.columns});
    array.header.kind = kind;
    for (std::size_t n = 0; n < m.codes.size(); ++n) array.set(n, m.codes[n]);
    const std::filesystem::path path = directory_.path / (name + ".npy");
    REQUIRE(write_array(path, array).ok());
    return path.string();
  }
  std::string a() const { return operand("a", a_); }
  std::string b() const { return operand("b", b_); }

  Output ask(const std::string& d, std::vector<std::string> more = {}) const {
    std::vector<std::string> words{"order",   a(),    b(), d, "--target", std::string(i_.target().name()),
                                   "--types", format_};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }
  Json json(const std::string& d, std::vector<std::string> more = {}) const {
    more.emplace_back("--json");
    const Output answer = ask(d, more);
    INFO(answer.err);
    return Json::parse(answer.out);
  }

 private:
  // bf16 as NumPy has it, int16; the others as their own types.
  std::string operand(const std::string& name, const Matrix& m) const {
    if (format_ == "bf16") return file(name, m, 'i', 2);
    if (format_ == "tf32" || format_ == "f32") return file(name, m, 'f', 4);
    return file(name, m, format_ == "f16" ? 'f' : 'u', format_ == "f16" ? 2 : 1);
  }

  Directory directory_;
  Instruction i_;
  std::string format_;
  Matrix a_, b_;
};

// Codes of f16 or bf16 as the same numbers of f32.
Matrix widened(Matrix m, const std::string& format) {
  const Codec from = Codec::find(format).value();
  for (std::uint64_t& code : m.codes)
    code = std::bit_cast<std::uint32_t>(static_cast<float>(from.decode(code)));
  return m;
}

bool says(const Json& found, const std::string& order) {
  if (found["order"] == order) return true;
  for (const Json& same : found["same"])
    if (same["order"] == order && same["form"] == found["form"]) return true;
  return false;
}

bool any_says(const Json& answer, const std::string& order) {
  return std::ranges::any_of(answer["found"], [&](const Json& found) { return says(found, order); });
}

const std::string kF16 = "mma.m16n8k16.f32.f16", kBf16 = "mma.m16n8k16.f32.bf16";

// ---- The store

TEST_CASE("the store follows from the type of D, or its values", "[quick][order][once]") {
  const Question f16(kF16, "H100", 8, 12, 64), bf16(kBf16, "H100", 8, 12, 64);
  const Matrix half = f16.product("split_k=2 store=f16"), narrow = bf16.product("store=bf16");
  struct Row {
    const Question& question;
    std::string d;
    const char* order;
  };
  const Row rows[] = {{f16, f16.file("half", half, 'f', 2), "split_k=2 store=f16"},
                      {f16, f16.file("codes", half, 'u', 2), "split_k=2 store=f16"},
                      {f16, f16.file("float", widened(half, "f16"), 'f', 4), "split_k=2 store=f16"},
                      {f16, f16.file("single", f16.product("ascending"), 'f', 4), "ascending"},
                      {bf16, bf16.file("int16", narrow, 'i', 2), "store=bf16"},
                      {bf16, bf16.file("uint16", narrow, 'u', 2), "store=bf16"},
                      {bf16, bf16.file("float", widened(narrow, "bf16"), 'f', 4), "store=bf16"}};
  for (const Row& row : rows) {
    INFO(row.d);
    CHECK(any_says(row.question.json(row.d, {"--top", "100"}), row.order));
  }
}

TEST_CASE("codes of 16 bits beside operands that do not tell their format are those of bf16",
          "[quick][order]") {
  const Question e4m3("wgmma.m64n8k32.f32.e4m3", "H100", 4, 4, 64);
  const Json answer = e4m3.json(e4m3.file("d", e4m3.product("store=bf16"), 'i', 2));
  CHECK(any_says(answer, "store=bf16"));
}

TEST_CASE("an order is not searched of rounded inputs", "[quick][order]") {
  const Question f16(kF16, "H100", 2, 2, 16);
  const std::string d = f16.file("d", f16.product("ascending"), 'f', 4);
  const Directory directory;
  const std::string rounded = write(directory.path / "a.csv", "0.1 1\n1 1\n"),
                    square = write(directory.path / "b.csv", "1 1\n1 1\n");
  const Output answer = run({"order", rounded, square, square, "--target", "H100", "--types", "f16"});
  CHECK(answer.status == 2);
  CHECK_THAT(answer.err, Contains("1 number is not in f16") && Contains("0.1 at (0, 0)"));
  CHECK(answer.out == "");
}

// ---- One sum in several descriptions

TEST_CASE("all descriptions of one sum are one answer, the likely one first", "[quick][order][once]") {
  struct Row {
    const char *form, *order, *likely, *same, *split;
  };
  const Row rows[] = {{"mma.m16n8k16.f32.f16", "split_k=4", "split_k=4", "promote=64", "yes"},
                      {"mma.m16n8k16.f32.f16", "split_k=2", "split_k=2", "promote=128", "yes"},
                      {"mma.m16n8k16.f32.f16", "ascending", "ascending", nullptr, "no"},
                      {"mma.m16n8k16.f32.f16", "descending", "descending", nullptr, "no"},
                      {"wgmma.m64n8k32.f32.e4m3", "promote=128", "promote=128", "split_k=2", "cannot be told"},
                      {"wgmma.m64n8k32.f32.e4m3", "split_k=3", "split_k=3", nullptr, "yes"}};
  for (const Row& row : rows) {
    INFO(row.form << " " << row.order);
    const Question question(row.form, "H100", 8, 16, 256);
    const Matrix d = question.product(row.order);
    const std::string file = question.file("d", d, 'f', 4);
    const Json answer = question.json(file);
    REQUIRE_FALSE(answer["found"].empty());
    CHECK(answer["found"][0]["order"] == row.likely);
    // The sums of wgmma have few bits, whose order in a merge does not show.
    if (question.has_f16()) CHECK(answer["found"].size() == 1);
    if (row.same != nullptr) CHECK(says(answer["found"][0], row.same));
    CHECK(answer["split_k"] == row.split);
    const std::string text = question.ask(file).out;
    CHECK_THAT(text, Contains(fmt::format("split-K: {}", row.split)));
    if (row.same != nullptr) CHECK_THAT(text, Contains("the same sum for any data") && Contains(row.same));
  }
}

TEST_CASE("data that do not tell sums apart", "[quick][order]") {
  const Directory directory;
  const auto put = [&](const char* name, const std::string& text) {
    return write(directory.path / name, text);
  };
  std::string row, column;
  for (int k = 0; k < 64; ++k) row += k == 0 ? "1" : " 1", column += "1\n";
  const Output answer = run({"order", put("a.csv", row + "\n"), put("b.csv", column), put("d.csv", "64\n"),
                             "--target", "H100", "--types", "f16"});
  CHECK(answer.status == 0);
  CHECK_THAT(answer.out, Contains("which cannot be told apart by these data") &&
                             Contains("split-K: cannot be told") && Contains(": ascending"));
}

TEST_CASE("a product of FMA chains is one", "[quick][order]") {
  const Question question("chain.fma.rn.f32", "H100", 8, 8, 128);
  const Json answer = question.json(question.file("d", question.product("ascending"), 'f', 4));
  REQUIRE(answer["found"].size() == 1);
  CHECK(answer["found"][0]["form"] == "chain.fma.rn.f32");
  CHECK(answer["found"][0]["order"] == "ascending");
  CHECK(answer["split_k"] == "no");
}

// Equal numbers: equal bits, of any data. gemm computes them by its own way.
TEST_CASE("orders with the number of one sum give its bits", "[quick][order]") {
  struct Row {
    const char* form;
    std::size_t depth;
    const char *x, *y;
    bool same;
  };
  const Row rows[] = {{"mma.m16n8k16.f32.f16", 4096, "split_k=4", "promote=1024", true},
                      {"mma.m16n8k16.f32.f16", 4096, "split_k=4 store=f16", "promote=1024 store=f16", true},
                      {"mma.m16n8k16.f32.f16", 4096, "split_k=8", "promote=512", true},
                      {"mma.m16n8k16.f32.f16", 4096, "split_k=2", "promote=2048", true},
                      {"mma.m16n8k16.f32.f16", 4096, "split_k=2", "sliced=2x2048", true},
                      {"mma.m16n8k16.f32.f16", 4096, "split_k=2 merge_order=descending", "split_k=2", true},
                      {"mma.m16n8k16.f32.f16", 4096, "split_k=4", "runs=1024:1024:1024:1024", true},
                      {"mma.m16n8k16.f32.f16", 4096, "split_k=4", "split_k=4 merge_order=pairs", false},
                      {"mma.m16n8k16.f32.f16", 4096, "split_k=4", "promote=512", false},
                      {"mma.m16n8k16.f32.f16", 4096, "split_k=4", "split_k=4 partials=f16", false},
                      {"mma.m16n8k16.f32.f16", 4096, "store=f16", "store=bf16", false},
                      {"mma.m16n8k16.f32.f16", 100, "short_first=64", "ascending", false},
                      {"mma.m16n8k16.f32.f16", 64, "promote=64", "ascending", true},
                      {"wgmma.m64n8k32.f32.e4m3", 512, "split_k=4", "promote=128", true},
                      {"chain.fma.rn.f32", 256, "split_k=2", "sliced=2x128", true},
                      {"chain.fma.rn.f32", 256, "ascending", "descending", false},
                      {"mma.m16n8k8.f32.tf32", 64, "tf32=rn", "tf32=rz", false},
                      {"mma.m16n8k32.s32.s8", 256, "split_k=4 merge_order=pairs", "descending", true}};
  for (const Row& row : rows) {
    INFO(row.form << ", K " << row.depth << ": " << row.x << ", " << row.y);
    const Instruction i = Instruction::parse(row.form, "H100").value();
    const SumOrder x = SumOrder::parse(row.x).value(), y = SumOrder::parse(row.y).value();
    const std::uint64_t first = sum_identity(i, {row.depth}, x).value(),
                        second = sum_identity(i, {row.depth}, y).value();
    CHECK((first == second) == row.same);
    if (!row.same || std::string(row.form).find("s8") != std::string::npos) continue;
    const Question question(row.form, "H100", 6, 8, row.depth);
    CHECK(question.product(row.x).codes == question.product(row.y).codes);
  }
}

// ---- A D of no order

TEST_CASE("a D of no order is answered without the long search, with the nearest", "[order][once]") {
  const Question question(kF16, "H100", 32, 48, 1024);
  Matrix d = question.product("split_k=4");
  d.codes[5 * 48 + 7] ^= 1;
  const std::string file = question.file("d", d, 'f', 4);
  const Output answer = question.ask(file);
  CHECK(answer.status == 1);
  CHECK_THAT(answer.out, Contains("explains all elements; there are more") && Contains("1535 of 1536") &&
                             Contains("split_k=4") && Contains("at (5, 7) it gives") &&
                             Contains("--exhaustive tries the others") && Contains("split-K: cannot be told"));
  const Json json = question.json(file);
  CHECK(json["found"].empty());
  CHECK(json["nearest"][0]["first_wrong"]["row"] == 5);
  CHECK(json["complete"] == false);
}

// ---- tf32

// Of 1 + 2^-12, which lies between two numbers of tf32, rz keeps 1 and rn 1, too; of 1 + 3 2^-12 rn makes 1 + 2^-10.
TEST_CASE("the word decides how f32 becomes tf32", "[quick][run]") {
  const Directory directory;
  Array x = Array::zeros("x", 4, {1, 1});
  x.header.kind = 'f';
  x.set(0, std::bit_cast<std::uint32_t>(1.0F + 3 * 0x1p-12F));
  const std::filesystem::path file = directory.path / "x.npy", out = directory.path / "d.npy";
  REQUIRE(write_array(file, x).ok());
  const auto product = [&](const std::string& order) {
    std::vector<std::string> words{"run", "mma.m16n8k8.f32.tf32", "--target", "A100",      "--a", file.string(),
                                   "--b", file.string(),          "--out",    out.string()};
    if (!order.empty()) words.insert(words.end(), {"--order", order});
    const Output answer = run(words);
    CHECK(answer.status == 0);
    CHECK(answer.err == "");
    return std::bit_cast<float>(static_cast<std::uint32_t>(read_array(out).value().at(0)));
  };
  CHECK(product("tf32=rz") == 1.0F);
  CHECK(product("") == 1.0F);
  CHECK(product("tf32=rn") == (1 + 0x1p-10F) * (1 + 0x1p-10F));
  CHECK(product("tf32=rna") == (1 + 0x1p-10F) * (1 + 0x1p-10F));
}

}  // namespace order_answers_test
