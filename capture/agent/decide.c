/* SPDX-License-Identifier: MIT */
/*
 * decide.c - the first call of a process: are these blocks glibc's, and nobody else's?
 *
 * The list of loaded modules is in the order of symbol look-up.  Whoever defines one
 * of the functions before us serves the program in our place; whoever follows is whom
 * we would call.  Only where that is glibc, for every function, are records written.
 * dlsym is not used: it allocates where it fails, and it takes the loader's lock.
 */
#include "capture/agent/agent.h"

#include <elf.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>

#include "capture/agent/record.h"
#include "capture/agent/walk.h"

extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));
extern void *__libc_stack_end;

struct hsnap_agent_state hsnap_agent __attribute__((aligned(64)));
struct hsnap_agent_next hsnap_agent_next;
struct hsnap_wire_directory hsnap_agent_directory = {
	.magic = HSNAP_WIRE_MAGIC,
	.version = HSNAP_WIRE_VERSION,
	.size = sizeof(struct hsnap_wire_directory),
};

/* ---- look-up in one module ---- */

struct symbols {
	const ElfW(Sym) *table;
	const char *strings;
	const uint32_t *gnu_hash, *hash;
	const ElfW(Rela) *relocations[2]; /* of data, of calls */
	size_t relocation_bytes[2];
};

static struct symbols symbols_of(const struct link_map *module)
{
	struct symbols s = { 0 };
	for (const ElfW(Dyn) *d = module->l_ld; d && d->d_tag != DT_NULL; d++) {
		/* glibc puts addresses in place, but for the vdso. */
		ElfW(Addr) at = d->d_un.d_ptr < module->l_addr ? d->d_un.d_ptr + module->l_addr : d->d_un.d_ptr;
		if (d->d_tag == DT_SYMTAB)
			s.table = (const ElfW(Sym) *)at;
		else if (d->d_tag == DT_STRTAB)
			s.strings = (const char *)at;
		else if (d->d_tag == DT_GNU_HASH)
			s.gnu_hash = (const uint32_t *)at;
		else if (d->d_tag == DT_HASH)
			s.hash = (const uint32_t *)at;
		else if (d->d_tag == DT_RELA)
			s.relocations[0] = (const ElfW(Rela) *)at;
		else if (d->d_tag == DT_JMPREL)
			s.relocations[1] = (const ElfW(Rela) *)at;
		else if (d->d_tag == DT_RELASZ)
			s.relocation_bytes[0] = d->d_un.d_val;
		else if (d->d_tag == DT_PLTRELSZ)
			s.relocation_bytes[1] = d->d_un.d_val;
	}
	return s;
}

static bool is_definition(const struct symbols *s, uint32_t index, const char *name)
{
	const ElfW(Sym) *symbol = &s->table[index];
	return symbol->st_shndx != SHN_UNDEF && symbol->st_value && ELF64_ST_TYPE(symbol->st_info) == STT_FUNC &&
	       !strcmp(s->strings + symbol->st_name, name);
}

/* Layout of DT_GNU_HASH: https://flapenguin.me/elf-dt-gnu-hash, glibc 2.36 elf/dl-lookup.c. */
static uint32_t find_gnu(const struct symbols *s, const char *name)
{
	uint32_t hash = 5381;
	for (const char *c = name; *c; c++)
		hash = hash * 33 + (uint8_t)*c;
	uint32_t buckets = s->gnu_hash[0], first = s->gnu_hash[1], bloom = s->gnu_hash[2];
	const uint32_t *bucket = s->gnu_hash + 4 + 2 * bloom;
	uint32_t index = buckets ? bucket[hash % buckets] : 0;
	if (index < first)
		return 0;
	for (;; index++) {
		uint32_t entry = bucket[buckets + index - first];
		if ((entry | 1) == (hash | 1) && is_definition(s, index, name))
			return index;
		if (entry & 1)
			return 0;
	}
}

static uint32_t find_old(const struct symbols *s, const char *name)
{
	for (uint32_t i = 1; i < s->hash[1]; i++)
		if (is_definition(s, i, name))
			return i;
	return 0;
}

static void *find(const struct link_map *module, const char *name)
{
	struct symbols s = symbols_of(module);
	if (!s.table || !s.strings)
		return NULL;
	uint32_t index = s.gnu_hash ? find_gnu(&s, name) : s.hash ? find_old(&s, name) : 0;
	return index ? (void *)(module->l_addr + s.table[index].st_value) : NULL;
}

