// SPDX-License-Identifier: MIT
//
// naming_cxx.cc - naming-cxx BLOCKS: a process with so many blocks, about, nearly all of them in containers.
//
// "READY" when all of it is there; it ends with its standard input.
//
#include <cstdio>
#include <cstdlib>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

struct Item {
	virtual ~Item() = default;
	long number = 0;
};

struct Book : Item {
	std::string title;
	std::vector<long> pages;
};

struct Customer {
	std::string name;
	std::list<std::shared_ptr<Item>> bought;
	std::map<long, std::unique_ptr<Book>> wishes;
};

std::unordered_map<std::string, Customer> customers;

// 15 blocks.
void add_customer(long number)
{
	Customer &customer = customers["customer with the number " + std::to_string(number)];
	customer.name = "one whose name is longer than fits in, " + std::to_string(number);
	for (long i = 0; i < 2; i++) {
		auto book = std::make_shared<Book>();
		book->title = "a title that is longer than fits into the string";
		book->pages.assign(4 + number % 8, number);
		customer.bought.push_back(book);
	}
	auto wish = std::make_unique<Book>();
	wish->title = "another title that is longer than fits into the string";
	wish->pages.assign(6, number);
	customer.wishes[number] = std::move(wish);
}

} // namespace

int main(int argc, char **argv)
{
	long blocks = argc > 1 ? std::atol(argv[1]) : 1000;
	for (long i = 0; i < blocks / 15; i++)
		add_customer(i);
	std::puts("READY");
	std::fflush(stdout);
	while (std::getchar() != EOF)
		add_customer(-1);
}
