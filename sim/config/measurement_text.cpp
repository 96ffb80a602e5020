#include "sim/config/measurement_text.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <functional>
#include <new>
#include <system_error>
#include <utility>

#include "sim/check.h"
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

std::string size_in_words(std::size_t bytes) {
  return bytes >= (std::size_t{1} << 30) ? fmt::format("{} GiB", bytes >> 30) : fmt::format("{} bytes", bytes);
}

// Unpacks bytes that come block by block; bytes that are not gzip are returned as they are.
class Unpacking {
 public:
  using Bytes = std::function<std::string_view()>;  // the next block, valid until the next call; empty after the end

  Unpacking(Bytes bytes, std::string_view name, std::size_t most)
      : bytes_(std::move(bytes)), name_(name), most_(most) {}
  Unpacking(const Unpacking&) = delete;
  Unpacking& operator=(const Unpacking&) = delete;
  ~Unpacking() {
    if (is_gzip_) inflateEnd(&stream_);
  }

  // Returns the next piece of the text; empty after the end.
  std::string_view next() {
    ask_interruption();
    const bool is_first = !began_;
    if (is_first) begin();
    const std::string_view piece = is_gzip_ ? inflated() : is_first ? rest_ : bytes_();
    if (is_gzip_ && is_first) {
      refuse_no_text(piece, name_);
      if (piece.starts_with(gzip_begins)) fail(name_, "it is compressed twice: gzip of plain text is accepted");
    }
    size_ += piece.size();
    if (size_ > most_) {
      fail(name_, fmt::format("{}larger than {}: a file of measurements is accepted up to that size",
                              is_gzip_ ? "unpacked, it is " : "", size_in_words(most_)));
    }
    return piece;
  }

 private:
  void begin() {
    began_ = true;
    rest_ = bytes_();
    refuse_no_text(rest_, name_);
    is_gzip_ = rest_.starts_with(gzip_begins);
    constexpr int gzip_alone = 16 + MAX_WBITS;
    if (is_gzip_ && inflateInit2(&stream_, gzip_alone) != Z_OK) throw std::bad_alloc();
  }

  // Returns up to a block of unpacked bytes.
  std::string_view inflated() {
    std::size_t made = 0;
    while (made < block_.size() && has_more()) {
      // Blocks are smaller than 2^32 bytes, the most that zlib counts.
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(rest_.data()));
      stream_.avail_in = static_cast<uInt>(rest_.size());
      stream_.next_out = reinterpret_cast<Bytef*>(block_.data() + made);
      stream_.avail_out = static_cast<uInt>(block_.size() - made);
      const int told = inflate(&stream_, Z_NO_FLUSH);
      made = block_.size() - stream_.avail_out;
      rest_.remove_prefix(rest_.size() - stream_.avail_in);
      if (told == Z_MEM_ERROR) throw std::bad_alloc();
      if (told == Z_DATA_ERROR && stream_.total_in <= gzip_begins.size())
        fail(name_, "bytes that are no gzip follow behind its gzip: a whole file is accepted");
      if (told != Z_OK && told != Z_STREAM_END && told != Z_BUF_ERROR) {
        fail(name_, fmt::format("its gzip is damaged{}: a whole file is accepted",
                                stream_.msg == nullptr ? "" : fmt::format(" ({})", stream_.msg)));
      }
      in_member_ = told != Z_STREAM_END;
      if (!in_member_) SIM_CHECK(inflateReset(&stream_) == Z_OK);
    }
    return {block_.data(), made};
  }

  // Returns whether a gzip member goes on or another one begins. Tapes and some writers pad the end with zeros.
  bool has_more() {
    if (rest_.empty()) rest_ = bytes_();
    if (in_member_ && rest_.empty()) fail(name_, "its gzip is cut off: the whole file is accepted");
    while (!in_member_ && !rest_.empty()) {
      rest_.remove_prefix(std::min(rest_.find_first_not_of('\0'), rest_.size()));
      in_member_ = !rest_.empty();
      if (!in_member_) rest_ = bytes_();
    }
    return in_member_;
  }

  Bytes bytes_;
  std::string_view name_;
  std::size_t most_;
  std::size_t size_ = 0;  // bytes returned so far
  bool began_ = false;
  bool is_gzip_ = false;
  bool in_member_ = false;
  std::string_view rest_;  // bytes of the current block not read yet
  z_stream stream_{};      // state of gzip
  std::string block_ = std::string(std::size_t{1} << 18, '\0');
};

