/* SPDX-License-Identifier: MIT */
/* ways_other.cc - what ways.cc knows only by name. */
#include "tests/capture/symbols/ways_cxx.h"

namespace ways {

class Late {
public:
	Late *link;
	int number;
};

static Late *last_late;

Late *make_late()
{
	Late *late = new Late;
	late->link = last_late;
	late->number = 7;
	return last_late = late;
}

int late_number(const Late *late)
{
	return late->number;
}

}
