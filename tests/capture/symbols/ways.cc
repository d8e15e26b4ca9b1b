/* SPDX-License-Identifier: MIT */
/* ways.cc - one of each thing that debug info tells of C++, to be built in every way (ways.sh). */
#include "tests/capture/symbols/ways_cxx.h"

#include <cstdio>
#include <map>
#include <string>

namespace ways {

template <class T, int N> struct Box {
	T values[N];
	Box *next;
	static long made;
};
template <class T, int N> long Box<T, N>::made = 0;

struct Shop : Shape, Named {
	std::string title;
	std::map<int, std::string> shelf;
	Box<Shape *, 3> *boxes;
	Late *late;
	int Shape::*member;
	enum class Kind : unsigned char { Small, Large } kind;
	int area() const override { return 4; }
};

namespace {
struct Quiet {
	Quiet *next;
	double value;
};
Quiet *quiet;
}

static Shop *shop;
inline thread_local Shape *latest;

Shape *make(int number)
{
	struct Local : Shape {
		int number;
		int area() const override { return number; }
	};
	static Local *kept;
	Local *local = new Local;
	local->number = number;
	kept = local;
	return kept;
}

}

int main(int argc, char **argv)
{
	using namespace ways;
	shop = new Shop;
	shop->title = argv[0];
	shop->shelf[argc] = argv[0];
	shop->late = make_late();
	shop->boxes = new Box<Shape *, 3>;
	shop->boxes->values[0] = latest = make(argc);
	shop->boxes->next = nullptr;
	Box<Shape *, 3>::made++;
	quiet = new Quiet;
	quiet->value = shop->area();
	std::printf("%d %d\n", latest->area(), late_number(shop->late));
	return 0;
}
