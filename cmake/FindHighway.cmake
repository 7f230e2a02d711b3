# Finds Google's Highway. Gives hwy::hwy.
find_path(Highway_INCLUDE_DIR hwy/highway.h)
find_library(Highway_LIBRARY hwy)
if(Highway_INCLUDE_DIR)
  file(STRINGS ${Highway_INCLUDE_DIR}/hwy/base.h _hwy_in_base REGEX "#define HWY_(MAJOR|MINOR|PATCH) ")
  file(STRINGS ${Highway_INCLUDE_DIR}/hwy/highway.h _hwy_in_main REGEX "#define HWY_(MAJOR|MINOR|PATCH) ")
  string(REGEX REPLACE "[^0-9;]" "" _hwy_version "${_hwy_in_base};${_hwy_in_main}")
  string(REGEX REPLACE "^;+|;+$" "" _hwy_version "${_hwy_version}")
  string(REPLACE ";" "." Highway_VERSION "${_hwy_version}")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Highway REQUIRED_VARS Highway_LIBRARY Highway_INCLUDE_DIR
                                  VERSION_VAR Highway_VERSION)
if(Highway_FOUND AND NOT TARGET hwy::hwy)
  add_library(hwy::hwy UNKNOWN IMPORTED)
  set_target_properties(hwy::hwy PROPERTIES IMPORTED_LOCATION ${Highway_LIBRARY}
                        INTERFACE_INCLUDE_DIRECTORIES ${Highway_INCLUDE_DIR})
endif()
