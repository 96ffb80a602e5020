// The main of every test program. What tests write lies in a folder of the process and goes with it, so that tests can
// run beside each other: testing::TempDir() is that folder.
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
