// SPDX-License-Identifier: MIT
//
// naming_many.cc - naming-many BLOCKS: a process whose debug info is large beside its heap.
//
// Containers of as many classes as a large server has.  "READY" when all of it is there; it ends with its
// standard input.
//
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace {

constexpr std::size_t kinds = 100;

template <std::size_t N> struct Thing {
	std::string name;
	std::unique_ptr<Thing> next;
	long numbers[1 + N % 5];
};

template <std::size_t N> struct Shop {
	std::map<long, Thing<N>> things;
	std::unordered_map<std::string, std::shared_ptr<Thing<N>>> named;
	std::vector<Thing<N> *> order;

	// 6 blocks.
	void add(long number)
	{
		Thing<N> &thing = things[number];
		thing.name = "a name that is longer than fits into the string";
		auto other = std::make_shared<Thing<N>>();
		other->next = std::make_unique<Thing<N>>();
		named["another name that is longer than fits in, " + std::to_string(number)] = other;
		order.push_back(&thing);
	}
};

template <std::size_t N> Shop<N> shop;

template <std::size_t... N> void add_all(std::index_sequence<N...>, long number)
{
	(shop<N>.add(number), ...);
}

} // namespace

int main(int argc, char **argv)
{
	long blocks = argc > 1 ? std::atol(argv[1]) : 10000;
	for (long i = 0; i < blocks / long(6 * kinds); i++)
		add_all(std::make_index_sequence<kinds>(), i);
	std::puts("READY");
	std::fflush(stdout);
	while (std::getchar() != EOF)
		add_all(std::make_index_sequence<kinds>(), -1);
}
