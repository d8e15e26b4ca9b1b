#!/bin/sh
# SPDX-License-Identifier: MIT
# foreign.sh - whose the memory is that cannot be walked: real programs, each on another allocator.
. "$(dirname "$0")/lib.sh"
pools=$FIXTURES/traps/trap-pools
libraries=$(dirname "$(ldconfig -p | awk '/libc\.so\.6.*x86-64/ { print $NF; exit }')")

# mib FILE WHOSE - how many MiB are said to be theirs.
mib() {
	grep -oE "[0-9.]+ MiB (of [0-9.]+ MiB )?are $2" "$1" | head -n 1 | cut -d ' ' -f 1
}

# about GOT LEAST MOST - a number between two others.
about() {
	awk -v got="$1" -v least="$2" -v most="$3" 'BEGIN { exit !(got != "" && got >= least && got <= most) }'
}

# told NAME STATUS WHOSE LEAST MOST - a take of $service ends so, and says that between LEAST and MOST
# MiB are somebody's.
told() {
	told_name=$1 told_whose=$3 told_least=$4 told_most=$5
	"$HEAPSNAP" take --force -p "$service" -o told.snap >out 2>err
	told_status=$?
	if [ $told_status -ne "$2" ]; then
		echo "want exit status $2, got $told_status" >>err
		fail "$told_name" err
	elif about "$(mib err "$told_whose")" "$told_least" "$told_most"; then
		pass "$told_name"
	else
		echo "want between $told_least and $told_most MiB that are $told_whose" >>err
		fail "$told_name" err
	fi
}

# of_malloc NAME WHOSE COMMAND… - with 40 MiB from its malloc, then with 100 MiB of its own beside 20:
# these are not called the allocator's.
of_malloc() {
	of_name=$1 of_whose=$2
	shift 2
	start "$@" 40 0
	await truth || return
	told "$of_name" 3 "$of_whose" 39 52
	of_hint=$(grep '^hint: ' err)
	stop
	start "$@" 20 100
	await truth || return
	told "$of_name beside memory of its own" 3 "$of_whose" 19 27
	told "$of_name: the rest is nobody's" 3 'of no allocator that is known' 99 106
	stop
}

# hinted NAME PATTERN - what of_malloc was told to do.
hinted() {
	echo "$of_hint" >hint
	check "$1" grep -Eq "$2" hint
}

