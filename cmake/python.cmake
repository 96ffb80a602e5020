# The module c3sim of Python, for the Python of the system unless Python_EXECUTABLE names another. It is not built where
# pybind11 is not there, nor with sanitizers, which a Python without them cannot load.
if(NOT Python_EXECUTABLE AND EXISTS /usr/bin/python3)
  set(Python_EXECUTABLE /usr/bin/python3)
endif()
find_package(Python 3.9 COMPONENTS Interpreter Development.Module QUIET)
set(PYBIND11_FINDPYTHON ON)
find_package(pybind11 2.10 CONFIG QUIET)
if(NOT pybind11_FOUND OR NOT Python_Development.Module_FOUND OR C3SIM_FUZZ)
  message(STATUS "pybind11 or Python's headers not found, or a build with sanitizers: no module of Python is built")
  return()
endif()

set(package ${PROJECT_BINARY_DIR}/python/c3sim)
pybind11_add_module(c3sim_python MODULE NO_EXTRAS python/module.cpp)
target_link_libraries(c3sim_python PRIVATE validate)
target_compile_definitions(c3sim_python PRIVATE C3SIM_VERSION="${PROJECT_VERSION}")
target_link_options(c3sim_python PRIVATE -Wl,--exclude-libs,ALL)
set_target_properties(c3sim_python PROPERTIES OUTPUT_NAME _core LIBRARY_OUTPUT_DIRECTORY ${package})

# The package beside the module, and its stub, which the module itself is asked for.
add_custom_command(
  OUTPUT ${package}/__init__.pyi
  COMMAND ${CMAKE_COMMAND} -E copy ${PROJECT_SOURCE_DIR}/python/c3sim/__init__.py ${package}/__init__.py
  COMMAND ${CMAKE_COMMAND} -E touch ${package}/py.typed
  COMMAND ${Python_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/python/stub.py ${PROJECT_BINARY_DIR}/python > ${package}/__init__.pyi
  DEPENDS c3sim_python python/c3sim/__init__.py python/stub.py VERBATIM)
add_custom_target(c3sim_package ALL DEPENDS ${package}/__init__.pyi)

set(C3SIM_PYTHON_DIR lib/python3/dist-packages CACHE STRING "Where Python packages lie under the prefix")
install(TARGETS c3sim_python LIBRARY DESTINATION ${C3SIM_PYTHON_DIR}/c3sim COMPONENT python)
install(FILES ${package}/__init__.py ${package}/__init__.pyi ${package}/py.typed DESTINATION ${C3SIM_PYTHON_DIR}/c3sim
        COMPONENT python)
install(DIRECTORY examples/ DESTINATION share/doc/c3sim/examples COMPONENT python FILES_MATCHING PATTERN *.ipynb
        PATTERN embed EXCLUDE)
