#!/bin/sh
# SPDX-License-Identifier: MIT
# other_libc.sh SUITE FOLDER PACKAGE… - the packages of another Debian suite, unpacked in FOLDER/SUITE and
# kept there, installed nowhere; from the mirror that this machine's apt uses.  Signatures are checked.
# Exit status 1, and why in a line on stdout, where they cannot be had.
set -u
suite=$1 folder=$2/$1
shift 2

give_up() {
	echo "$1"
	exit 1
}

have_all() {
	for package in "$@"; do [ -e "$folder/.$package" ] || return 1; done
}

have_all "$@" && exit 0
command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || give_up "no apt here"
mirror=$(apt-get indextargets --format '$(ORIGIN) $(RELEASE) $(SIGNED_BY) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
	awk '$1 == "Debian" && $2 !~ /-/ { print $NF; exit }')
[ -n "$mirror" ] || give_up "apt knows no mirror of Debian"
keys=/usr/share/keyrings/debian-archive-keyring.gpg
[ -r "$keys" ] || give_up "no keys of Debian's archive here"

state=$(mktemp -d) || give_up "no temporary folder"
trap 'rm -rf "$state"' EXIT
mkdir -p "$state/lists/partial" "$state/cache/archives/partial" "$state/down"
chmod 755 "$state"
echo "deb [signed-by=$keys] $mirror $suite main" >"$state/sources"
apt() {
	apt-get -qq -o Dir::Etc::sourcelist="$state/sources" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$state/lists" \
		-o Dir::Cache="$state/cache" -o Acquire::Languages=none -o APT::Sandbox::User=root \
		-o Acquire::http::Timeout=20 -o Acquire::Retries=1 "$@" </dev/null
}
apt update >"$state/log" 2>&1 || give_up "suite $suite cannot be had: $(grep -m 1 '^[EW]:' "$state/log")"
for package in "$@"; do
	[ ! -e "$folder/.$package" ] || continue
	(cd "$state/down" && apt download "$package/$suite") >"$state/log" 2>&1 ||
		give_up "$package of $suite cannot be had: $(grep -m 1 '^[EW]:' "$state/log")"
	mkdir -p "$folder"
	dpkg-deb -x "$state/down/${package}"_*.deb "$folder" || give_up "$package of $suite cannot be unpacked"
	rm -f "$state/down"/*.deb
	: >"$folder/.$package"
done
