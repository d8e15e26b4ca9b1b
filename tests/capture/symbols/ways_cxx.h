/* SPDX-License-Identifier: MIT */
/* ways_cxx.h - what ways.cc and ways_other.cc share. */
namespace ways {

struct Shape {
	virtual ~Shape() = default;
	virtual int area() const = 0;
	Shape *beside = nullptr;
};

struct Named {
	virtual ~Named() = default;
	const char *name = "";
};

class Late;
Late *make_late();
int late_number(const Late *late);

}
