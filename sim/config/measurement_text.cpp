#include "sim/config/measurement_text.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <new>
#include <system_error>
#include <utility>

#include "sim/check.h"
#include "sim/config/config_error.h"
#include "sim/config/files_read.h"

namespace c3sim::sim {

namespace {

using std::string_view_literals::operator""sv;

constexpr std::string_view gzip_begins = "\x1f\x8b";

// By the bytes that such files begin with.
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

std::string size_in_words(std::size_t bytes) {
  return bytes >= (std::size_t{1} << 30) ? fmt::format("{} GiB", bytes >> 30) : fmt::format("{} bytes", bytes);
}

// zlib's state, which goes with it.
class Inflation {
 public:
  Inflation(std::string_view bytes, std::string_view name) : name_(name) {
    constexpr int gzip_alone = 16 + MAX_WBITS;
    if (inflateInit2(&stream_, gzip_alone) != Z_OK) throw std::bad_alloc();
    // Files of measurements end below 2^32 bytes, where zlib counts no further.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
  }
  Inflation(const Inflation&) = delete;
  Inflation& operator=(const Inflation&) = delete;
  ~Inflation() { inflateEnd(&stream_); }

  // Adds the size of what the next member holds and, where a text is given, what it holds.
  void unpack_member(std::size_t& size, std::size_t most, std::string* text) {
    std::string block(std::size_t{1} << 18, '\0');
    int told = Z_OK;
    while (told != Z_STREAM_END) {
      stream_.next_out = reinterpret_cast<Bytef*>(block.data());
      stream_.avail_out = static_cast<uInt>(block.size());
      told = inflate(&stream_, Z_NO_FLUSH);
      const std::size_t unpacked = block.size() - stream_.avail_out;
      size += unpacked;
      if (text != nullptr) text->append(block, 0, unpacked);
      if (size > most) {
        fail(name_, fmt::format("unpacked, it is larger than {}: a file of measurements is accepted up to that size",
                                size_in_words(most)));
      }
      if (told == Z_MEM_ERROR) throw std::bad_alloc();
      if (told == Z_BUF_ERROR) fail(name_, "its gzip is cut off: the whole file is accepted");
      if (told != Z_OK && told != Z_STREAM_END) {
        fail(name_, fmt::format("its gzip is damaged{}: a whole file is accepted",
                                stream_.msg == nullptr ? "" : fmt::format(" ({})", stream_.msg)));
      }
    }
    SIM_CHECK(inflateReset(&stream_) == Z_OK);
  }

  std::string_view rest() const { return {reinterpret_cast<const char*>(stream_.next_in), stream_.avail_in}; }

 private:
  z_stream stream_{};
  std::string_view name_;
};

// Returns the size of what they hold, and adds that to the text where one is given.
std::size_t unpack(std::string_view bytes, std::string_view name, std::size_t most, std::string* text) {
  std::size_t size = 0;
  Inflation inflation(bytes, name);
  while (inflation.rest().starts_with(gzip_begins)) inflation.unpack_member(size, most, text);
  // Tapes and some writers fill up with zeros.
  if (inflation.rest().find_first_not_of('\0') != std::string_view::npos) {
    fail(name, "bytes that are no gzip follow behind its gzip: a whole file is accepted");
  }
  return size;
}

std::string read_bytes(const std::filesystem::path& path) {
  const std::string name = path.string();
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) fail(name, "it is a folder: a file of measurements is accepted");
  note_read(path);
  const std::string too_large = "larger than 1 GiB: a file of measurements is accepted up to that size";
  const std::uintmax_t size = std::filesystem::file_size(path, ignored);
  if (!ignored && size > largest_measurement_text) fail(name, too_large);
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(name, std::generic_category().message(errno));
  std::string text;
  if (!ignored) text.reserve(size);  // of a pipe nothing is known
  std::string block(std::size_t{1} << 20, '\0');
  while (file.read(block.data(), static_cast<std::streamsize>(block.size())) || file.gcount() > 0) {
    text.append(block, 0, static_cast<std::size_t>(file.gcount()));
    if (text.size() > largest_measurement_text) fail(name, too_large);
  }
  if (file.bad()) fail(name, "the disk reports an error");
  return text;
}

}  // namespace

std::string measurement_text_of(std::string bytes, std::string_view name, std::size_t most) {
  refuse_no_text(bytes, name);
  if (!bytes.starts_with(gzip_begins)) return bytes;
  std::string text;
  text.reserve(unpack(bytes, name, most, nullptr));  // a string that grows takes up to three times as much
  unpack(bytes, name, most, &text);
  refuse_no_text(text, name);
  if (text.starts_with(gzip_begins)) fail(name, "it is compressed twice: gzip of plain text is accepted");
  return text;
}

std::string read_measurement_text(const std::filesystem::path& path) {
  try {
    return measurement_text_of(read_bytes(path), path.string());
  } catch (const std::bad_alloc&) {
    fail(path.string(), "it needs more memory than there is");
  }
}

}  // namespace c3sim::sim
