/* SPDX-License-Identifier: MIT */
/* test_precopy.c - copied while it ran, and still of one moment; watched, and nothing of it left. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capture/freeze/freeze.h"
#include "tests/capture/freeze/witness.h"
#include "tests/capture/support/child.h"

static struct hsnap_proc proc;

static void set_up(void)
{
	cr_assert_eq(hsnap_proc_init(&proc, "/", NULL), HSNAP_OK);
}

TestSuite(precopy, .init = set_up, .timeout = 90);

static enum hsnap_code freeze_once(pid_t pid, uint64_t max_pause_ns, struct witness *witness,
				   struct hsnap_frozen *frozen, struct hsnap_error *err)
{
	*err = (struct hsnap_error){ 0 };
	return hsnap_freeze_precopy(&(struct hsnap_freeze_options){
		.proc = &proc, .pid = pid, .mode = HSNAP_FREEZE_PRECOPY, .scratch = -1, .max_pause_ns = max_pause_ns,
		.witness = witness ? witness_look : NULL, .witness_context = witness,
	}, frozen, err);
}

static bool is_not_told(const char *message)
{
	return strstr(message, "cannot watch what it writes: userfaultfd") ||
	       strstr(message, "this kernel cannot tell which pages are written to");
}

/* Kernels before 6.7 without soft-dirty bits, or where userfaultfd is forbidden, have other ways. */
static void need_watching(enum hsnap_code code, const struct hsnap_error *err)
{
	if (code == HSNAP_UNSUPPORTED && is_not_told(err->message))
		cr_skip_test("%s", err->message);
}

/* By soft-dirty bits: nothing is called in the target. */
static bool has_no_scan(void)
{
	struct utsname name;
	unsigned major = 0, minor = 0;
	uname(&name);
	return sscanf(name.release, "%u.%u", &major, &minor) == 2 && (major < 6 || (major == 6 && minor < 7));
}

/* No mapping of it is registered with a userfaultfd any more. */
static void expect_unwatched(pid_t pid, const char *when)
{
	char path[64], line[4096];
	snprintf(path, sizeof(path), "/proc/%d/smaps", pid);
	FILE *smaps = fopen(path, "re");
	cr_assert(smaps);
	int flags = 0;
	while (fgets(line, sizeof(line), smaps))
		if (!strncmp(line, "VmFlags:", 8)) {
			flags++;
			cr_expect(!strstr(line, " uw ") && !strstr(line, " um "), "%s: %s", when, line);
		}
	fclose(smaps);
	cr_expect_gt(flags, 5);
}

static const struct {
	const char *name;
	const char *const arguments[9];
	int takes;
} churns[] = {
	{ "random writes", { "48", "write" }, 6 },
	{ "mappings come, move and go", { "4", "map" }, 10 },
	{ "a heap that grows and shrinks", { "4", "heap" }, 6 },
	{ "forks", { "16", "write", "fork" }, 6 },
	{ "memory shared with another writer", { "4", "share" }, 6 },
	{ "huge pages", { "48", "huge", "write" }, 6 },
	{ "all of it", { "24", "huge", "write", "map", "heap", "fork", "share" }, 8 },
};

ParameterizedTestParameters(precopy, every_page_is_of_one_moment)
{
	static size_t index[sizeof(churns) / sizeof(*churns)];
	for (size_t i = 0; i < sizeof(churns) / sizeof(*churns); i++)
		index[i] = i;
	return cr_make_param_array(size_t, index, sizeof(churns) / sizeof(*churns));
}

ParameterizedTest(size_t *row, precopy, every_page_is_of_one_moment)
{
	struct child churner = child_start_ready(CHURNER, churns[*row].arguments);
	struct witness witness;
	struct hsnap_frozen frozen;
	struct hsnap_error err;
	char line[256];
	int taken = 0;
	witness_create(&witness, churner.pid, 1 << 18);
	for (int i = 0; i < churns[*row].takes; i++) {
		enum hsnap_code code = freeze_once(churner.pid, 0, &witness, &frozen, &err);
		need_watching(code, &err);
		if (code == HSNAP_UNSUPPORTED && strstr(err.message, "did not converge"))
			continue; /* a busy machine */
		cr_assert_eq(code, HSNAP_OK, "%s: %s", churns[*row].name, err.message);
		uint64_t first = 0;
		size_t wrong = witness_compare(&witness, frozen.target, &first);
		cr_expect_eq(wrong, 0, "%s, take %d: %zu of %zu pages differ, the first at %lx", churns[*row].name, i, wrong,
			     witness.num, first);
		cr_expect_gt(witness.num, 500);
		cr_expect_eq(frozen.lost, 0, "%lu", frozen.lost);
		hsnap_frozen_deinit(&frozen);
		taken++;
	}
	cr_expect_gt(taken, 0, "%s: %s", churns[*row].name, err.message);
	expect_unwatched(churner.pid, churns[*row].name);
	witness_destroy(&witness);
	close(churner.in);
	churner.in = -1;
	cr_assert(child_expect(&churner, "wrong", line, sizeof(line)));
	cr_expect(!strncmp(line, "wrong 0 ", 8), "%s: %s", churns[*row].name, line);
	cr_expect_eq(child_wait(&churner), 0);
}

