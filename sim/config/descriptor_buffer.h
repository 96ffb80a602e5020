// What a stream writes to an open file of the operating system; unlike std::filebuf, it knows why a write failed.
#pragma once

#include <array>
#include <streambuf>

namespace c3sim::sim {

// Owns the descriptor. The first write that fails ends the stream; its reason stays.
class DescriptorBuffer : public std::streambuf {
 public:
  explicit DescriptorBuffer(int descriptor);
  ~DescriptorBuffer() override;
  DescriptorBuffer(const DescriptorBuffer&) = delete;
  DescriptorBuffer& operator=(const DescriptorBuffer&) = delete;

  int descriptor() const { return descriptor_; }
  // The errno of the write or close that failed; 0 where none has.
  int error() const { return error_; }
  // Writes what is left and closes. False where that, or any write before, failed.
  bool close();

 protected:
  int_type overflow(int_type character) override;
  int sync() override;

 private:
  int descriptor_;
  int error_ = 0;
  std::array<char, 1 << 16> buffer_;
};

}  // namespace c3sim::sim
