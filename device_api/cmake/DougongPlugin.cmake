# dg_add_plugin(<name> <source>...) builds the plugin of the device string "<name>:0": the library libdg_<name>.so,
# which exports dg_plugin_entry_v1 and nothing else.
function(dg_add_plugin name)
  if(NOT name MATCHES "^[a-z][a-z0-9_]*$")
    message(FATAL_ERROR "dg_add_plugin: wanted a name of a lower-case letter, then lower-case letters, digits and "
                        "underscores; found '${name}'")
  endif()
  add_library(dg_${name} MODULE ${ARGN})
  target_link_libraries(dg_${name} PRIVATE dougong::device_api)
  set_target_properties(dg_${name} PROPERTIES
    PREFIX lib OUTPUT_NAME dg_${name}
    POSITION_INDEPENDENT_CODE ON
    C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  if(UNIX AND NOT APPLE)
    target_link_options(dg_${name} PRIVATE -Wl,--exclude-libs,ALL -Wl,--no-undefined)
  endif()
endfunction()
