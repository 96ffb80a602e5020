// Temporary folders for tests.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace c3sim {

// The folder is empty at first and is removed with the object.
class Folder {
 public:
  explicit Folder(const std::string& name) : path_(std::filesystem::path(testing::TempDir()) / name) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path write(const std::filesystem::path& name, std::string_view text) const {
    const std::filesystem::path file = path_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
    return file;
  }

 private:
  std::filesystem::path path_;
};

// Each test of a derived class has its own temporary folder.
class InFolder : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string write(const std::string& name, std::string_view text) const { return own_.write(name, text).string(); }

 private:
  const Folder own_{"in_folder"};

 protected:
  const std::filesystem::path& folder_ = own_.path();
};

}  // namespace c3sim
