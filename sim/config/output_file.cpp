#include "sim/config/output_file.h"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <streambuf>
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

struct NamedFile {
  int descriptor = -1;
  fs::path path;
};

// Opens a new file with the permissions `mode` in the folder of `place`, under an unused name. Names that killed runs
// left are skipped.
NamedFile new_file_beside(const fs::path& place, mode_t mode) {
  constexpr int most_names = 1000;
  NamedFile file;
  for (int number = 0; number < most_names; ++number) {
    file.path =
        place.parent_path() / (".c3sim." + std::to_string(getpid()) + "." + std::to_string(number) + ".partial");
    file.descriptor = ::open(file.path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (file.descriptor >= 0 || errno != EEXIST) return file;
  }
  return file;
}

int nameless_file_beside(const fs::path& place) {
  const Uninterrupted named;
  const NamedFile file = new_file_beside(place, 0600);
  if (file.descriptor >= 0) ::unlink(file.path.c_str());
  return file.descriptor;
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

// Returns 0, or the errno of a failure.
int copy_all(int from, int to) {
  constexpr std::size_t block = std::size_t{1} << 30;
  off_t at = 0;
  ssize_t copied = 0;
  while ((copied = ::sendfile(to, from, &at, block)) > 0) {
  }
  return copied < 0 ? errno : 0;
}

// Gives the file the owner and mode of the file that it replaces. Not every user may change the owner. The mode comes
// last because a change of owner clears its special rights.
int take_over(const fs::path& place, int descriptor) {
  struct stat replaced {};
  if (::stat(place.c_str(), &replaced) != 0) return 0;
  if (fchown(descriptor, replaced.st_uid, replaced.st_gid) != 0 && errno != EPERM) return errno;
  return fchmod(descriptor, replaced.st_mode & 07777) == 0 ? 0 : errno;
}

}  // namespace

// Writes a stream to an open descriptor, which it owns. Unlike std::filebuf, it keeps the reason of the first failed
// write, which ends the stream.
class OutputFile::DescriptorBuffer : public std::streambuf {
 public:
  explicit DescriptorBuffer(int descriptor) : descriptor_(descriptor) {
    setp(buffer_.data(), buffer_.data() + buffer_.size());
  }
  ~DescriptorBuffer() override {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  DescriptorBuffer(const DescriptorBuffer&) = delete;
  DescriptorBuffer& operator=(const DescriptorBuffer&) = delete;

  int descriptor() const { return descriptor_; }
  // Returns the errno of the write or close that failed, or 0.
  int error() const { return error_; }
  // Writes the remaining bytes and closes. Returns false if this or any write before failed.
  bool close() {
    sync();
    if (::close(std::exchange(descriptor_, -1)) != 0 && error_ == 0) error_ = errno;
    return error_ == 0;
  }

 protected:
  int_type overflow(int_type character) override {
    if (sync() != 0) return traits_type::eof();
    if (!traits_type::eq_int_type(character, traits_type::eof())) sputc(traits_type::to_char_type(character));
    return traits_type::not_eof(character);
  }
  int sync() override {
    const char* next = pbase();
    while (error_ == 0 && next != pptr()) {
      const ssize_t written = ::write(descriptor_, next, static_cast<std::size_t>(pptr() - next));
      if (written >= 0) {
        next += written;
      } else if (errno != EINTR) {
        error_ = errno;
      }
    }
    setp(buffer_.data(), buffer_.data() + buffer_.size());
    return error_ == 0 ? 0 : -1;
  }

 private:
  int descriptor_;
  int error_ = 0;
  std::array<char, 1 << 16> buffer_;
};

OutputFile::OutputFile(fs::path path) : path_(std::move(path)) {
  struct stat there {};
  const bool exists = ::stat(path_.c_str(), &there) == 0;
  const int own = exists ? own_output(there) : -1;
  int descriptor = -1;
  if (exists && S_ISDIR(there.st_mode)) fail(path_, EISDIR);
  if (exists && (S_ISBLK(there.st_mode) || S_ISSOCK(there.st_mode))) fail(path_, ENOTSUP);
  if (own >= 0) {
    descriptor = ::fcntl(own, F_DUPFD_CLOEXEC, 0);
  } else if (exists && !S_ISREG(there.st_mode)) {
    descriptor = ::open(path_.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC);
  } else {
    place_ = end_of_links(path_);
    if (exists && ::access(place_.c_str(), W_OK) != 0) fail(path_, errno);
    descriptor = nameless_file_beside(place_);
  }
  if (descriptor < 0) fail(path_, errno);
  buffer_ = std::make_unique<DescriptorBuffer>(descriptor);
  stream_.rdbuf(buffer_.get());
}

OutputFile::~OutputFile() = default;

void OutputFile::commit() {
  stream_.flush();
  if (buffer_->error() != 0) fail(path_, buffer_->error());
  if (!place_.empty()) replace();
  if (!buffer_->close()) fail(path_, buffer_->error());
}

void OutputFile::replace() {
  const Uninterrupted named;
  const NamedFile file = new_file_beside(place_, 0666);
  if (file.descriptor < 0) fail(path_, errno);
  int error = copy_all(buffer_->descriptor(), file.descriptor);
  if (error == 0) error = take_over(place_, file.descriptor);
  if (::close(file.descriptor) != 0 && error == 0) error = errno;
  if (error == 0 && std::rename(file.path.c_str(), place_.c_str()) != 0) error = errno;
  if (error == 0) return;
  ::unlink(file.path.c_str());
  fail(path_, error);
}

void write_file(const fs::path& path, std::string_view content) {
  OutputFile file(path);
  file.stream() << content;
  file.commit();
}

}  // namespace c3sim::sim
