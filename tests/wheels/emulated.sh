#!/usr/bin/env bash
# Does the wheel for aarch64 work? `make try_aarch64`: on an emulated processor, with Debian's Python for it, and the C tests
# as well. What it cannot show is how such a processor orders memory, for the emulator keeps this one's order:
# docs/decisions/memory.md. Debian's packages for aarch64 are unpacked below build/, and not installed.
set -euo pipefail
cd "$(dirname "$0")/../.."
here=$PWD/build/aarch64
root=$here/root
mkdir -p "$here"/apt/{lists,archives}/partial "$root"

cat >"$here/apt/conf" <<END
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Install-Recommends "false";
APT::Sandbox::User "root";
Dir::State "$here/apt";
Dir::State::status "$here/apt/status";
Dir::Cache "$here/apt";
END
touch "$here/apt/status"
[ -x "$root/usr/bin/python3" ] || {
    APT_CONFIG=$here/apt/conf apt-get update -qq
    APT_CONFIG=$here/apt/conf apt-get install -y -qq --download-only python3 libstdc++6
    for package in "$here"/apt/archives/*.deb; do dpkg -x "$package" "$root"; done
}
emulator=$(command -v qemu-aarch64)

# The C tests, for the glibc that is there; the images that they run are made by this machine's Python.
RX_TARGET=aarch64-linux-gnu.2.36 cmake -S csrc -B build/ctest-aarch64 -G Ninja --log-level=WARNING --toolchain "$PWD/csrc/zig.cmake" \
    -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_CROSSCOMPILING_EMULATOR="$emulator;-L;$root"
cmake --build build/ctest-aarch64
ctest --test-dir build/ctest-aarch64 --output-on-failure --no-tests=error --timeout 1500

# The wheel. Worker processes are started by the name of the interpreter, so that has to be the emulator's.
rm -rf "$here/site"
version=$(echo "$root"/usr/bin/python3.?? | grep -o '3\.[0-9]*$')
python -m pip install -qq -c constraints.txt --target "$here/site" --only-binary=:all: --python-version "$version" \
    --platform manylinux_2_28_aarch64 --platform manylinux_2_27_aarch64 --platform manylinux_2_17_aarch64 \
    dist/*_aarch64.whl hypothesis pytest pytest-timeout
cat >"$here/python" <<END
#!/bin/sh
exec $emulator -L $root $root/usr/bin/python3 "\$@"
END
chmod +x "$here/python"
echo "import sys; sys.executable = '$here/python'" >"$here/site/sitecustomize.py"

rm -rf "$here/tests"
mkdir "$here/tests"
cp -r pyproject.toml examples tests "$here/tests"
cd "$here/tests"
export PYTHONPATH=$here/site
"$here/python" -m reactors doctor
"$here/python" examples/hello.py
"$here/python" examples/pingpong.py 20 --workers 2
"$here/python" -m pytest -q -o timeout=1200 tests/semantics/test_tags.py