/* ---- look-up in all ---- */

/* ld.so has had a malloc of its own; nobody is bound to it. */
static bool is_loader(const struct link_map *module)
{
	return module->l_addr == _r_debug.r_ldbase;
}

static const struct link_map *first_definer(const struct link_map *from, const struct link_map *end, const char *name,
					    void **ret)
{
	for (; from && from != end; from = from->l_next) {
		void *found = is_loader(from) ? NULL : find(from, name);
		if (found) {
			*ret = found;
			return from;
		}
	}
	return NULL;
}

static const struct link_map *ourselves(void)
{
	const struct link_map *module = _r_debug.r_map;
	while (module && module->l_ld != _DYNAMIC)
		module = module->l_next;
	return module;
}

void *hsnap_agent_lookup_next(const char *name)
{
	const struct link_map *self = ourselves();
	void *found = NULL;
	if (self)
		first_definer(self->l_next, NULL, name, &found);
	return found;
}

/* ---- the decision ---- */

static const struct {
	const char *name;
	void **next;
} functions[] = {
	{ "malloc", (void **)&hsnap_agent_next.malloc },
	{ "calloc", (void **)&hsnap_agent_next.calloc },
	{ "realloc", (void **)&hsnap_agent_next.realloc },
	{ "reallocarray", (void **)&hsnap_agent_next.reallocarray },
	{ "free", (void **)&hsnap_agent_next.free },
	{ "memalign", (void **)&hsnap_agent_next.memalign },
	{ "posix_memalign", (void **)&hsnap_agent_next.posix_memalign },
	{ "aligned_alloc", (void **)&hsnap_agent_next.aligned_alloc },
	{ "valloc", (void **)&hsnap_agent_next.valloc },
	{ "pvalloc", (void **)&hsnap_agent_next.pvalloc },
	{ "malloc_usable_size", (void **)&hsnap_agent_next.usable },
};

static const char *const operators[] = {
	"_Znwm", "_Znam", "_ZdlPv", "_ZdaPv", "_ZdlPvm", "_ZdaPvm",
	"_ZnwmRKSt9nothrow_t", "_ZnamRKSt9nothrow_t", "_ZdlPvRKSt9nothrow_t", "_ZdaPvRKSt9nothrow_t",
	"_ZnwmSt11align_val_t", "_ZnamSt11align_val_t", "_ZdlPvSt11align_val_t", "_ZdaPvSt11align_val_t",
	"_ZdlPvmSt11align_val_t", "_ZdaPvmSt11align_val_t",
	"_ZnwmSt11align_val_tRKSt9nothrow_t", "_ZnamSt11align_val_tRKSt9nothrow_t",
	"_ZdlPvSt11align_val_tRKSt9nothrow_t", "_ZdaPvSt11align_val_tRKSt9nothrow_t",
};

#define NUM(array) (sizeof(array) / sizeof(*(array)))

static void say_aside(const char *function, const char *how, const char *module)
{
	const char *name = module && *module ? module : "the program itself";
	for (const char *c = name; *c; c++)
		if (*c == '/' && c[1])
			name = c + 1;
	const char *parts[] = { function, how, name };
	char *to = hsnap_agent_directory.aside, *end = to + sizeof(hsnap_agent_directory.aside) - 1;
	for (size_t i = 0; i < NUM(parts); i++)
		for (const char *c = parts[i]; *c && to < end; c++)
			*to++ = *c;
	*to = '\0';
}

/* tcmalloc and mimalloc define __libc_malloc as well, and ours is bound to theirs then: the name proves nothing. */
static bool is_libc(const struct link_map *module)
{
	return find(module, "gnu_get_libc_version") && find(module, "__libc_malloc") == (void *)__libc_malloc;
}

/* These four at least are one allocator's, or what one hands out another one gets back. */
#define NEEDED 4u
static const size_t needed[NEEDED] = { 0, 1, 2, 4 };