Test(precopy, goes_on_unharmed)
{
	struct child patient = child_start_ready(PATIENT, (const char *const[]){ "busy", "24", NULL });
	struct hsnap_frozen frozen;
	struct hsnap_error err;
	char line[256];
	for (int i = 0; i < 25; i++) {
		enum hsnap_code code = freeze_once(patient.pid, 0, NULL, &frozen, &err);
		need_watching(code, &err);
		cr_assert_eq(code, HSNAP_OK, "%s", err.message);
		cr_expect_str_eq(frozen.mode, "precopy");
		cr_expect_eq(frozen.target->threads.num, 8);
		cr_expect_geq(frozen.copied, (uint64_t)24 << 20);
		hsnap_frozen_deinit(&frozen);
		sleep_ms(5);
	}
	expect_unwatched(patient.pid, "25 takes");
	close(patient.in);
	patient.in = -1;
	cr_assert(child_expect(&patient, "eintr", line, sizeof(line)));
	cr_expect(!strncmp(line, "eintr 0 wrong 0 lost 0 descriptors 0 children 0 ", 47), "%s", line);
	cr_expect_eq(child_wait(&patient), 0);
}

/* Every named step, those of the two calls included: at the latter a descriptor may be left. */
static const struct {
	const char *name;
	int descriptors;
	enum { EITHER, WATCHED, SOFT } by;
} steps[] = {
	{ "lone-seized", 0, WATCHED }, { "lone-stopped", 0, WATCHED }, { "framed", 0, WATCHED },
	{ "userfaultfd-set", 1, WATCHED }, { "userfaultfd-masked", 1, WATCHED }, { "userfaultfd-entered", 1, WATCHED },
	{ "userfaultfd-returned", 1, WATCHED }, { "descriptor-taken", 1, WATCHED },
	{ "close-set", 0, WATCHED }, { "close-masked", 0, WATCHED }, { "close-entered", 0, WATCHED },
	{ "close-returned", 0, WATCHED },
	{ "called", 0, WATCHED }, { "unmasked", 0, WATCHED }, { "given-back", 0, WATCHED }, { "lone-released", 0, WATCHED },
	{ "watch-opened", 0, WATCHED }, { "watch-registered", 0, WATCHED }, { "round", 0, WATCHED },
	{ "soft-cleared", 0, SOFT },
	{ "before-seize", 0, EITHER }, { "seized", 0, EITHER }, { "interrupted", 0, EITHER }, { "stopped", 0, EITHER },
	{ "last-round", 0, EITHER }, { "before-release", 0, EITHER }, { "first-released", 0, EITHER },
	{ "released", 0, EITHER }, { "watch-closed", 0, EITHER },
};

ParameterizedTestParameters(precopy, killed_at_a_step)
{
	static size_t index[sizeof(steps) / sizeof(*steps)];
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++)
		index[i] = i;
	return cr_make_param_array(size_t, index, sizeof(steps) / sizeof(*steps));
}

