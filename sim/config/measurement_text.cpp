#include "sim/config/measurement_text.h"

#include <fmt/format.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <new>
#include <system_error>
#include <utility>

#include "sim/config/config_error.h"
#include "sim/config/files_read.h"
#include "sim/interruption.h"

namespace c3sim::sim {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::string_view gzip_begins = "\x1f\x8b";

// A NoText is a format that is refused, recognised by the bytes that its files begin with.
struct NoText {
  std::string_view begins;
  std::string_view what;
};
constexpr std::array no_texts{
    NoText{"\xFF\xFE"sv, "it is UTF-16: UTF-8 is accepted, as iconv -f UTF-16 -t UTF-8 makes it"},
    NoText{"\xFE\xFF"sv, "it is UTF-16: UTF-8 is accepted, as iconv -f UTF-16 -t UTF-8 makes it"},
    NoText{"PK\x03\x04"sv,
           "it is a zip archive, as .xlsx files are, too: unpack it, or save the sheet as CSV, which is accepted"},
    NoText{"\xD0\xCF\x11\xE0"sv, "it is a file of an old Excel (.xls): save the sheet as CSV, which is accepted"},
    NoText{"\xFD"
           "7zXZ"sv,
           "it is compressed by xz: unpack it by xz -d; plain text and gzip are accepted"},
    NoText{"\x28\xB5\x2F\xFD"sv, "it is compressed by zstd: unpack it by zstd -d; plain text and gzip are accepted"},
    NoText{"BZh"sv, "it is compressed by bzip2: unpack it by bzip2 -d; plain text and gzip are accepted"}};

[[noreturn]] void fail(std::string_view name, std::string what) {
  throw ConfigError({{std::string(name), "", std::move(what)}});
}

void refuse_no_text(std::string_view bytes, std::string_view name) {
  for (const NoText& one : no_texts) {
    if (bytes.starts_with(one.begins)) fail(name, std::string(one.what));
  }
}

std::string too_large(std::string_view what, std::size_t most) {
  const std::string size =
      most >= (std::size_t{1} << 30) ? fmt::format("{} GiB", most >> 30) : fmt::format("{} bytes", most);
  return fmt::format("{}larger than {}: a file of measurements is accepted up to that size", what, size);
}

}  // namespace

MeasurementStream::MeasurementStream(const std::filesystem::path& path, std::size_t most)
    : name_(path.string()), most_(most), file_(nullptr, &gzclose) {
  std::error_code unknown;
  if (std::filesystem::is_directory(path, unknown)) fail(name_, "it is a folder: a file is accepted");
  note_read(path);
  const std::uintmax_t size = std::filesystem::file_size(path, unknown);  // unknown for a pipe
  if (!unknown && size > most_) fail(name_, too_large("", most_));
  file_.reset(gzopen(path.c_str(), "rb"));
  if (!file_) fail(name_, std::generic_category().message(errno));
  gzbuffer(file_.get(), static_cast<unsigned>(block_.size()));
}

std::string_view MeasurementStream::next() {
  ask_interruption();
  const int read = gzread(file_.get(), block_.data(), static_cast<unsigned>(block_.size()));
  int error = Z_OK;
  std::string_view said = gzerror(file_.get(), &error);
  if (error == Z_MEM_ERROR) throw std::bad_alloc();
  if (error == Z_BUF_ERROR) fail(name_, "its gzip is cut off: the whole file is accepted");
  if (said.starts_with(name_ + ": ")) said.remove_prefix(name_.size() + 2);
  if (error == Z_ERRNO) fail(name_, std::string(said));
  if (error < 0 || read < 0) fail(name_, fmt::format("its gzip is damaged ({}): a whole file is accepted", said));
  const std::string_view piece = std::string_view(block_).substr(0, static_cast<std::size_t>(read));
  const bool is_packed = gzdirect(file_.get()) == 0;
  if (size_ == 0) refuse_no_text(piece, name_);
  if (size_ == 0 && is_packed && piece.starts_with(gzip_begins)) {
    fail(name_, "it is compressed twice: gzip of plain text is accepted");
  }
  size_ += piece.size();
  if (size_ > most_) fail(name_, too_large(is_packed ? "unpacked, it is " : "", most_));
  return piece;
}

std::string read_measurement_text(const std::filesystem::path& path) {
  try {
    MeasurementStream stream(path, largest_measurement_text);
    std::string text;
    std::error_code unknown;
    if (const std::uintmax_t size = std::filesystem::file_size(path, unknown); !unknown) text.reserve(size);
    for (std::string_view piece = stream.next(); !piece.empty(); piece = stream.next()) text += piece;
    return text;
  } catch (const std::bad_alloc&) {
    fail(path.string(), "it needs more memory than there is");
  }
}

}  // namespace c3sim::sim
