# Lays the headers of the layers into `staged`, from `source`. Includes are written from the top of the repository
# ("sim/units.h"); a program that embeds c3sim may have a folder sim/ itself, so they get c3sim/ in front.
set(layers sim models study calibrate validate)
list(JOIN layers | any_layer)
file(REMOVE_RECURSE ${staged})
foreach(layer ${layers})
  file(GLOB_RECURSE headers RELATIVE ${source} ${source}/${layer}/*.h)
  foreach(header ${headers})
    file(READ ${source}/${header} text)
    string(REGEX REPLACE "#include \"(${any_layer})/" "#include \"c3sim/\\1/" text "${text}")
    file(WRITE ${staged}/${header} "${text}")
  endforeach()
endforeach()
