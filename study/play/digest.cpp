#include "study/play/digest.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>

#include "sim/check.h"

namespace c3sim::study {

std::string sha256(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int length = 0;
  const int done = EVP_Digest(text.data(), text.size(), digest.data(), &length, EVP_sha256(), nullptr);
  SIM_CHECK(done == 1);
  std::string digits;
  for (unsigned int i = 0; i < length; ++i) digits += fmt::format("{:02x}", digest[i]);
  return digits;
}

}  // namespace c3sim::study
