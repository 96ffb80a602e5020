#include "study/bar_chart.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "sim/output_file.h"

namespace study {

namespace {

// Inside double quotes of gnuplot, and of its data files: no character may end the text or be taken for a command.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    const bool harmless = c != '"' && c != '\\' && c != '`' && static_cast<unsigned char>(c) >= ' ';
    result += harmless ? c : ' ';
  }
  return result + '"';
}

std::string data_of(const BarChart& chart) {
  std::string text = "label predicted published\n";
  for (const Bar& bar : chart.bars) {
    const std::string published = bar.published ? fmt::format("{}", *bar.published) : "NaN";
    text += fmt::format("{} {} {}\n", quoted(bar.label), bar.predicted, published);
  }
  return text;
}

std::string script_of(const BarChart& chart, const std::string& stem, const std::string& picture) {
  std::string script;
  script += "set terminal svg size 900,480 font 'sans-serif,14' background 'white'\n";
  script += fmt::format("set output {}\n", quoted(picture));
  script += fmt::format("set title {} noenhanced\n", quoted(chart.title));
  script += fmt::format("set ylabel {} noenhanced\n", quoted(chart.value_axis));
  script += "set style data histograms\nset style histogram clustered gap 1\nset style fill solid 0.9 noborder\n";
  script += "set xtics noenhanced nomirror\nset ytics nomirror\nset grid ytics\nset border 3\nset key top left\n";
  script += "set datafile missing 'NaN'\n";
  script += fmt::format("data = {}\n", quoted(stem + ".dat"));
  script += "plot data using 2:xtic(1) title 'predicted' linecolor rgb '#d55e00'";
  const bool has_published =
      std::any_of(chart.bars.begin(), chart.bars.end(), [](const Bar& bar) { return bar.published.has_value(); });
  if (has_published) script += ", data using 3 title 'published' linecolor rgb '#7f7f7f'";
  script += '\n';
  return script;
}

// Runs `gnuplot <script>` in the directory and waits for its end.
std::string run_gnuplot(const std::filesystem::path& directory, std::string script) {
  std::string program = "gnuplot";
  std::array<char*, 3> arguments{program.data(), script.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, directory.c_str());
  pid_t child = 0;
  const int error = posix_spawnp(&child, program.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return "no picture: gnuplot cannot be started (is the package gnuplot-nox installed?)";
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return fmt::format("no picture: gnuplot failed on {}", (directory / script).string());
  }
  return {};
}

}  // namespace

std::string draw(const BarChart& chart, const std::filesystem::path& directory, const std::string& stem) {
  std::filesystem::create_directories(directory);
  const std::string partial = stem + ".svg.partial";
  sim::write_file(directory / (stem + ".dat"), data_of(chart));
  sim::write_file(directory / (stem + ".gp"), script_of(chart, stem, partial));
  std::string problem = run_gnuplot(directory, stem + ".gp");
  if (problem.empty()) std::filesystem::rename(directory / partial, directory / (stem + ".svg"));
  return problem;
}

}  // namespace study