ParameterizedTest(size_t *row, precopy, killed_at_a_step)
{
	enum { KILLS = 2 };
	char variable[64], pid[16], line[256];
	if (steps[*row].by == (has_no_scan() ? WATCHED : SOFT))
		cr_skip_test("%s is a step of other kernels", steps[*row].name);
	struct child patient = child_start_ready(PATIENT, (const char *const[]){ "busy", "4", NULL });
	snprintf(variable, sizeof(variable), "HEAPSNAP_STEP=%s", steps[*row].name);
	snprintf(pid, sizeof(pid), "%d", patient.pid);
	for (int i = 0; i < KILLS; i++) {
		struct child freezer = child_start_as(false, variable, FREEZER_STEPS,
						      (const char *const[]){ pid, "/", "precopy", NULL });
		bool reached = child_expect(&freezer, "", line, sizeof(line)) && !strncmp(line, "step", 4);
		if (!reached && is_not_told(line))
			cr_skip_test("%s", line);
		cr_assert(reached, "step %s is never reached: %s", steps[*row].name, line);
		sleep_ms(15);
		child_kill(&freezer);
		sleep_ms(10);
	}
	expect_unwatched(patient.pid, steps[*row].name);
	int left = -1;
	close(patient.in);
	patient.in = -1;
	cr_assert(child_expect(&patient, "eintr", line, sizeof(line)), "%s: it did not go on: %s", steps[*row].name, line);
	cr_expect_eq(sscanf(line, "eintr 0 wrong 0 lost 0 descriptors %d children 0 ", &left), 1, "%s: %s",
		     steps[*row].name, line);
	cr_expect(left >= 0 && left <= KILLS * steps[*row].descriptors, "%s: %s", steps[*row].name, line);
	cr_expect_eq(child_wait(&patient), 0, "%s", steps[*row].name);
}

Test(precopy, its_own_userfaultfd_is_left_alone)
{
	struct child churner = child_start_ready(CHURNER, (const char *const[]){ "4", "watch", NULL });
	struct hsnap_frozen frozen;
	struct hsnap_error err;
	if (has_no_scan())
		cr_skip_test("this kernel watches by other means");
	enum hsnap_code code = freeze_once(churner.pid, 0, NULL, &frozen, &err);
	need_watching(code, &err);
	cr_expect_eq(code, HSNAP_UNSUPPORTED);
	cr_expect(strstr(err.message, "it uses userfaultfd itself"), "%s", err.message);
	/* Left to itself it is copied instead; the stop in vain counts with that of the copy. */
	cr_expect_gt(frozen.spent_ns, 0);
	cr_expect_gt(frozen.pause_ns, 0);
	uint64_t tried = frozen.spent_ns;
	code = hsnap_freeze(&(struct hsnap_freeze_options){ .proc = &proc, .pid = churner.pid, .scratch = -1 }, &frozen, &err);
	cr_assert_eq(code, HSNAP_OK, "%s", err.message);
	cr_expect_str_eq(frozen.mode, "copy");
	cr_expect_str_eq(frozen.note, "no precopy: cannot watch what it writes: it uses userfaultfd itself");
	cr_expect_gt(frozen.spent_ns, frozen.pause_ns, "of %lu ns that a try takes nothing is left: %lu, the longest %lu, %u attempts",
		     tried, frozen.spent_ns, frozen.pause_ns, frozen.attempts);
	cr_expect_eq(frozen.attempts, 1);
	hsnap_frozen_deinit(&frozen);
	cr_expect_eq(child_finish(&churner), 0);
}

Test(precopy, a_pause_that_would_be_long_is_not_begun)
{
	struct child churner = child_start_ready(CHURNER, (const char *const[]){ "32", "write", NULL });
	struct hsnap_frozen frozen;
	struct hsnap_error err;
	enum hsnap_code code = freeze_once(churner.pid, 100000, NULL, &frozen, &err);
	need_watching(code, &err);
	cr_expect(code == HSNAP_UNSUPPORTED || code == HSNAP_REFUSED, "%s", err.message);
	expect_unwatched(churner.pid, "given up");
	cr_expect_eq(child_finish(&churner), 0);
}

static uint64_t page_tables(pid_t pid)
{
	uint64_t kib = 0;
	char *text = hsnap_proc_read(&proc, "proc/%d/status", pid);
	cr_assert(text && hsnap_proc_field(text, "VmPTE", 10, &kib));
	free(text);
	return kib;
}

/* A marker for each absent page would take 128 MiB of page tables. */
Test(precopy, absent_pages_stay_absent)
{
	if (has_no_scan())
		cr_skip_test("64 GiB are looked at page by page here: that is slow");
	struct child churner = child_start_ready(CHURNER, (const char *const[]){ "1", "sparse", NULL });
	struct hsnap_frozen frozen;
	struct hsnap_error err;
	uint64_t before = page_tables(churner.pid);
	enum hsnap_code code = freeze_once(churner.pid, 0, NULL, &frozen, &err);
	need_watching(code, &err);
	cr_assert_eq(code, HSNAP_OK, "%s", err.message);
	cr_expect_leq(page_tables(churner.pid), before + 8);
	cr_expect_lt(frozen.copied, (uint64_t)16 << 20);
	hsnap_frozen_deinit(&frozen);
	cr_expect_eq(child_finish(&churner), 0);
}