for row in jemalloc:libjemalloc.so.2 tcmalloc:libtcmalloc_minimal.so.4 mimalloc:libmimalloc.so.2.0; do
	name=${row%%:*} library=$libraries/${row#*:}
	[ -f "$library" ] || { skip "$name" "no $library here"; continue; }
	of_malloc "$name" "$name's" env LD_PRELOAD="$library" "$pools"
	hinted "$name: the way on is named" "^hint: start it with the agent: heapsnap run -- trap-pools$"
	# It leads somewhere.
	start env LD_PRELOAD="$library" "$HEAPSNAP" run -- "$pools" 5 0
	await truth
	expect "$name: with the agent it is taken" 0 'all of it was captured' "$HEAPSNAP" take --force -p "$service" -o told.snap
	stop
done

# Beside glibc's own heap, which was walked, nobody's memory is worth a note and not more.
start "$pools" 20 100
await truth
expect "a pool of its own beside glibc's heap" 0 'all of it was captured' "$HEAPSNAP" take --force -p "$service" -o told.snap
"$HEAPSNAP" show told.snap >show.out
check "is told in a note" grep -Eq '^note +100 MiB of 12[0-9] MiB are of no allocator that is known$' show.out
stop

if command -v musl-gcc >/dev/null; then
	for link in -static -dynamic; do
		musl-gcc -O1 $link -o "pools$link" "$here/../../fixtures/traps/pools.c" 2>musl.log || { fail "musl-gcc $link" musl.log; continue; }
		of_malloc "musl $link" "musl's" "./pools$link"
		hinted "musl $link: what helps is said" 'for glibc'
	done
else
	skip "musl" "no musl-gcc here (Debian: musl-tools)"
fi

# serve_nothing COMMAND… - a program that prints a line when it is ready and waits.
serve_nothing() {
	start "$@"
	read -r ready_line <&8 || fail "the program ended early" "$work/service.err"
}

if [ -x /usr/bin/python3.11 ]; then
	program='import sys; x = [{i: str(i) * 3} for i in range(100000)]; print("ready", flush=True); sys.stdin.read()'
	serve_nothing /usr/bin/python3.11 -c "$program"
	told "python's own pools" 6 "pymalloc's" 25 60
	check "what helps is said" grep -q 'PYTHONMALLOC=malloc' err
	"$HEAPSNAP" show told.snap >show.out
	check "and stands in the file" grep -Eq "^partial +.*pymalloc's" show.out
	stop
	serve_nothing env PYTHONMALLOC=malloc /usr/bin/python3.11 -c "$program"
	expect "with it, all is taken" 0 'all of it was captured' "$HEAPSNAP" take --force -p "$service" -o told.snap
	stop
	serve_nothing "$HEAPSNAP" run -- /usr/bin/python3.11 -c "$program"
	told "the agent does not see python's pools either" 6 "pymalloc's" 25 60
	stop
else
	skip "pymalloc" "no /usr/bin/python3.11 here"
fi

if ! redis_server; then
	skip "redis" "no redis-server and no redis-check-rdb here"
elif ! ldd redis-server | grep -q jemalloc; then
	skip "redis" "this one is not linked to jemalloc"
else
	./redis-server --port 0 --unixsocket "$work/redis.sock" --save '' --enable-debug-command yes >redis.log 2>&1 &
	service=$!
	left=100
	until redis-cli -s "$work/redis.sock" ping >out 2>&1 || [ $left -eq 0 ]; do left=$((left - 1)); sleep 0.1; done
	redis-cli -s "$work/redis.sock" debug populate 100000 key 200 >out 2>&1 || fail "redis is filled" out
	told "redis as Debian packages it" 3 "jemalloc's" 25 60
	check "the way on is named" grep -q "start it with the agent: heapsnap run -- redis-server" err
	kill "$service"
	wait "$service" 2>/dev/null
	service=
fi

if command -v go >/dev/null; then
	cat >main.go <<-'END'
		package main

		import "fmt"

		var kept [][]byte

		func main() {
			for i := 0; i < 40000; i++ {
				block := make([]byte, 1000)
				for j := range block {
					block[j] = 1
				}
				kept = append(kept, block)
			}
			fmt.Println("ready")
			fmt.Scanln()
			fmt.Println(len(kept))
		}
	END
	if GO111MODULE=off GOFLAGS= GOPROXY=off GOCACHE=$work/go GOTELEMETRY=off go build -o gopher main.go >go.log 2>&1; then
		serve_nothing ./gopher
		told "Go" 3 "Go's" 38 60
		check "Go: what helps is said" grep -q 'pprof' err
		stop
	else
		fail "go build" go.log
	fi
else
	skip "Go" "no go here"
fi

if command -v java >/dev/null && command -v javac >/dev/null; then
	cat >Held.java <<-'END'
		public class Held {
			static java.util.ArrayList<byte[]> kept = new java.util.ArrayList<>();
			public static void main(String[] arguments) throws Exception {
				for (int i = 0; i < 40000; i++) kept.add(new byte[1000]);
				System.out.println("ready");
				System.in.read();
			}
		}
	END
	javac Held.java >java.log 2>&1 || fail "javac" java.log
	for collector in G1 Serial; do
		serve_nothing java -Xmx512m -XX:+Use${collector}GC Held
		told "Java, $collector" 6 "the Java VM's" 38 200
		stop
	done
	check "Java: what helps is said" grep -q 'GC.heap_dump' err
else
	skip "Java" "no java and javac here"
fi

export DOTNET_CLI_HOME="$work" DOTNET_NOLOGO=1 DOTNET_CLI_TELEMETRY_OPTOUT=1
# Compiled and started by hand: `dotnet build` takes half a minute, and wants the network.
dotnet_program() {
	dotnet_sdk=$(dotnet --list-sdks 2>/dev/null | tail -n 1 | sed -E 's,^([^ ]+) \[(.*)\]$,\2/\1,')
	dotnet_runtime=$(dotnet --list-runtimes 2>/dev/null | grep '^Microsoft.NETCore.App ' | tail -n 1)
	dotnet_version=$(echo "$dotnet_runtime" | cut -d ' ' -f 2)
	dotnet_folder=$(echo "$dotnet_runtime" | sed -E 's,.*\[(.*)\],\1,')/$dotnet_version
	cat >held.cs <<-'END'
		class Held {
			static void Main() {
				var kept = new System.Collections.Generic.List<byte[]>();
				for (int i = 0; i < 40000; i++) kept.Add(new byte[1000]);
				System.Console.WriteLine("ready");
				System.Console.ReadLine();
				System.Console.WriteLine(kept.Count);
			}
		}
	END
	printf '{"runtimeOptions": {"framework": {"name": "Microsoft.NETCore.App", "version": "%s"}}}\n' "$dotnet_version" >held.runtimeconfig.json
	dotnet "$dotnet_sdk/Roslyn/bincore/csc.dll" -nologo -noconfig -nostdlib -r:"$dotnet_folder/System.Private.CoreLib.dll" \
		-r:"$dotnet_folder/System.Runtime.dll" -r:"$dotnet_folder/System.Console.dll" -r:"$dotnet_folder/System.Collections.dll" \
		-out:held.dll held.cs
}

if command -v dotnet >/dev/null && dotnet --list-sdks 2>/dev/null | grep -q .; then
	if dotnet_program >dotnet.log 2>&1; then
		serve_nothing dotnet held.dll
		told ".NET" 6 "[.]NET's" 38 60
		check ".NET: what helps is said" grep -q 'dotnet-gcdump' err
		stop
		serve_nothing env DOTNET_GCHeapHardLimit=0x8000000 dotnet held.dll
		told ".NET with a limit of 128 MiB" 6 "[.]NET's" 38 60
		stop
	else
		fail "the compiler for .NET" dotnet.log
	fi
else
	skip ".NET" "no dotnet with an SDK here"
fi
finish
