#include "sim/config/output_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <string>
#include <system_error>

#include "tests/folder.h"
#include "tests/text_file.h"

namespace c3sim::sim {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class OutputFileTest : public InFolder {
 protected:
  std::ptrdiff_t files() const { return std::distance(fs::directory_iterator(folder_), {}); }
  // The message of the failure of a write to the path; empty where it succeeds.
  static std::string failure(const fs::path& path, std::string_view text = "x") {
    try {
      write_file(path, text);
    } catch (const std::system_error& error) {
      return error.what();
    }
    return "";
  }
};

TEST_F(OutputFileTest, ShowsTheNewContentOnlyOnCommit) {
  const fs::path path = folder_ / "result.json";
  write_file(path, "old");
  OutputFile file(path);
  EXPECT_EQ(file.path(), path);
  file.stream() << "new" << std::flush;
  EXPECT_EQ(content(path), "old");
  file.commit();
  EXPECT_EQ(content(path), "new");
  EXPECT_EQ(files(), 1);
}

TEST_F(OutputFileTest, LeavesTheOldFileAndNothingElseWithoutCommit) {
  const fs::path path = folder_ / "result.json";
  write_file(path, "old");
  {
    OutputFile file(path);
    file.stream() << "new";
  }
  EXPECT_EQ(content(path), "old");
  EXPECT_EQ(files(), 1);
}

TEST_F(OutputFileTest, KeepsBytesAsTheyAre) {
  const std::string bytes("\0\r\n\xff", 4);
  write_file(folder_ / "bytes", bytes);
  EXPECT_EQ(content(folder_ / "bytes"), bytes);
}

TEST_F(OutputFileTest, RefusesAFolderASocketAndAFileInAMissingFolder) {
  const fs::path socket = folder_ / "socket";
  ASSERT_EQ(mknod(socket.c_str(), S_IFSOCK | 0600, 0), 0);
  for (const auto& [path, fault] :
       {std::pair(folder_ / "missing" / "result.json", "No such file or directory"),
        std::pair(folder_, "Is a directory"), std::pair(socket, "Operation not supported")}) {
    EXPECT_EQ(failure(path), "cannot write " + path.string() + ": " + fault);
  }
  EXPECT_TRUE(fs::is_socket(socket));
}

TEST_F(OutputFileTest, WritesIntoAPipeAndLeavesItThere) {
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  EXPECT_EQ(failure(pipe, "text"), "");
  std::string text(10, '\0');
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, read(reader, text.data(), text.size()))));
  close(reader);
  EXPECT_EQ(text, "text");
  EXPECT_TRUE(fs::is_fifo(pipe));
  EXPECT_EQ(files(), 1);
}

// As root a rename would make a file of the device.
TEST_F(OutputFileTest, LeavesADeviceADeviceAndSaysThatItIsFull) {
  EXPECT_EQ(failure("/dev/full"), "cannot write /dev/full: No space left on device");
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
  EXPECT_EQ(failure("/dev/null"), "");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

// A second opening of the file would write over what the first wrote.
TEST_F(OutputFileTest, GoesOnInTheFileThatStandardOutputIs) {
  const fs::path path = folder_ / "stdout";
  const pid_t writer = fork();
  if (writer == 0) {
    const int out = open(path.c_str(), O_WRONLY | O_CREAT, 0600);
    dup2(out, STDOUT_FILENO);
    const bool first = ::write(STDOUT_FILENO, "1", 1) == 1;
    const bool second = failure("/dev/stdout", "2").empty();
    const bool third = ::write(STDOUT_FILENO, "3", 1) == 1;
    _exit(first && second && third ? 0 : 1);
  }
  int status = -1;
  waitpid(writer, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(content(path), "123");
}

TEST_F(OutputFileTest, ReplacesWhatALinkLeadsToAndKeepsTheLink) {
  fs::create_directory(folder_ / "inner");
  const fs::path target = folder_ / "inner" / "result.json";
  const fs::path link = folder_ / "link";
  fs::create_symlink("inner/result.json", folder_ / "middle");
  fs::create_symlink(folder_ / "middle", link);
  write_file(link, "first");  // dangling so far
  write_file(link, "second");
  EXPECT_EQ(content(target), "second");
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_FALSE(fs::is_symlink(target));
  fs::create_symlink(folder_ / "circle", folder_ / "circle");
  EXPECT_THAT(failure(folder_ / "circle"), HasSubstr("Too many levels of symbolic links"));
}

TEST_F(OutputFileTest, KeepsTheModeOfTheFileThatItReplaces) {
  const fs::path path = folder_ / "result.json";
  write_file(path, "old");
  ASSERT_EQ(chmod(path.c_str(), 0640), 0);
  write_file(path, "new");
  struct stat now {};
  ASSERT_EQ(stat(path.c_str(), &now), 0);
  EXPECT_EQ(now.st_mode & 07777, 0640U);
}

// Signals that end a run find no file under another name; the shell sees 128 and the signal's number.
TEST_F(OutputFileTest, LeavesTheOldFileAndNothingElseWhereASignalEndsTheRun) {
  const fs::path path = folder_ / "result.json";
  write_file(path, "old");
  for (const int signal : {SIGINT, SIGTERM, SIGKILL}) {
    const pid_t writer = fork();
    if (writer == 0) {
      OutputFile file(path);
      file.stream() << std::string(1 << 20, 'n') << std::flush;
      kill(getpid(), signal);
    }
    int status = 0;
    ASSERT_EQ(waitpid(writer, &status, 0), writer);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal);
    EXPECT_EQ(content(path), "old");
    EXPECT_EQ(files(), 1);
  }
  write_file(path, "new");
  EXPECT_EQ(content(path), "new");
}

TEST_F(OutputFileTest, FailsWhenTheFolderVanishesBeforeCommit) {
  const fs::path inner = folder_ / "inner";
  fs::create_directory(inner);
  OutputFile file(inner / "result.json");
  fs::remove_all(inner);
  EXPECT_THROW(file.commit(), std::system_error);
}

TEST_F(OutputFileTest, FailsOnAFullDiskAndLeavesTheOldFile) {
  const fs::path path = folder_ / "result.json";
  write_file(path, "old");
  // A limit on the size of files stands in for a full disk: both make a write() fail.
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1000, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string message = failure(path, std::string(100000, 'x'));
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, handler);
  EXPECT_EQ(message, "cannot write " + path.string() + ": File too large");
  EXPECT_EQ(content(path), "old");
  EXPECT_EQ(files(), 1);
}

}  // namespace
}  // namespace c3sim::sim
