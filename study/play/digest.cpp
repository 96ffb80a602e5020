#include "study/play/digest.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <fstream>
#include <functional>
#include <memory>
#include <utility>

#include "sim/check.h"

namespace c3sim::study {

namespace {

// Returns the digest of a text that comes part by part; an empty part ends it.
std::string digest_of(const std::function<std::string_view()>& next_part) {
  const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  SIM_CHECK(EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) == 1);
  for (std::string_view part = next_part(); !part.empty(); part = next_part()) {
    SIM_CHECK(EVP_DigestUpdate(context.get(), part.data(), part.size()) == 1);
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int length = 0;
  SIM_CHECK(EVP_DigestFinal_ex(context.get(), digest.data(), &length) == 1);
  std::string digits;
  for (unsigned int i = 0; i < length; ++i) digits += fmt::format("{:02x}", digest[i]);
  return digits;
}

}  // namespace

std::string sha256(std::string_view text) {
  return digest_of([text]() mutable { return std::exchange(text, {}); });
}

std::string sha256_of_file(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::array<char, 1 << 16> part{};
  return digest_of([&] {
    stream.read(part.data(), part.size());
    return std::string_view(part.data(), static_cast<std::size_t>(stream.gcount()));
  });
}

}  // namespace c3sim::study
