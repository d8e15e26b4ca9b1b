#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh BUILD [KERNEL.deb] - run the tests of freezing on Debian 12's own kernel, 6.1, in an emulated machine.
#
# That kernel has soft-dirty bits and Yama, and neither PAGEMAP_SCAN nor asynchronous write protection: what is not
# to be had where the tests run otherwise.  Needs qemu-system-x86_64, busybox (static) and, where no package is
# given, apt-get.  Everything lies in a temporary folder and is gone afterwards; it takes some minutes.
# docs/pause.md has its output.
set -eu
[ $# -ge 1 ] || { sed -n '3p' "$0"; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
case ${2:-} in
'')	package=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/.*Depends: \(linux-image-6\.1\..*\)/\1/p' | head -n 1)
	(cd "$work" && apt-get download -q "$package" >/dev/null 2>&1)
	deb=$(ls "$work"/*.deb) ;;
*)	deb=$2 ;;
esac
dpkg-deb -x "$deb" "$work/kernel"

root=$work/root
mkdir -p "$root/bin" "$root/etc" "$root/proc" "$root/sys" "$root/dev" "$root/tmp"
chmod 1777 "$root/tmp"
cp "$(command -v busybox)" "$root/bin/"
for name in $("$root/bin/busybox" --list); do
	[ "$name" = busybox ] || ln -s busybox "$root/bin/$name"
done
printf 'root:x:0:0::/:/bin/sh\nsomebody:x:64123:64123::/tmp:/bin/sh\n' >"$root/etc/passwd"
printf 'root:x:0:\nsomebody:x:64123:\n' >"$root/etc/group"
echo "$build" >"$root/build"
install -m 755 "$here/init" "$root/init"

# A file at the place it has here, with the libraries it needs.
add() {
	[ -e "$root$1" ] && return
	mkdir -p "$root$(dirname "$1")"
	cp -L "$1" "$root$1"
	ldd "$1" 2>/dev/null | sed -n 's/.* => \(\/[^ ]*\).*/\1/p; s/^[[:space:]]*\(\/[^ ]*\) (.*/\1/p' | while read -r library; do
		[ -e "$root$library" ] || { mkdir -p "$root$(dirname "$library")"; cp -L "$library" "$root$library"; }
	done
}
for file in cli/heapsnap capture/agent/libheapsnap-agent.so fixtures/bookstore/bookstore tests/bench/bench-pause; do
	add "$build/$file"
done
for name in patient churner freezer freezer-steps injector injector-steps test-precopy test-freeze test-inject; do
	add "$build/tests/capture/freeze/$name"
done
chmod -R a+rX "$root"
(cd "$root" && find . | busybox cpio -o -H newc 2>/dev/null | gzip -1) >"$work/initramfs"

timeout "${VM_TIMEOUT:-3000}" qemu-system-x86_64 -accel "${VM_ACCEL:-tcg}" -cpu max -m 2048 -smp 2 -nographic -no-reboot \
	-kernel "$work"/kernel/boot/vmlinuz-* -initrd "$work/initramfs" \
	-append 'console=ttyS0 quiet panic=-1 rdinit=/init' </dev/null | stdbuf -oL tr -d '\r' | sed -un '/^== /,$p' | tee "$work/output"
grep -q '^== done' "$work/output" || { echo 'the machine did not get to its end' >&2; exit 1; }