// Returns all bytes as one block.
Unpacking::Bytes whole(std::string_view bytes) {
  return [bytes]() mutable { return std::exchange(bytes, {}); };
}

// Reads the bytes of a file block by block.
class FileBytes {
 public:
  explicit FileBytes(const std::filesystem::path& path) : name_(path.string()) {
    std::error_code unknown;
    if (std::filesystem::is_directory(path, unknown)) fail(name_, "it is a folder: a file is accepted");
    note_read(path);
    size_ = std::filesystem::file_size(path, unknown);
    if (unknown) size_ = 0;
    file_.open(path, std::ios::binary);
    if (!file_) fail(name_, std::generic_category().message(errno));
  }

  std::uintmax_t size() const { return size_; }  // 0 if the size is unknown, as for a pipe
  // Returns the next block, valid until the next call; empty after the end.
  std::string_view next() {
    file_.read(block_.data(), static_cast<std::streamsize>(block_.size()));
    if (file_.bad()) fail(name_, "the disk reports an error");
    return {block_.data(), static_cast<std::size_t>(file_.gcount())};
  }

 private:
  std::string name_;
  std::uintmax_t size_ = 0;
  std::ifstream file_;
  std::string block_ = std::string(std::size_t{1} << 18, '\0');
};

std::string read_bytes(const std::filesystem::path& path) {
  const auto accept = [&path](std::uintmax_t size) {
    if (size <= largest_measurement_text) return;
    fail(path.string(), "larger than 1 GiB: a file of measurements is accepted up to that size");
  };
  FileBytes file(path);
  accept(file.size());
  std::string text;
  text.reserve(file.size());
  for (std::string_view piece = file.next(); !piece.empty(); piece = file.next()) {
    ask_interruption();
    text += piece;
    accept(text.size());
  }
  return text;
}

}  // namespace

std::string measurement_text_of(std::string bytes, std::string_view name, std::size_t most) {
  if (!bytes.starts_with(gzip_begins)) {
    refuse_no_text(bytes, name);
    return bytes;
  }
  std::size_t size = 0;  // reserved exactly, since a growing string takes up to three times as much memory
  const auto unpack = [&](const auto& take) {
    Unpacking unpacking(whole(bytes), name, most);
    for (std::string_view piece = unpacking.next(); !piece.empty(); piece = unpacking.next()) take(piece);
  };
  unpack([&size](std::string_view piece) { size += piece.size(); });
  std::string text;
  text.reserve(size);
  unpack([&text](std::string_view piece) { text += piece; });
  return text;
}

std::string read_measurement_text(const std::filesystem::path& path) {
  try {
    return measurement_text_of(read_bytes(path), path.string());
  } catch (const std::bad_alloc&) {
    fail(path.string(), "it needs more memory than there is");
  }
}

class MeasurementStream::Source {
 public:
  explicit Source(const std::filesystem::path& path)
      : name_(path.string()), bytes_(path), unpacking_([this] { return bytes_.next(); }, name_, largest) {}

  std::string_view next() { return unpacking_.next(); }

 private:
  std::string name_;
  FileBytes bytes_;
  Unpacking unpacking_;
};

MeasurementStream::MeasurementStream(const std::filesystem::path& path) : source_(std::make_unique<Source>(path)) {}
MeasurementStream::MeasurementStream(MeasurementStream&&) noexcept = default;
MeasurementStream::~MeasurementStream() = default;

std::string_view MeasurementStream::next() { return source_->next(); }

}  // namespace c3sim::sim
