# SPDX-License-Identifier: MIT
# packages.sh - the Debian packages that ./demo and ./test need, and how to get them.  Sourced by both.

build_packages=(gcc g++ meson ninja-build pkg-config libc6-dev zlib1g-dev libdwarf-dev libcapstone-dev uthash-dev)
test_packages=(libelf-dev busybox-static binutils libcriterion-dev libboost-dev dwz jq gdb procps util-linux redis-tools sqlite3 lua5.4
	python3.11 python3.11-dbg liblua5.4-0 liblua5.4-0-dbg cmake
	clang llvm-14 libc++-14-dev libc++abi-14-dev libglib2.0-dev
	valgrind strace curl memcached nginx-light postgresql-15
	libjemalloc2 libtcmalloc-minimal4 libmimalloc2.0 musl-tools)
# For the table of docs/naming.md, and the tests that hold it.
naming_packages=(vsftpd vsftpd-dbg syslog-ng-core syslog-ng-dbg uwsgi-core uwsgi-dbg cupt cupt-dbg libbinutils-dbg
	binutils-x86-64-linux-gnu-dbg)
all_packages=(libclang-rt-14-dev
	libpython3.11-testsuite ruby php-cli emacs-nox qemu-user nodejs openjdk-17-jdk-headless)

# need_packages NAME… - install those that are missing; ends the script where that cannot be done.
need_packages() {
	local missing=() name sudo=()
	command -v dpkg-query >/dev/null || {
		echo "note: no Debian package manager here; please see to it that these are there: $*"
		return 0
	}
	for name in "$@"; do
		dpkg-query -W -f '${Status}' "$name" 2>/dev/null | grep -q '^install ok installed' || missing+=("$name")
	done
	[ ${#missing[@]} -gt 0 ] || return 0
	echo "Installing from Debian: ${missing[*]}"
	if [ "$(id -u)" -ne 0 ]; then
		command -v sudo >/dev/null || {
			echo "cannot install without root; please run: apt-get install ${missing[*]}" >&2
			exit 1
		}
		sudo=(sudo)
	fi
	"${sudo[@]}" apt-get update -qq </dev/null
	# The tests start servers of their own: no service is to be started by the installation.
	local policy=/usr/sbin/policy-rc.d status=0
	if [ -e $policy ]; then policy=; else printf '#!/bin/sh\nexit 101\n' | "${sudo[@]}" install -m 755 /dev/stdin $policy; fi
	"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" \
		</dev/null >/dev/null || status=$?
	[ -z "$policy" ] || "${sudo[@]}" rm -f $policy
	return $status
}
