// SPDX-License-Identifier: MIT
// forms.cc ["C++, no failures"] - every standard form of operator new and delete; says what is live, and stops.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <unordered_map>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

static int out;
static unsigned long lines;

static void check(bool holds, const char *what)
{
	if (holds)
		return;
	dprintf(STDERR_FILENO, "forms: does not hold: %s\n", what);
	_exit(8);
}
#define CHECK(condition) check(!!(condition), #condition)

static void live(void *block, size_t size)
{
	CHECK(block);
	dprintf(out, "live %lx %zu\n", (unsigned long)block, size);
	lines++;
}

static void dead(void *block)
{
	dprintf(out, "dead %lx 0\n", (unsigned long)block);
	lines++;
}

static int handled;

static void handler()
{
	if (++handled == 3)
		std::set_new_handler(nullptr);
}

static void forms()
{
	const std::align_val_t align{ 256 };
	live(::operator new(1001), 1001);
	live(::operator new[](1002), 1002);
	live(::operator new(1003, std::nothrow), 1003);
	live(::operator new[](1004, std::nothrow), 1004);
	live(::operator new(1005, align), 1005);
	live(::operator new[](1006, align), 1006);
	live(::operator new(1007, align, std::nothrow), 1007);
	live(::operator new[](1008, align, std::nothrow), 1008);
	CHECK(reinterpret_cast<unsigned long>(::operator new(1, align)) % 256 == 0);

	/* Different sizes, so that none is handed out again while others are taken. */
	void *gone[12];
	for (size_t i = 0; i < 12; i++)
		gone[i] = i < 6 ? ::operator new(3000 + 64 * i) : ::operator new(5000 + 64 * i, align);
	::operator delete(gone[0]);
	::operator delete[](gone[1]);
	::operator delete(gone[2], size_t(3128));
	::operator delete[](gone[3], size_t(3192));
	::operator delete(gone[4], std::nothrow);
	::operator delete[](gone[5], std::nothrow);
	::operator delete(gone[6], align);
	::operator delete[](gone[7], align);
	::operator delete(gone[8], size_t(5512), align);
	::operator delete[](gone[9], size_t(5576), align);
	::operator delete(gone[10], align, std::nothrow);
	::operator delete[](gone[11], align, std::nothrow);
	::operator delete(nullptr);
	for (void *block : gone)
		dead(block);
}

/* A volatile size: the compiler must not know that it is too much. */
static volatile size_t too_much = size_t(1) << 60;

static void failures()
{
	std::set_new_handler(handler);
	bool thrown = false;
	try {
		::operator delete(::operator new(too_much));
	} catch (const std::bad_alloc &) {
		thrown = true;
	}
	CHECK(thrown && handled == 3);
	CHECK(::operator new(too_much, std::nothrow) == nullptr);
	thrown = false;
	try {
		::operator delete(::operator new(too_much, std::align_val_t{ 64 }), std::align_val_t{ 64 });
	} catch (const std::bad_alloc &) {
		thrown = true;
	}
	CHECK(thrown);
}

struct Node {
	std::string name;
	std::vector<int> numbers;
	std::function<int()> call;
};

int main(int argc, char **argv)
{
	char line[64];
	out = memfd_create("truth", 0);
	if (argc < 2 || std::string(argv[1]) != "C++, no failures")
		failures();
	static std::unordered_map<int, std::shared_ptr<Node>> map;
	for (int i = 0; i < 2000; i++) {
		auto node = std::make_shared<Node>();
		node->name = std::string(static_cast<size_t>(i % 90), 'x');
		node->numbers.resize(static_cast<size_t>(i % 50));
		node->call = [node_name = node->name] { return static_cast<int>(node_name.size()); };
		map[i % 700] = node;
	}
	forms(); // last: what it frees is not handed out again
	int n = snprintf(line, sizeof(line), "/proc/%d/fd/%d %lu\n", int(getpid()), out, lines);
	CHECK(write(STDOUT_FILENO, line, static_cast<size_t>(n)) == n);
	raise(SIGSTOP);
	return 0;
}
