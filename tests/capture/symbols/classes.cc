/* SPDX-License-Identifier: MIT */
/* classes.cc - types of C++ of every kind; prints what is true of them, as shapes.c does. */
#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#define SIZE(type, name) std::printf("size %zu %s\n", sizeof(type), name)
#define MEMBER(at, name, member) std::printf("member %zu %s %s\n", (std::size_t)(at), #member, name)

namespace shop {

enum class Colour : unsigned char { Red, Green };

struct Plain {
	int number;
	std::byte raw;
	Colour colour;
};

struct Base {
	virtual ~Base() = default;
	virtual int area() const { return id; }
	int id = 1;
};

struct Second {
	virtual void other() {}
	long second = 2;
};

struct Derived : Base, Second {
	Plain plain = {};
	Derived *next = nullptr;
	int area() const override { return id + 1; }
};

struct Diamond : virtual Base {
	int own = 3;
};

template <class T, int N> struct Box {
	T values[N];
	struct Inner {
		T *first;
		Box *owner;
	} inner;
	static int boxes;
};
template <class T, int N> int Box<T, N>::boxes = 4;

class Late;
struct Holder {
	Late *late;
	std::unique_ptr<Base> shape;
	std::vector<Plain> plains;
	int Base::*to_member;
	void (Base::*to_function)();
	int &&moved;
};

class Late {
public:
	double d;
};

typedef struct {
	int x, y;
} Unnamed;

} // namespace shop

namespace {
struct Hidden {
	Hidden *next;
	short s;
};
Hidden hidden;
}

shop::Derived derived;
shop::Diamond diamond;
shop::Box<int, 3> ints;
shop::Box<std::string, 2> strings;
shop::Late late;
shop::Unnamed unnamed;
int one = 1;
shop::Holder holder = { &late, nullptr, {}, &shop::Base::id, nullptr, std::move(one) };
inline thread_local Hidden *per_thread = &hidden;

int main()
{
	using namespace shop;
	SIZE(Plain, "shop::Plain");
	SIZE(Base, "shop::Base");
	SIZE(Derived, "shop::Derived");
	MEMBER(reinterpret_cast<char *>(&derived.plain) - reinterpret_cast<char *>(&derived), "shop::Derived", plain);
	MEMBER(reinterpret_cast<char *>(&derived.next) - reinterpret_cast<char *>(&derived), "shop::Derived", next);
	SIZE(Diamond, "shop::Diamond");
	MEMBER(reinterpret_cast<char *>(&diamond.own) - reinterpret_cast<char *>(&diamond), "shop::Diamond", own);
	typedef Box<int, 3> Ints;
	SIZE(Ints, "shop::Box<int, 3>");
	MEMBER(offsetof(Ints, inner), "shop::Box<int, 3>", inner);
	SIZE(Ints::Inner, "shop::Box<int, 3>::Inner");
	SIZE(Holder, "shop::Holder");
	MEMBER(offsetof(Holder, plains), "shop::Holder", plains);
	MEMBER(offsetof(Holder, to_member), "shop::Holder", to_member);
	MEMBER(offsetof(Holder, moved), "shop::Holder", moved);
	SIZE(Late, "shop::Late");
	SIZE(Unnamed, "shop::Unnamed");
	SIZE(Hidden, "(anonymous namespace)::Hidden");
	SIZE(std::string, "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >");
	return Ints::boxes + derived.area() + per_thread->s == 77 + Box<std::string, 2>::boxes;
}
