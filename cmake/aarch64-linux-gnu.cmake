# arm64 on Linux, built with Debian's cross compiler and run under qemu's user mode: the preset `arm64`.
# Highway and GoogleTest for arm64 lie in build/arm64/sysroot, where `./dev setup` puts them.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

get_filename_component(root ${CMAKE_CURRENT_LIST_DIR} DIRECTORY)
set(CMAKE_FIND_ROOT_PATH ${root}/build/arm64/sysroot /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

find_program(ENVOI_QEMU NAMES qemu-aarch64 qemu-aarch64-static)
if(ENVOI_QEMU)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${ENVOI_QEMU} -L /usr/aarch64-linux-gnu)
endif()
