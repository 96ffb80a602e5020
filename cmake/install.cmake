# What `cmake --install` puts where, and the packages that `cpack` makes of it. Components: `program` is what a person uses,
# `python` its module of Python (cmake/python.cmake), `development` what a program needs that embeds c3sim.
include(CMakePackageConfigHelpers)

# The program, and what it reads: study/config_folders.h finds share/c3sim/configs from bin/. c3sim-measure beside it says in
# its own CMakeLists.txt how it is installed.
install(TARGETS c3sim DESTINATION bin COMPONENT program)
install(DIRECTORY configs DESTINATION share/c3sim COMPONENT program)
install(DIRECTORY validate/reference validate/suites DESTINATION share/c3sim/validate COMPONENT program)
install(FILES validate/claims.yaml validate/deviations.yaml validate/goldens.json DESTINATION share/c3sim/validate COMPONENT program)
install(FILES README.md CHANGELOG.md CITATION.cff DESTINATION share/doc/c3sim COMPONENT program)
install(FILES LICENSE DESTINATION share/doc/c3sim RENAME copyright COMPONENT program)

# Completions and manual pages are the program's own words, so they cannot go stale.
set(spoken ${PROJECT_BINARY_DIR}/spoken)
add_custom_command(
  OUTPUT ${spoken}/c3sim.bash ${spoken}/_c3sim
  COMMAND ${CMAKE_COMMAND} -E make_directory ${spoken}
  COMMAND c3sim completion bash > ${spoken}/c3sim.bash
  COMMAND c3sim completion zsh > ${spoken}/_c3sim
  DEPENDS c3sim VERBATIM)
set(spoken_files ${spoken}/c3sim.bash ${spoken}/_c3sim)
install(FILES ${spoken}/c3sim.bash DESTINATION share/bash-completion/completions RENAME c3sim COMPONENT program)
# Debian's zsh looks for what packages bring in another folder than for what an administrator installs.
install(FILES ${spoken}/_c3sim DESTINATION share/zsh/site-functions COMPONENT zsh)
install(FILES ${spoken}/_c3sim DESTINATION share/zsh/vendor-completions COMPONENT zsh_of_debian EXCLUDE_FROM_ALL)

find_program(HELP2MAN help2man)
if(HELP2MAN)
  add_custom_command(
    OUTPUT ${spoken}/man1/c3sim.1
    COMMAND ${PROJECT_SOURCE_DIR}/cmake/manual_pages.sh ${HELP2MAN} ${spoken}/man1 $<TARGET_FILE:c3sim>
            $<TARGET_FILE:c3sim-measure>
    DEPENDS c3sim c3sim-measure cmake/manual_pages.sh VERBATIM)
  list(APPEND spoken_files ${spoken}/man1/c3sim.1)
  install(DIRECTORY ${spoken}/man1 DESTINATION share/man COMPONENT program)
else()
  message(STATUS "help2man not found: no manual pages are made")
endif()
add_custom_target(spoken ALL DEPENDS ${spoken_files})

# Headers, libraries and the CMake package.
set(layers sim config models study calibrate tune validate)
add_library(c3sim_library INTERFACE)
target_link_libraries(c3sim_library INTERFACE validate)
set_target_properties(c3sim_library PROPERTIES EXPORT_NAME c3sim)
add_library(c3sim::c3sim ALIAS c3sim_library)
foreach(layer ${layers})
  set_target_properties(${layer} PROPERTIES OUTPUT_NAME c3sim_${layer}) # libconfig.a is taken
endforeach()
if(C3SIM_DEBUG_CHECKS) # headers ask for it
  target_compile_definitions(sim INTERFACE $<INSTALL_INTERFACE:C3SIM_DEBUG_CHECKS>)
endif()
install(TARGETS ${layers} c3sim_library EXPORT c3sim ARCHIVE DESTINATION lib COMPONENT development)
install(EXPORT c3sim NAMESPACE c3sim:: FILE c3sim-targets.cmake DESTINATION lib/cmake/c3sim COMPONENT development)
set(configs share/c3sim/configs)
configure_package_config_file(cmake/c3sim-config.cmake.in ${PROJECT_BINARY_DIR}/c3sim-config.cmake
                              INSTALL_DESTINATION lib/cmake/c3sim PATH_VARS configs)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/c3sim-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/c3sim-config.cmake ${PROJECT_BINARY_DIR}/c3sim-config-version.cmake
        DESTINATION lib/cmake/c3sim COMPONENT development)
install(CODE "set(source \"${PROJECT_SOURCE_DIR}\")\nset(staged \"${PROJECT_BINARY_DIR}/include/c3sim\")"
        COMPONENT development)
install(SCRIPT cmake/stage_headers.cmake COMPONENT development)
install(DIRECTORY ${PROJECT_BINARY_DIR}/include/c3sim DESTINATION include COMPONENT development)
install(DIRECTORY examples/embed DESTINATION share/doc/c3sim/examples COMPONENT development)

# Packages of Debian: c3sim, python3-c3sim and c3sim-dev.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "The c3sim authors <c3sim@invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "simulator of GPU nodes that compute and communicate at once")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL program zsh_of_debian development)
if(TARGET c3sim_python)
  list(APPEND CPACK_COMPONENTS_ALL python)
  set(CPACK_COMPONENT_PYTHON_GROUP python)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-c3sim)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SHLIBDEPS ON)
  math(EXPR next_minor "${Python_VERSION_MINOR} + 1") # a module is of one Python
  set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS
      "c3sim (= ${PROJECT_VERSION}), python3 (>= ${Python_VERSION_MAJOR}.${Python_VERSION_MINOR}), python3 (<< ${Python_VERSION_MAJOR}.${next_minor})")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SUGGESTS "python3-pandas")
  set(CPACK_COMPONENT_PYTHON_DESCRIPTION "c3sim as a module of Python: a function for each command.")
endif()
set(CPACK_COMPONENT_PROGRAM_GROUP program)
set(CPACK_COMPONENT_ZSH_OF_DEBIAN_GROUP program)
set(CPACK_COMPONENT_DEVELOPMENT_GROUP development)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME c3sim)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME c3sim-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
    "c3sim (= ${PROJECT_VERSION}), libfmt-dev, libre2-dev, libsqlite3-dev, libssl-dev, libyaml-cpp-dev, nlohmann-json3-dev, zlib1g-dev")
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION
    "Predicts how long GEMMs and collectives take on a node of eight MI300X that computes and communicates at once.")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "Headers, libraries and CMake package of c3sim, for programs that embed it.")
include(CPack)
