/* SPDX-License-Identifier: MIT */
/*
 * sites.cc - allocation sites of C++; the words in the comments are those of sites.c, and
 * allocates: T  an allocator's frame says that it makes T
 */
#include "tests/capture/symbols/recorder.h"

#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#define NOINLINE __attribute__((noinline))

struct Point {
	double x, y, z;
	explicit Point(double at) : x(at), y(at), z(at) {}
};

struct Shape {
	int id = 0;
	virtual ~Shape() = default;
	virtual int area() const = 0;
};

struct Square final : Shape {
	int side;
	NOINLINE explicit Square(int s) : side(s) {}
	int area() const override { return side * side; }
};

namespace shop {
struct Order {
	int number = 0;
	char note[60] = {};
};
}

struct Owner {
	std::vector<Point> points;
	std::unique_ptr<Shape> shape;
	Owner *parent = nullptr;
	char *text = nullptr;
};

NOINLINE Point *make_point()
{
	return new Point(4); /* want: Point returns */
}

NOINLINE char *make_buffer(std::size_t n)
{
	char *b = new char[n]; /* want: char returns */
	b[0] = 0;
	return b;
}

NOINLINE Point **make_array(std::size_t n)
{
	Point **a = new Point *[n]; /* want: Point * returns */
	a[0] = new Point(1); /* want: Point */
	return a;
}

NOINLINE int own(Owner *o, int n)
{
	o->shape.reset(new Square(n)); /* want: Square or: Shape */
	o->parent = new Owner; /* want: Owner or: std::vector<Point, std::allocator<Point> > */
	o->text = new char[30]; /* want: char */
	o->text[0] = 'a';
	return o->shape->area() + o->text[0];
}

NOINLINE std::size_t contain(int n)
{
	std::vector<Point> points;
	points.push_back(Point(n)); /* allocates: Point */
	std::vector<shop::Order> orders;
	orders.resize(3); /* allocates: shop::Order */
	auto shared = std::make_shared<shop::Order>(); /* allocates: std::_Sp_counted_ptr_inplace */
	std::map<int, Point> map;
	map.emplace(n, Point(1)); /* allocates: std::_Rb_tree_node */
	std::unique_ptr<shop::Order> unique(new shop::Order); /* want: shop::Order */
	long big[8] = { n };
	std::function<long(int)> f = [big](int i) { return big[i & 7]; }; /* allocates: (lambda */
	return points.size() + orders.size() + map.size() + (std::size_t)(shared->number + unique->number + f(n));
}

/* Objects of which one is alive at a time share a place in the frame, and the code of each may be in several pieces. */
struct First { long a = 0, b = 0; };
struct Second { long a = 0, b = 0; };
struct Third { long a = 0, b = 0; };

struct InFirst {
	long number;
	First *leaf;
	InFirst() : number(0), leaf(new First) {} /* want: First */
};

struct InSecond {
	long number;
	Second *leaf;
	InSecond() : number(0), leaf(new Second) {} /* want: Second */
};

struct InThird {
	long number;
	Third *leaf;
	InThird() : number(0), leaf(new Third) {} /* want: Third */
};

static std::vector<InFirst> firsts;
static std::vector<InSecond> seconds;
static std::vector<InThird> thirds;

template <class T> NOINLINE static void keep(std::vector<T> &to, const T &value)
{
	to.push_back(value);
}

template <class T> static inline __attribute__((always_inline)) void add(std::vector<T> &to, long number)
{
	T value;
	value.number = number % 7919;
	keep(to, value);
}

NOINLINE std::size_t in_turn(int n)
{
	for (long i = 0; i < n + 2; i++) {
		add(firsts, i * 1009);
		add(seconds, i * 101);
		add(thirds, n); /* its number can be had before the loop */
	}
	return firsts.size() + seconds.size() + thirds.size();
}

int main(int argc, char **)
{
	Owner owner;
	int sum = own(&owner, argc) + (int)contain(argc) + (int)in_turn(argc);
	Point *p = make_point();
	char *b = make_buffer((std::size_t)argc);
	Point **a = make_array(4);
	sum += (int)(p->x + b[0] + a[0]->y);
	std::fflush(stdout);
	return sum == 12345;
}
