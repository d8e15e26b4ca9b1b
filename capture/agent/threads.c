/* SPDX-License-Identifier: MIT */
/* threads.c - what is kept for each thread: its counters, the bounds of its stack, the clock. */
#include "capture/agent/items.h"
#include "capture/agent/walk.h"

#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>

HSNAP_TLS struct hsnap_agent_thread hsnap_agent_self;

/* ---- slots of counters ---- */

static struct hsnap_wire_counters first_slots[HSNAP_SLOT_FIRST] __attribute__((aligned(64)));
/* Slots whose thread has ended: index + 1 of the first, and a count that makes each state of the
 * list another one (compare-and-swap must not take an old head for the same). */
static uint64_t free_slots;
static pthread_key_t key;
static bool key_made;
static int (*set_specific)(pthread_key_t, const void *);

static struct hsnap_wire_counters *slot_at(uint64_t index)
{
	return hsnap_agent_item_at(hsnap_agent_directory.slot_segments, sizeof(struct hsnap_wire_counters), first_slots, index);
}

/* Emptied: the stack of the thread before may be unmapped. */
static struct hsnap_agent_walks *walks_at(uint64_t index)
{
	static uint64_t segments[HSNAP_SLOT_SEGMENTS];
	struct hsnap_agent_walks *walks = hsnap_agent_item_at(segments, sizeof(struct hsnap_agent_walks), NULL, index);
	if (!walks)
		return NULL;
	memset(walks, 0, offsetof(struct hsnap_agent_walks, stacks));
	for (unsigned i = 0; i <= HSNAP_WALKS; i++) {
		walks->stacks[i].num = walks->stacks[i].site = 0;
		walks->stacks[i].sp[0] = 0;
	}
	for (unsigned i = 0; i < HSNAP_WALKS; i++)
		walks->way[i] = (uint8_t)i;
	walks->spare = HSNAP_WALKS;
	return walks;
}

static struct hsnap_wire_counters *reuse_slot(uint64_t *ret_index)
{
	uint64_t head = __atomic_load_n(&free_slots, __ATOMIC_ACQUIRE);
	while (head & UINT32_MAX) {
		uint64_t index = (head & UINT32_MAX) - 1;
		struct hsnap_wire_counters *slot = slot_at(index);
		uint64_t next = (head & ~(uint64_t)UINT32_MAX) + (1ull << 32) +
				__atomic_load_n(&slot->next_free, __ATOMIC_RELAXED);
		if (__atomic_compare_exchange_n(&free_slots, &head, next, true, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE)) {
			*ret_index = index;
			return slot;
		}
	}
	return NULL;
}

