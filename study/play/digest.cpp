#include "study/play/digest.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <fstream>
#include <memory>

#include "sim/check.h"

namespace c3sim::study {

namespace {

// A Digest is told a text part by part.
class Digest {
 public:
  Digest() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    SIM_CHECK(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
  }
  void add(std::string_view text) { SIM_CHECK(EVP_DigestUpdate(context_.get(), text.data(), text.size()) == 1); }
  std::string digits() const {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int length = 0;
    SIM_CHECK(EVP_DigestFinal_ex(context_.get(), digest.data(), &length) == 1);
    std::string digits;
    for (unsigned int i = 0; i < length; ++i) digits += fmt::format("{:02x}", digest[i]);
    return digits;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context_;
};

}  // namespace

std::string sha256(std::string_view text) {
  Digest digest;
  digest.add(text);
  return digest.digits();
}

std::string sha256_of_file(const std::filesystem::path& file) {
  Digest digest;
  std::ifstream stream(file, std::ios::binary);
  std::array<char, 1 << 16> part{};
  while (stream.read(part.data(), part.size()) || stream.gcount() > 0) {
    digest.add({part.data(), static_cast<std::size_t>(stream.gcount())});
  }
  return digest.digits();
}

}  // namespace c3sim::study
