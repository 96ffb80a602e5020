// Compresses a text with gzip, for tests of readers of gzip files.
#pragma once

#include <zlib.h>

#include <string>
#include <string_view>

namespace c3sim {

inline std::string gzip(std::string_view text) {
  z_stream stream{};
  constexpr int gzip_alone = 16 + MAX_WBITS;
  constexpr int usual_memory = 8;
  deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, gzip_alone, usual_memory, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, static_cast<uLong>(text.size())), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

}  // namespace c3sim
