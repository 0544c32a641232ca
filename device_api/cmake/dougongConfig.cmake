# find_package(dougong) gives the target dougong::device_api (the headers) and the function dg_add_plugin.
# The folder is printed by `python -m dougong --cmake-dir`; it can be moved with the Python package.
if(NOT TARGET dougong::device_api)
  add_library(dougong::device_api INTERFACE IMPORTED)
  set_target_properties(dougong::device_api PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${CMAKE_CURRENT_LIST_DIR}/../include")
endif()
include("${CMAKE_CURRENT_LIST_DIR}/DougongPlugin.cmake")
