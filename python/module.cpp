// c3sim._core: every command as an object that Python asks. What Python programs see is made of it in
// c3sim/__init__.py.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <nlohmann/json.hpp>
#include <system_error>

#include "sim/config/config_error.h"
#include "sim/simulator.h"
#include "validate/ask/commands.h"

namespace py = pybind11;

namespace c3sim {
namespace {

using study::Command;

// Ctrl-C: Python knows what to raise.
struct Interrupted {};

bool interrupted() {
  const py::gil_scoped_acquire held;
  return PyErr_CheckSignals() != 0;
}

void check_interrupted() {
  if (interrupted()) throw Interrupted();
}

// Work asks thousands of times a second. Python is asked some hundred times alone: its lock may be held by another
// thread, for which the work would wait each time.
class Look {
 public:
  void operator()() {
    constexpr std::chrono::milliseconds between_looks(10);
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return;
    check_interrupted();
    next_ = now + between_looks;
  }

 private:
  std::chrono::steady_clock::time_point next_{};
};

study::Listener listener_of(std::vector<std::string>& warnings) {
  return {.progress = [](std::size_t, std::size_t) { check_interrupted(); },
          .warn = [&warnings](std::string_view sentence) { warnings.emplace_back(sentence); },
          .interruptible = [] { return interrupted; }};
}

// Texts of the user's files may hold anything: as JSON has them.
py::object text_of(const std::string& text) {
  return py::reinterpret_steal<py::object>(
      PyUnicode_DecodeUTF8(text.data(), static_cast<py::ssize_t>(text.size()), "replace"));
}

// Python's own values of what --format json has, and of what else an answer is.
py::object answer_of(const study::Results& results, const std::vector<std::string>& warnings, bool holds) {
  nlohmann::ordered_json tables = nlohmann::ordered_json::object();
  for (const study::NamedTable& named : results.tables) tables[named.key] = named.table.to_json();
  const nlohmann::ordered_json answer{{"platform", results.platform}, {"tables", std::move(tables)},
                                      {"warnings", warnings},         {"notes", results.notes},
                                      {"text", results.text},         {"holds", holds}};
  return py::module_::import("json").attr("loads")(study::json_text(answer));
}

// What the command line would say of it before anything is read; empty where it says nothing.
std::string refused(const Command& command, const study::Given& given) {
  for (const auto& [name, texts] : given) {
    const bool known = std::ranges::count(command.options, name, &study::Option::name) > 0;
    if (known) continue;
    return "error: " + command.unknown(study::typed_name(name), {}) + "\n";
  }
  return command.missing(given);
}

// Names of files may be no UTF-8.
void raise_input_error(const std::string& why) {
  PyErr_SetObject(py::module_::import("c3sim._core").attr("InputError").ptr(), text_of(why).ptr());
}

// Answers are Python's own values, of no --format.
std::vector<Command> commands() {
  std::vector<Command> commands = validate::all_commands();
  for (Command& command : commands) {
    std::erase_if(command.options, [](const study::Option& option) { return option.name == "format"; });
  }
  return commands;
}

py::object ask(const Command& command, const study::Given& given, study::PlatformShelf& shelf) {
  if (const std::string why = refused(command, given); !why.empty()) {
    raise_input_error(why);
    throw py::error_already_set();
  }
  command.check(given);
  std::vector<std::string> warnings;
  study::Request request(given, {C3SIM_VERSION, "c3sim " + study::command_line(command.name, command.options, given)},
                         listener_of(warnings), &shelf);
  study::Results results;
  try {
    const py::gil_scoped_release others_run;
    const sim::Interruption interruption{Look()};
    results = command.answer(request);
  } catch (const Interrupted&) {
    throw py::error_already_set();
  } catch (const std::system_error& error) {
    if (PyErr_Occurred() != nullptr) throw py::error_already_set();  // what is finished of a study is kept
    PyErr_SetString(PyExc_OSError, error.what());
    throw py::error_already_set();
  }
  request.check_behind();
  warnings.insert(warnings.end(), results.warnings.begin(), results.warnings.end());
  return answer_of(results, warnings, !request.check_failed());
}

}  // namespace
}  // namespace c3sim

PYBIND11_MODULE(_core, module) {
  using namespace c3sim;
  const py::exception<sim::ConfigError> input_error(module, "InputError", PyExc_ValueError);
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const sim::ConfigError& error) {
      raise_input_error(error.what());
    }
  });
  py::class_<study::Option>(module, "Option")
      .def_readonly("name", &study::Option::name)
      .def_readonly("form", &study::Option::form)
      .def_readonly("help", &study::Option::help)
      .def_property_readonly("said", [](const study::Option& option) { return sim::to_string(option.said); })
      .def_readonly("required", &study::Option::required)
      .def_readonly("alone", &study::Option::alone)
      .def_property_readonly("typed", &study::Option::typed);
  py::class_<study::PlatformShelf>(module, "PlatformShelf").def(py::init<>());
  py::class_<Command>(module, "Command")
      .def_readonly("name", &Command::name)
      .def_readonly("about", &Command::about)
      .def_readonly("notes", &Command::notes)
      .def_readonly("options", &Command::options)
      .def("ask", &ask);
  module.def("commands", &commands);
  module.attr("version") = C3SIM_VERSION;
}
