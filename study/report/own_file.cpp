#include "study/report/own_file.h"

#include <fstream>
#include <iterator>
#include <system_error>

#include "sim/trace.h"
#include "study/run/digest.h"

namespace c3sim::study {

namespace {

constexpr std::string_view signature = "# Written by c3sim; sha256 of what follows: ";

// What follows the first line of a text.
std::string_view behind_first_line(std::string_view text) {
  const std::size_t end = text.find('\n');
  return end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
}

std::string signature_of(std::string_view text) { return std::string(signature) + sha256(text) + '\n'; }

}  // namespace

std::string signed_text(std::string_view text) {
  if (text.starts_with(signature)) text = behind_first_line(text);
  return signature_of(text).append(text);
}

bool is_own_file(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::string text(sim::PerfettoTrace::beginning.size(), '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (text.empty() || text == sim::PerfettoTrace::beginning) return true;
  if (!text.starts_with(signature.substr(0, text.size()))) return false;
  text.append(std::istreambuf_iterator<char>(stream), {});
  return text.starts_with(signature_of(behind_first_line(text)));
}

bool is_same_place(const std::filesystem::path& one, const std::filesystem::path& other) {
  std::error_code absent;
  if (std::filesystem::equivalent(one, other, absent)) return true;
  return std::filesystem::weakly_canonical(one, absent) == std::filesystem::weakly_canonical(other, absent);
}

}  // namespace c3sim::study