/* Every function ours, and glibc's next to ours?  Or another allocator's, one and the same?  If not, say why. */
static enum hsnap_agent_mode whose(const struct link_map *self, const struct link_map **ret_other)
{
	enum hsnap_agent_mode mode = HSNAP_MODE_RECORD;
	const struct link_map *definers[NUM(functions)];
	for (size_t i = 0; i < NUM(functions); i++) {
		void *found = NULL;
		const struct link_map *definer = first_definer(_r_debug.r_map, self, functions[i].name, &found);
		if (definer && mode != HSNAP_MODE_ASIDE) {
			say_aside(functions[i].name, " comes from ", definer->l_name);
			mode = HSNAP_MODE_ASIDE;
		}
		definer = definers[i] = first_definer(self->l_next, NULL, functions[i].name, &found);
		if (definer && !is_libc(definer) && mode == HSNAP_MODE_RECORD) {
			say_aside(functions[i].name, " comes from ", definer->l_name);
			mode = HSNAP_MODE_OTHER;
		}
		*functions[i].next = found;
	}
	for (size_t i = 1; i < NEEDED && mode == HSNAP_MODE_OTHER; i++)
		if (definers[needed[i]] != definers[0])
			mode = HSNAP_MODE_ASIDE;
	*ret_other = definers[0];
	return mode;
}

static bool is_cxx_library(const struct link_map *module)
{
	return find(module, "_ZSt15get_new_handlerv") || find(module, "__cxa_new_handler");
}

/* Are operator new and delete of this module?  Forms that it lacks are the C++ library's, which call the others. */
static bool operators_are_of(const struct link_map *self, const struct link_map *module)
{
	for (size_t i = 0; i < NUM(operators); i++) {
		void *found;
		if (first_definer(_r_debug.r_map, self, operators[i], &found))
			return false;
		const struct link_map *definer = first_definer(self->l_next, NULL, operators[i], &found);
		if (definer && definer != module && !is_cxx_library(definer))
			return false;
	}
	return find(module, "_Znwm") && find(module, "_ZdlPv");
}

/* Functions by which allocators hand out and take back beside the standard ones.  The agent cannot stand in for them,
 * since programs look whether they are there to tell which allocator they have. */
static bool is_around(const char *name)
{
	static const char *const whole[] = { "mallocx", "rallocx", "xallocx", "dallocx", "sdallocx", "reallocf", "reallocarr", "vfree",
					      "_aligned_malloc" };
	static const char *const begins[] = { "je_", "tc_", "mi_" };
	static const char *const parts[] = { "alloc", "free", "new", "delete", "dup", "align" };
	static const char *const harmless[] = { "stats", "usable", "malloc_size", "good_size", "mallopt", "mallinfo", "mallctl", "conf",
						"deferred" };
	for (size_t i = 0; i < NUM(whole); i++)
		if (!strcmp(name, whole[i]))
			return true;
	bool prefixed = false, about = false;
	for (size_t i = 0; i < NUM(begins); i++)
		prefixed |= !strncmp(name, begins[i], 3);
	for (size_t i = 0; prefixed && i < NUM(parts); i++)
		about |= strstr(name, parts[i]) != NULL;
	for (size_t i = 0; about && i < NUM(harmless); i++)
		about = !strstr(name, harmless[i]);
	return about;
}

