// SPDX-License-Identifier: MIT
// lifetimes.cc CASE - before main() and after it, at the ends of threads, and aligned objects: then what is true, and stop.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include <pthread.h>
#include <unistd.h>

#include "truth.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool telling; // in the last destructor of all

// Some work, of which blocks of certain sizes remain.
static void work(size_t size)
{
	pthread_mutex_lock(&lock);
	void *moved = get(size);
	for (size_t i = 0; i < 30; i++) {
		void *block = get(size + i * 20);
		if (i % 3)
			drop(block);
	}
	resize(moved, size + 1000);
	if (size >= 400) // before main() a library may take the place
		drop(get(200 << 10));
	pthread_mutex_unlock(&lock);
}

// ---- before main(): the loader, which relocates the program, calls the first two ----

static int plain()
{
	return 7;
}

extern "C" {
using Function = int (*)();
Function resolve()
{
	// Neither truth.c's functions nor another module's can be called yet.
	for (size_t size = 10; size < 20; size++)
		note(malloc(size), size, 'l');
	free(malloc(100));
	return plain;
}
}
static int indirect() __attribute__((ifunc("resolve")));

static void before_all(int, char **, char **)
{
	work(100);
}
__attribute__((section(".preinit_array"), used)) static void (*const preinit)(int, char **, char **) = before_all;

__attribute__((constructor(101))) static void early()
{
	work(200);
}

struct Static {
	char *text = new char[300];
	Static()
	{
		note(text, 300, 'l');
		work(310);
	}
	~Static()
	{
		note(text, 0, 'd');
		delete[] text;
		work(320);
	}
};
static Static object;

static void before_main()
{
	CHECK(indirect() == 7);
	work(400);
}

// ---- after it ----

static thread_local struct Local {
	void *block = nullptr;
	~Local()
	{
		if (!block)
			return;
		pthread_mutex_lock(&lock);
		drop(block);
		pthread_mutex_unlock(&lock);
		work(500);
	}
} local;

static void use_local()
{
	pthread_mutex_lock(&lock);
	local.block = get(550);
	pthread_mutex_unlock(&lock);
	work(560);
}

static void at_exit()
{
	work(600);
	atexit([] { work(610); }); // while handlers run
}

static void on_exit_with(int status, void *block)
{
	CHECK(status == 0 && block);
	drop(block);
	work(700);
}

__attribute__((destructor)) static void at_fini()
{
	if (telling)
		work(800);
}

// The last one of this program's: libraries' come after it.
__attribute__((destructor(101))) static void last()
{
	if (!telling)
		return;
	work(900);
	tell_and_stop();
}

static void after_main()
{
	telling = true;
	CHECK(!atexit(at_exit) && !on_exit(on_exit_with, get(710)));
	use_local();
	exit(0);
}

static void *live_shortly(void *argument)
{
	use_local();
	return argument;
}

static void after_threads()
{
	pthread_t made[8];
	for (int round = 0; round < 20; round++) {
		for (pthread_t &thread : made)
			CHECK(!pthread_create(&thread, nullptr, live_shortly, nullptr));
		for (pthread_t thread : made)
			pthread_join(thread, nullptr);
	}
	work(50);
}

static void quickly()
{
	CHECK(!at_quick_exit([] { work(1000); tell_and_stop(); }));
	CHECK(!at_quick_exit([] { work(1100); }));
	quick_exit(0);
}

// ---- aligned objects ----

template <size_t Alignment> struct alignas(Alignment) Aligned {
	unsigned char bytes[Alignment];
};

static void check_aligned(const void *block, size_t alignment)
{
	CHECK(reinterpret_cast<uintptr_t>(block) % alignment == 0);
}

// What the compiler makes of it: by alignment, also where that is the default one.
template <size_t Alignment> static void of_type()
{
	auto *one = new Aligned<Alignment>;
	check_aligned(one, Alignment);
	keep(one, sizeof(*one));
	auto *many = new Aligned<Alignment>[7];
	check_aligned(many, Alignment);
	keep(many, 7 * sizeof(*many));
	delete new Aligned<Alignment>;
	delete[] new Aligned<Alignment>[5];
}

static void by_hand(size_t alignment, size_t size, size_t n)
{
	const auto align = static_cast<std::align_val_t>(alignment);
	void *block;
	switch (n % 4) {
	case 0: block = ::operator new(size, align); break;
	case 1: block = ::operator new[](size, align); break;
	case 2: block = ::operator new(size, align, std::nothrow); break;
	default: block = ::operator new[](size, align, std::nothrow);
	}
	CHECK(block);
	check_aligned(block, alignment);
	memset(block, 0x5a, size);
	if (n % 89 == 0) {
		keep(block, size);
		return;
	}
	switch (n % 6) {
	case 0: ::operator delete(block, align); break;
	case 1: ::operator delete[](block, align); break;
	case 2: ::operator delete(block, size, align); break;
	case 3: ::operator delete[](block, size, align); break;
	case 4: ::operator delete(block, align, std::nothrow); break;
	default: ::operator delete[](block, align, std::nothrow);
	}
}

static void aligned_new()
{
	of_type<1>(), of_type<8>(), of_type<16>(), of_type<32>(), of_type<64>(), of_type<128>(), of_type<256>(), of_type<512>();
	of_type<1024>(), of_type<2048>(), of_type<4096>(), of_type<8192>(), of_type<65536>();
	size_t n = 0;
	for (size_t alignment = 1; alignment <= size_t(1) << 20; alignment *= 2)
		for (size_t size = 0; size <= 9000; size += alignment > 4096 ? 67 : 1)
			by_hand(alignment, size, ++n);
}

static const struct {
	const char *name;
	void (*run)();
} cases[] = {
	{ "before_main", before_main }, { "after_main", after_main }, { "after_threads", after_threads },
	{ "quick_exit", quickly }, { "aligned_new", aligned_new },
};

int main(int argc, char **argv)
{
	for (const auto &one : cases)
		if (argc > 1 && !strcmp(one.name, argv[1])) {
			one.run();
			tell_and_stop();
			return 0;
		}
	return 2;
}