/* A memory cgroup of our own, of either version, or false. */
static bool make_cgroup(char *path, size_t size, const char **limit, const char **usage)
{
	static const struct {
		const char *folder, *limit, *usage;
	} places[] = {
		{ "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes" },
		{ "/sys/fs/cgroup", "memory.max", "memory.current" },
	};
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		char file[256];
		snprintf(path, size, "%s/heapsnap-precopy-%d", places[i].folder, getpid());
		snprintf(file, sizeof(file), "%s/%s", path, places[i].limit);
		if (mkdir(path, 0700))
			continue;
		*limit = places[i].limit;
		*usage = places[i].usage;
		if (!access(file, W_OK))
			return true;
		rmdir(path);
	}
	return false;
}

static unsigned long long read_number(const char *folder, const char *name)
{
	unsigned long long number = 0;
	char path[256];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	FILE *file = fopen(path, "re");
	cr_assert(file && fscanf(file, "%llu", &number) == 1, "%s", path);
	fclose(file);
	return number;
}

static void write_number(const char *folder, const char *name, unsigned long long number)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	FILE *file = fopen(path, "we");
	cr_assert(file && fprintf(file, "%llu", number) > 0, "%s", path);
	cr_assert_eq(fclose(file), 0, "%s", path);
}

/* What the page tables would grow by is more than its cgroup has left. */
Test(precopy, eight_megabytes_of_headroom_are_enough)
{
	char cgroup[160];
	const char *limit, *usage;
	if (has_no_scan())
		cr_skip_test("64 GiB are looked at page by page here: that is slow");
	if (!make_cgroup(cgroup, sizeof(cgroup), &limit, &usage))
		cr_skip_test("no memory cgroup can be made here");
	struct child churner = child_start_ready(CHURNER, (const char *const[]){ "4", "sparse", "write", NULL });
	struct hsnap_frozen frozen;
	struct hsnap_error err;
	write_number(cgroup, "cgroup.procs", (unsigned long long)churner.pid);
	unsigned long long before = read_number(cgroup, usage);
	write_number(cgroup, limit, before + (8 << 20));
	enum hsnap_code code = freeze_once(churner.pid, 0, NULL, &frozen, &err);
	unsigned long long after = read_number(cgroup, usage);
	int status = child_finish(&churner);
	rmdir(cgroup);
	need_watching(code, &err);
	cr_expect_eq(code, HSNAP_OK, "%s", err.message);
	cr_expect_eq(status, 0, "it was killed");
	cr_expect_lt(after, before + (1 << 20));
	if (!code)
		hsnap_frozen_deinit(&frozen);
}

Test(precopy, killed_at_random_moments)
{
	char pid[16], line[256];
	const char *all = getenv("HEAPSNAP_TEST_ALL");
	const int kills = all && !strcmp(all, "yes") ? 200 : 20;
	struct child patient = child_start_ready(PATIENT, (const char *const[]){ "busy", "32", NULL });
	snprintf(pid, sizeof(pid), "%d", patient.pid);
	srand(4711);
	for (int i = 0; i < kills; i++) {
		struct child freezer = child_start(FREEZER, pid, "/", "precopy", NULL);
		nanosleep(&(struct timespec){ .tv_nsec = rand() % 60 * 1000000L + rand() % 1000000 }, NULL);
		child_kill(&freezer);
	}
	expect_unwatched(patient.pid, "random moments");
	/* Between our request to stop and the stop there is no mending of a call if we are killed: these
	 * may have failed with EINTR.  A descriptor may be left of each kill between two calls. */
	int left = -1;
	close(patient.in);
	patient.in = -1;
	cr_assert(child_expect(&patient, "eintr", line, sizeof(line)));
	cr_expect_eq(sscanf(line, "eintr %*u wrong 0 lost 0 descriptors %d children 0 ", &left), 1, "%s", line);
	cr_expect(left >= 0 && left <= kills / 4, "%s", line);
	cr_expect_eq(child_wait(&patient), 0);
}
