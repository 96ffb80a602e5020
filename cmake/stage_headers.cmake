# Lays the headers that programs ask c3sim by, and all that these include, into `staged`, from `source`. Includes are written from
# the top of the repository ("sim/units.h"); a program that embeds c3sim may have a folder sim/ itself, so they get c3sim/ in front.
set(headers
    study/ask/answers.h # questions, too
    study/ask/trial.h
    study/experiment/experiment.h
    study/explain/explanation.h
    study/serve/serve.h
    study/step/step.h
    study/sweep/distribution.h
    study/sweep/sweep_results.h
    tune/tuning.h
    study/config_folders.h
    calibrate/calibration.h
    calibrate/measurement_files.h
    validate/validation.h
    validate/ask/commands.h)
set(include "#include \"((sim|models|study|calibrate|tune|validate)/[^\"]*)\"")
file(REMOVE_RECURSE ${staged})
while(headers)
  list(GET headers 0 header)
  list(REMOVE_AT headers 0)
  if(NOT EXISTS ${staged}/${header})
    file(READ ${source}/${header} text)
    string(REGEX MATCHALL "${include}" lines "${text}")
    foreach(line ${lines})
      string(REGEX REPLACE "${include}" "\\1" included "${line}")
      list(APPEND headers ${included})
    endforeach()
    string(REGEX REPLACE "${include}" "#include \"c3sim/\\1\"" text "${text}")
    file(WRITE ${staged}/${header} "${text}")
  endif()
endwhile()
