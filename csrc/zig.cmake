# A CMake toolchain: zig, a C compiler for any target, which comes as the Python package `ziglang`; for the machine, and that
# glibc and all later ones, which the environment names: RX_TARGET=aarch64-linux-gnu.2.17. CMake is not told that it compiles
# for another system: all that it runs while it builds is Python, and that is this system's.
find_program(zig python-zig REQUIRED)
set(CMAKE_C_COMPILER ${zig} cc -target $ENV{RX_TARGET})
foreach(tool ar ranlib)  # for which CMake takes no arguments
  set(script ${CMAKE_BINARY_DIR}/zig-${tool})
  file(CONFIGURE OUTPUT ${script} CONTENT "#!/bin/sh\nexec '${zig}' ${tool} \"$@\"\n" @ONLY)
  file(CHMOD ${script} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  string(TOUPPER ${tool} name)
  set(CMAKE_${name} ${script})
  set(CMAKE_C_COMPILER_${name} ${script})
endforeach()
set(CMAKE_MODULE_LINKER_FLAGS_INIT -s)  # a `strip` may know this machine's files alone
