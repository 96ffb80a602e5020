#include "sim/config/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <string>
#include <system_error>
#include <utility>

namespace c3sim::sim {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& path, int error) {
  throw std::system_error(error, std::generic_category(), "cannot write " + path.string());
}

// Blocks the signals that end a run while a file has a temporary name.
class Uninterrupted {
 public:
  Uninterrupted() {
    sigset_t ending;
    sigemptyset(&ending);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaddset(&ending, signal);
    pthread_sigmask(SIG_BLOCK, &ending, &before_);
  }
  ~Uninterrupted() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  Uninterrupted(const Uninterrupted&) = delete;
  Uninterrupted& operator=(const Uninterrupted&) = delete;

 private:
  sigset_t before_{};
};

// Opens a new file in the folder of `place`, under an unused name that it sets. Names that killed runs left are
// skipped.
int open_beside(const fs::path& place, fs::path& name) {
  constexpr int most_names = 1000;
  int descriptor = -1;
  for (int number = 0; number < most_names; ++number) {
    name = place.parent_path() / (".c3sim." + std::to_string(getpid()) + "." + std::to_string(number) + ".partial");
    descriptor = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor >= 0 || errno != EEXIST) break;
  }
  return descriptor;
}

// Returns where a chain of links leads, whether or not a file is there.
fs::path end_of_links(const fs::path& path) {
  constexpr int most_links = 40;
  fs::path place = path;
  std::error_code ignored;
  for (int link = 0; fs::is_symlink(place, ignored); ++link) {
    if (link == most_links) fail(path, ELOOP);
    place = place.parent_path() / fs::read_symlink(place, ignored);
  }
  return place;
}

// Returns standard output or error if one of them is the file, else -1: a second descriptor would write from its start.
int own_output(const struct stat& there) {
  for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat own {};
    if (fstat(descriptor, &own) == 0 && own.st_dev == there.st_dev && own.st_ino == there.st_ino) return descriptor;
  }
  return -1;
}

// The functions below return 0, or the errno of a failure.
int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno != EINTR) return errno;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

int write_into(const fs::path& path, std::string_view text) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC);
  if (descriptor < 0) return errno;
  const int error = write_all(descriptor, text);
  return ::close(descriptor) != 0 && error == 0 ? errno : error;
}

// Gives the file the owner and mode of the file that it replaces. Not every user may change the owner. The mode comes
// last because a change of owner clears its special rights.
int take_over(const fs::path& place, int descriptor) {
  struct stat replaced {};
  if (::stat(place.c_str(), &replaced) != 0) return 0;
  if (fchown(descriptor, replaced.st_uid, replaced.st_gid) != 0 && errno != EPERM) return errno;
  return fchmod(descriptor, replaced.st_mode & 07777) == 0 ? 0 : errno;
}

// Writes a file beside the place and gives it the name of the place.
int replace(const fs::path& place, std::string_view text) {
  const Uninterrupted named;
  fs::path name;
  const int descriptor = open_beside(place, name);
  if (descriptor < 0) return errno;
  int error = write_all(descriptor, text);
  if (error == 0) error = take_over(place, descriptor);
  if (::close(descriptor) != 0 && error == 0) error = errno;
  if (error == 0 && std::rename(name.c_str(), place.c_str()) != 0) error = errno;
  if (error != 0) ::unlink(name.c_str());
  return error;
}

}  // namespace

OutputFile::OutputFile(fs::path path) : path_(std::move(path)) {
  struct stat there {};
  const bool exists = ::stat(path_.c_str(), &there) == 0;
  if (exists && S_ISDIR(there.st_mode)) fail(path_, EISDIR);
  if (exists && (S_ISBLK(there.st_mode) || S_ISSOCK(there.st_mode))) fail(path_, ENOTSUP);
  own_ = exists ? own_output(there) : -1;
  if (own_ >= 0 || (exists && !S_ISREG(there.st_mode))) return;
  place_ = end_of_links(path_);
  const fs::path folder = place_.has_parent_path() ? place_.parent_path() : fs::path(".");
  if ((exists && ::access(place_.c_str(), W_OK) != 0) || ::access(folder.c_str(), W_OK | X_OK) != 0) fail(path_, errno);
}

void OutputFile::commit() {
  const std::string_view text = stream_.view();
  const int error = own_ >= 0        ? write_all(own_, text)
                    : place_.empty() ? write_into(path_, text)
                                     : replace(place_, text);
  if (error != 0) fail(path_, error);
}

void write_file(const fs::path& path, std::string_view content) {
  OutputFile file(path);
  file.stream() << content;
  file.commit();
}

}  // namespace c3sim::sim