/* By which the program may learn the room of a block. */
static bool tells_room(const char *name)
{
	static const char *const names[] = { HSNAP_TELLING_ROOM };
	for (size_t i = 0; i < NUM(names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* One such that this module calls, by its relocations, and the allocator has; or NULL. */
static const char *called_in(const struct link_map *module, const struct link_map *other, bool (*is_such)(const char *))
{
	struct symbols s = symbols_of(module);
	for (unsigned t = 0; t < NUM(s.relocations) && s.table && s.strings; t++) {
		for (size_t i = 0; s.relocations[t] && i < s.relocation_bytes[t] / sizeof(ElfW(Rela)); i++) {
			const ElfW(Sym) *symbol = &s.table[ELF64_R_SYM(s.relocations[t][i].r_info)];
			const char *name = s.strings + symbol->st_name;
			if (symbol != s.table && symbol->st_shndx == SHN_UNDEF && is_such(name) && find(other, name))
				return name;
		}
	}
	return NULL;
}

static const char *called(const struct link_map *other, bool (*is_such)(const char *))
{
	const char *name = NULL;
	for (const struct link_map *module = _r_debug.r_map; module && !name; module = module->l_next)
		if (module != other && !is_loader(module))
			name = called_in(module, other, is_such);
	return name;
}

static void say_beside(const char *function)
{
	char *to = hsnap_agent_directory.beside, *end = to + sizeof(hsnap_agent_directory.beside) - 1;
	for (; function && *function && to < end; function++)
		*to++ = *function;
}

/* A program that replaces one operator expects the others of the C++ library to call it. */
static bool operators_are_standard(const struct link_map *self)
{
	for (size_t i = 0; i < NUM(operators); i++) {
		void *found;
		if (first_definer(_r_debug.r_map, self, operators[i], &found))
			return false;
		const struct link_map *definer = first_definer(self->l_next, NULL, operators[i], &found);
		if (definer && !is_cxx_library(definer))
			return false;
	}
	return true;
}

/* Of the sixteen random bytes that the kernel gives each program: no system call, which a sandbox around the
 * program might not know.  Others use them too (libc's canary), so they are not to be told from the key. */
static uint64_t random_key(void)
{
	uint64_t seed[2] = { 0, (uintptr_t)&seed };
	const void *random = (const void *)getauxval(AT_RANDOM);
	if (random)
		memcpy(seed, random, sizeof(seed));
	uint64_t key = (seed[0] ^ seed[1] >> 29) * 0x9e3779b97f4a7c15ull + seed[1] * 0xbf58476d1ce4e5b9ull;
	return (key ^ key >> 31) * 0x94d049bb133111ebull;
}

static unsigned wanted_stacks(void)
{
	const char *text = hsnap_agent_option(HSNAP_WIRE_ENV_STACKS);
	if (text && !strcmp(text, "caller"))
		return HSNAP_STACKS_CALLER;
	if (text && !strcmp(text, "fp"))
		return HSNAP_STACKS_FP;
	if (text && !strcmp(text, "unwind"))
		return HSNAP_STACKS_UNWIND;
	return hsnap_agent_has_frames() ? HSNAP_STACKS_FP : HSNAP_STACKS_UNWIND;
}

static void start_clock(void)
{
	struct timespec wall, now;
	clock_gettime(CLOCK_REALTIME, &wall);
	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	hsnap_agent.started = now.tv_sec - 1;
	hsnap_agent.epoch = 1;
	hsnap_agent_directory.epoch_start = (uint64_t)(wall.tv_sec - 1) * 1000000000u + (uint64_t)wall.tv_nsec;
}

/* The path that the loader was given for us. */
const char *hsnap_agent_own_path(void)
{
	const struct link_map *self = ourselves();
	return self ? self->l_name : "";
}

enum hsnap_agent_mode hsnap_agent_decide(void)
{
	struct hsnap_wire_directory *dir = &hsnap_agent_directory;
	const struct link_map *self = ourselves();
	const struct link_map *other = NULL;
	enum hsnap_agent_mode mode = self ? whose(self, &other) : HSNAP_MODE_ASIDE;
	dir->pid = hsnap_agent_pid();
	dir->key = hsnap_agent.key = random_key();
	for (const char *v = gnu_get_libc_version() + 2; *v >= '0' && *v <= '9'; v++)
		dir->glibc_minor = dir->glibc_minor * 10 + (uint64_t)(*v - '0');
	hsnap_agent.main_stack_end = __libc_stack_end;
	hsnap_agent.brk_start = ((uintptr_t)hsnap_agent_syscall(SYS_brk, 0, 0, 0, 0, 0, 0) + 15) & ~(uintptr_t)15;
	hsnap_agent.other_operators = mode == HSNAP_MODE_OTHER && operators_are_of(self, other);
	hsnap_agent.operators = self && (hsnap_agent.other_operators || operators_are_standard(self));
	hsnap_agent.stacks = (uint8_t)wanted_stacks();
	dir->stacks = hsnap_agent.stacks;
	start_clock();
	hsnap_agent_walks_start();
	static const uint8_t allocators[] = {
		[HSNAP_MODE_RECORD] = HSNAP_ALLOCATOR_GLIBC, [HSNAP_MODE_ASIDE] = HSNAP_ALLOCATOR_ASIDE,
		[HSNAP_MODE_OTHER] = HSNAP_ALLOCATOR_OTHER,
	};
	dir->allocator = allocators[mode];
	if (mode == HSNAP_MODE_OTHER) {
		dir->other_malloc = (uintptr_t)hsnap_agent_next.malloc;
		say_beside(called(other, is_around));
		dir->rooms_asked = called(other, tells_room) != NULL;
	}
	__atomic_store_n(&hsnap_agent.mode, (uint8_t)mode, __ATOMIC_RELEASE);
	if (mode != HSNAP_MODE_ASIDE)
		hsnap_agent_threads_start();
	return mode;
}
