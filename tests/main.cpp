// This is the main of every test program. Tests write into a folder of the process, testing::TempDir(), which is
// removed with the process, so that tests can run at the same time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>

int main(int argc, char** argv) {
  std::string folder = testing::TempDir() + "c3sim_tests.XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) {
    std::cerr << "error: no folder can be made in " << testing::TempDir() << '\n';
    return 1;
  }
  setenv("TEST_TMPDIR", folder.c_str(), 1);
  testing::InitGoogleMock(&argc, argv);
  const int failed = RUN_ALL_TESTS();
  std::filesystem::remove_all(folder);
  return failed;
}