/* None that nobody has is left: one more, where there is memory for it. */
static struct hsnap_wire_counters *new_slot(uint64_t *ret_index)
{
	uint64_t *num = &hsnap_agent_directory.num_slots, index = __atomic_load_n(num, __ATOMIC_RELAXED);
	struct hsnap_wire_counters *slot;
	do
		slot = slot_at(index);
	while (slot && !__atomic_compare_exchange_n(num, &index, index + 1, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	*ret_index = index;
	return slot;
}

static void put_back(uint64_t index)
{
	struct hsnap_wire_counters *slot = slot_at(index);
	uint64_t head = __atomic_load_n(&free_slots, __ATOMIC_ACQUIRE);
	uint64_t next;
	do {
		__atomic_store_n(&slot->next_free, head & UINT32_MAX, __ATOMIC_RELAXED);
		next = ((head & ~(uint64_t)UINT32_MAX) + (1ull << 32)) | (index + 1);
	} while (!__atomic_compare_exchange_n(&free_slots, &head, next, true, __ATOMIC_ACQ_REL,
					      __ATOMIC_ACQUIRE));
}

/* The thread is ending (the key's destructor): what it still allocates goes to the shared slot. */
static void give_back(void *index_and_one)
{
	hsnap_agent_self.counters = NULL;
	hsnap_agent_self.walks = NULL;
	hsnap_agent_self.ending = true;
	put_back((uintptr_t)index_and_one - 1);
}

struct hsnap_wire_counters *hsnap_agent_slot(void)
{
	struct hsnap_agent_thread *self = &hsnap_agent_self;
	struct hsnap_wire_counters *shared = &hsnap_agent_directory.shared;
	if (self->counters)
		return self->counters;
	if (!key_made || self->ending)
		return shared;
	/* Until the slot is there: pthread_setspecific may come back to us, and so may a signal's handler. */
	self->ending = true;
	__asm__ volatile("" ::: "memory");
	if (self->counters) { /* one came just before */
		self->ending = false;
		return self->counters;
	}
	uint64_t index;
	struct hsnap_wire_counters *slot = reuse_slot(&index);
	if (!slot)
		slot = new_slot(&index);
	if (!slot)
		return shared;
	if (set_specific(key, (void *)(uintptr_t)(index + 1))) { /* it would not come back when the thread ends */
		put_back(index);
		return shared;
	}
	self->ending = false;
	if (hsnap_agent.stacks >= HSNAP_STACKS_FP)
		self->walks = walks_at(index);
	memcpy(self->before, slot, sizeof(self->before));
	self->counters = slot;
	return slot;
}

bool hsnap_agent_count_thread(struct hsnap_wire_counters *ret)
{
	const struct hsnap_wire_counters *own = hsnap_agent_slot();
	uint64_t counts[HSNAP_AGENT_KEPT];
	if (own == &hsnap_agent_directory.shared)
		return false;
	memcpy(counts, own, sizeof(counts));
	for (unsigned i = 0; i < HSNAP_AGENT_KEPT; i++)
		counts[i] -= hsnap_agent_self.before[i];
	memcpy(ret, counts, sizeof(counts));
	return true;
}

void hsnap_agent_count_process(struct hsnap_wire_counters *ret)
{
	const struct hsnap_wire_counters *from = &hsnap_agent_directory.shared;
	uint64_t sums[HSNAP_AGENT_KEPT] = { 0 };
	uint64_t num = __atomic_load_n(&hsnap_agent_directory.num_slots, __ATOMIC_ACQUIRE);
	for (uint64_t i = 0; from; from = i < num ? slot_at(i++) : NULL)
		for (unsigned word = 0; word < HSNAP_AGENT_KEPT; word++)
			sums[word] += __atomic_load_n((const uint64_t *)from + word, __ATOMIC_RELAXED);
	memcpy(ret, sums, sizeof(sums));
}
_Static_assert(offsetof(struct hsnap_wire_counters, next_free) == 8 * HSNAP_AGENT_KEPT, "all that is counted");

/* How many slots wait for a thread. */
static uint64_t num_waiting(uint64_t num)
{
	uint64_t waiting = 0, next = free_slots & UINT32_MAX;
	for (; next && waiting < num; waiting++)
		next = slot_at(next - 1)->next_free;
	return waiting;
}

/* In a forked child the other threads are gone and their slots are free; what they had counted
 * stays, as the blocks do. */
static void in_child(void)
{
	struct hsnap_wire_directory *dir = &hsnap_agent_directory;
	dir->pid = hsnap_agent_pid();
	uint64_t list = 0;
	uint64_t num = dir->num_slots;
	uint64_t others = num - num_waiting(num) - (hsnap_agent_self.counters != NULL);
	dir->forked_amid += others < num ? others : 0;
	for (uint64_t i = 0; i < num; i++) {
		struct hsnap_wire_counters *slot = slot_at(i);
		if (!slot || slot == hsnap_agent_self.counters)
			continue;
		slot->next_free = list;
		list = i + 1;
	}
	free_slots = list;
}

/* After everything of libc is set up, since registering may allocate.  A program that has not
 * allocated yet gets its directory filled here. */
__attribute__((constructor)) static void start(void)
{
	if (hsnap_agent.mode == HSNAP_MODE_UNDECIDED)
		hsnap_agent_decide();
	pthread_atfork(NULL, NULL, in_child);
	hsnap_agent_leave_environment(hsnap_agent_own_path());
}

void hsnap_agent_threads_start(void)
{
	/* Found by name: linked to, they have a version since glibc 2.34, and the loader of an older one would end
	 * the program for the lack of it.  There they are libpthread's, which a program may do without. */
	int (*create)(pthread_key_t *, void (*)(void *)) =
		(int (*)(pthread_key_t *, void (*)(void *)))hsnap_agent_lookup_next("pthread_key_create");
	set_specific = (int (*)(pthread_key_t, const void *))hsnap_agent_lookup_next("pthread_setspecific");
	key_made = create && set_specific && !create(&key, give_back);
}

/* ---- the clock ---- */

void hsnap_agent_renew_epoch(void)
{
	struct timespec now;
	/* Without the kernel's page of code it is a system call. */
	if (UNLIKELY(hsnap_agent_sandboxed) && !getauxval(AT_SYSINFO_EHDR))
		return;
	if (clock_gettime(CLOCK_MONOTONIC_COARSE, &now))
		return;
	uint64_t seconds = (uint64_t)(now.tv_sec - hsnap_agent.started);
	unsigned epoch = (unsigned)seconds;
	if (seconds >= 65472) {
		epoch = HSNAP_EPOCH_MAX;
	} else if (seconds >= 512) {
		unsigned exponent = (unsigned)(63 - __builtin_clzll(seconds)) - 8;
		epoch = exponent << 9 | (unsigned)(seconds >> (exponent - 1) & 511);
	}
	/* Shared by all threads: the line is written once a second at most. */
	if (__atomic_load_n(&hsnap_agent.epoch, __ATOMIC_RELAXED) != epoch)
		__atomic_store_n(&hsnap_agent.epoch, epoch, __ATOMIC_RELAXED);
}

/* ---- what is in struct pthread ---- */

/* Its members lie from the thread pointer on, and this far at least (glibc 2.26 to 2.43: 2,304 bytes or more). */
#define PTHREAD_START 0x100u
#define PTHREAD_END 0x800u

static uintptr_t thread_pointer(void)
{
	uintptr_t tp;
	__asm__("mov %%fs:0, %0" : "=r"(tp));
	return tp;
}

/* That of the main thread, whose struct stays where it is; and where in it the thread's number is. */
static uintptr_t main_thread;
static uint32_t tid_field;

/* Behind the number stands the list of robust mutexes: in a program's first thread before it does anything two
 * pointers to the second of them (nptl/descr.h, glibc 2.36; set in __tls_init_tp). */
static void find_tid(void)
{
	main_thread = thread_pointer();
	for (uint32_t at = PTHREAD_START; at < PTHREAD_END && !tid_field; at += sizeof(uintptr_t)) {
		const uintptr_t *list = (const uintptr_t *)(main_thread + at);
		if (list[0] == (uintptr_t)&list[1] && list[1] == list[0] && list[-1] && list[-1] <= INT32_MAX)
			tid_field = at - (uint32_t)sizeof(uintptr_t);
	}
}

/* A process's only thread has its number: called before there is a second one, and in a forked child. */
uint64_t hsnap_agent_pid(void)
{
	if (!main_thread)
		find_tid();
	if (tid_field)
		return *(const uint32_t *)(thread_pointer() + tid_field);
	return hsnap_agent_sandboxed ? 0 : (uint64_t)hsnap_agent_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

/* ---- bounds of a thread's stack ---- */

/* The kernel leaves at least this much below the end of the main stack to the main stack. */
#define MAIN_STACK_SPAN ((uintptr_t)128 << 20)

/* Where struct pthread keeps its stackblock and stackblock_size, from the thread pointer on; 0
 * before it was found.  It is looked for once, since pthread_getattr_np allocates. */
static uint32_t stack_field;

/* The main thread's block goes from 0 to the end of its stack (nptl/libc_start.c and its successors). */
static uint32_t find_main_field(void)
{
	for (uint32_t at = PTHREAD_START; main_thread && at < PTHREAD_END; at += sizeof(uintptr_t)) {
		const uintptr_t *field = (const uintptr_t *)(main_thread + at);
		if (!field[0] && field[1] == (uintptr_t)hsnap_agent.main_stack_end)
			return at;
	}
	return 0;
}

/* The readable and writable mapping that holds the address. */
static bool mapping_of(uintptr_t address, uintptr_t *ret_start, uintptr_t *ret_end)
{
	long fd = hsnap_agent_syscall(SYS_openat, AT_FDCWD, (long)"/proc/self/maps", O_RDONLY | O_CLOEXEC, 0, 0, 0);
	if (fd < 0)
		return false;
	char text[256];
	uintptr_t bound[2] = { 0, 0 };
	unsigned field = 0; /* 0 start, 1 end, 2 and 3: first two of the rights, 4: rest of the line */
	bool right = true, found = false;
	for (long got; !found && (got = hsnap_agent_syscall(SYS_read, fd, (long)text, sizeof(text), 0, 0, 0)) > 0;) {
		for (long i = 0; i < got && !found; i++) {
			char c = text[i];
			if (c == '\n') {
				bound[0] = bound[1] = 0;
				field = 0;
				right = true;
			} else if (field < 2 && (c == '-' || c == ' ')) {
				field++;
			} else if (field < 2) {
				bound[field] = bound[field] << 4 | (uintptr_t)(c <= '9' ? c - '0' : c - 'a' + 10);
			} else if (field < 4) {
				right = right && c == "rw"[field - 2];
				found = ++field == 4 && right && address >= bound[0] && address < bound[1];
			}
		}
	}
	hsnap_agent_syscall(SYS_close, fd, 0, 0, 0, 0, 0);
	*ret_start = bound[0];
	*ret_end = bound[1];
	return found;
}

/* Does [field[0], field[0] + field[1]) look like the stack that sp is on and tp the end of? */
static bool is_stack(const uintptr_t *field, uintptr_t sp, uintptr_t tp)
{
	uintptr_t end;
	return field[0] && !__builtin_add_overflow(field[0], field[1], &end) && field[0] <= sp && sp < tp &&
	       tp < end && end - tp < 0x10000;
}

static uint32_t find_field(uintptr_t sp, uintptr_t tp)
{
	uintptr_t start, end;
	uint32_t known = find_main_field();
	if (known && is_stack((const uintptr_t *)(tp + known), sp, tp))
		return known;
	/* Another libc's: next to the truth in /proc/self/maps, if we may open that. */
	if (hsnap_agent_sandboxed || !mapping_of(tp, &start, &end) || sp < start || sp >= tp)
		return 0;
	for (uintptr_t at = tp; at + 2 * sizeof(uintptr_t) <= end && at < tp + 0x1000; at += sizeof(uintptr_t))
		if (is_stack((const uintptr_t *)at, sp, tp) && *(const uintptr_t *)at <= start &&
		    *(const uintptr_t *)at + ((const uintptr_t *)at)[1] <= end)
			return (uint32_t)(at - tp);
	return 0;
}

void hsnap_agent_find_bounds(struct hsnap_agent_thread *self, uintptr_t sp)
{
	self->bounds = 2;
	uintptr_t main_end = (uintptr_t)hsnap_agent.main_stack_end;
	if (sp < main_end && main_end - sp < MAIN_STACK_SPAN) {
		self->stack_start = main_end - MAIN_STACK_SPAN;
		self->stack_end = main_end;
		self->bounds = 1;
		return;
	}
	uintptr_t tp = thread_pointer();
	uint32_t field = __atomic_load_n(&stack_field, __ATOMIC_RELAXED);
	if (!field) {
		field = find_field(sp, tp);
		if (!field)
			return;
		__atomic_store_n(&stack_field, field, __ATOMIC_RELAXED);
	}
	const uintptr_t *block = (const uintptr_t *)(tp + field);
	if (!is_stack(block, sp, tp))
		return;
	self->stack_start = block[0];
	self->stack_end = tp;
	self->bounds = 1;
}
