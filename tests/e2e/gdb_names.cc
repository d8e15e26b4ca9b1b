// SPDX-License-Identifier: MIT
// gdb_names.cc - types whose names are not simply written down: local ones, lambdas, what stands in a
// namespace without a name.  One block of each, held by the variable that gdb.sh asks gdb about.
#include <cstdio>

namespace {
struct Hidden {
	Hidden *next;
	struct Inside {
		long value;
	} inside;
};
namespace deep {
struct Deeper {
	Deeper *next;
	long b;
};
}
}

namespace shop {
namespace {
struct Quiet {
	Quiet *next;
	short s[3];
};
}

struct Owner {
	int x;
	void run(int n);
};

void *lambda_here, *generic_here, *in_lambda_here;

void Owner::run(int n)
{
	struct Local {
		int y[4];
		Local *next;
	};
	static Local *keep;
	keep = new Local();
	keep->y[0] = n;
	auto lambda = [this, n](int k) { // lambda
		struct InLambda {
			InLambda *next;
			int z;
		};
		static InLambda *kept;
		kept = new InLambda();
		kept->z = k + n;
		in_lambda_here = kept;
		return x + kept->z;
	};
	static decltype(lambda) *held;
	held = new decltype(lambda)(lambda);
	(*held)(3);
	auto generic = [this, n](auto q) { return q + n + x; }; // lambda
	static decltype(generic) *held_generic;
	held_generic = new decltype(generic)(generic);
	(*held_generic)(1);
	lambda_here = held;
	generic_here = held_generic;
}

template <class T> struct Holder {
	struct Inner {
		T t;
		Inner *next;
	};
	T v;
	Holder *next;
	void fill()
	{
		struct InTemplate {
			T t;
			InTemplate *next;
		};
		static InTemplate *kept;
		kept = new InTemplate();
		kept->t = v;
	}
};

}

static void helper(const char *, long)
{
	struct Two {
		Two *next;
		int two;
	};
	static Two *kept;
	kept = new Two();
	kept->two = 2;
	{
		struct InBlock {
			InBlock *next;
			int bl;
		};
		static InBlock *inner;
		inner = new InBlock();
		inner->bl = 1;
	}
}

typedef struct {
	int a;
	void *b;
} Wrapped;

Hidden *hidden;
deep::Deeper *deeper;
shop::Quiet *quiet;
shop::Holder<int> *holder;
shop::Holder<shop::Owner>::Inner *inner;
shop::Holder<deep::Deeper *> *of_hidden;
Wrapped *wrapped;

int main()
{
	hidden = new Hidden();
	deeper = new deep::Deeper();
	quiet = new shop::Quiet();
	holder = new shop::Holder<int>();
	holder->fill();
	inner = new shop::Holder<shop::Owner>::Inner();
	of_hidden = new shop::Holder<deep::Deeper *>();
	wrapped = new Wrapped();
	shop::Owner owner = { 1 };
	owner.run(3);
	helper("", 1);
	std::fclose(std::fopen("ready", "w"));
	std::getchar();
	return !quiet;
}
