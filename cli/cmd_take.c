/* SPDX-License-Identifier: MIT */
/* cmd_take.c - snapshot a live process or a core into a file. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/dry_run.h"
#include "cli/emit.h"
#include "cli/live.h"
#include "cli/options.h"
#include "cli/report.h"
#include "cli/text.h"

#define MOST_COPIES 999 /* of one default name */

/* Whatever can be known to go wrong later is said before the target is stopped. */
static int check_output(const struct hsnap_options *options)
{
	const char *path = options->output;
	struct hsnap_error err;
	if (path && !strcmp(path, "-")) {
		if (!isatty(STDOUT_FILENO))
			return hsnap_snapshot_may_write(path, options->force, &err) ? hsnap_report(&err, HSNAP_DOING_OTHER)
										    : HSNAP_GO_ON;
		return hsnap_wrong_use("heapsnap take -p PID -o FILE", "take: a snapshot is not written to a terminal");
	}
	if (path && !*path)
		return hsnap_wrong_use("heapsnap take -p PID -o FILE", "take: -o wants a file, not ''");
	char folder[PATH_MAX] = ".";
	const char *slash = path ? strrchr(path, '/') : NULL;
	if (path && strlen(path) >= sizeof(folder)) {
		errno = ENAMETOOLONG;
		hsnap_fail(&err, HSNAP_IO, 0, "cannot write the snapshot: %s", strerror(errno));
		return hsnap_report(&err, HSNAP_DOING_OTHER);
	}
	if (slash)
		snprintf(folder, sizeof(folder), "%.*s", (int)(slash == path ? 1 : slash - path), path);
	if (access(folder, W_OK | X_OK)) {
		hsnap_fail(&err, HSNAP_IO, 0, "cannot write to the folder '%s': %s", folder, strerror(errno));
		if (options->core)
			hsnap_hint(&err, err.code, "name another place: heapsnap take --core %s -o FILE", options->core);
		else
			hsnap_hint(&err, err.code, "name another place: heapsnap take -p %" PRIu64 " -o FILE", options->pid);
		return hsnap_report(&err, HSNAP_DOING_OTHER);
	}
	if (path && hsnap_snapshot_may_write(path, options->force, &err))
		return hsnap_report(&err, HSNAP_DOING_OTHER);
	return HSNAP_GO_ON;
}

/* COMM-PID-20261130T012447Z.snap, the copy'th of that name. */
static void default_name(const struct hsnap_snapshot *snapshot, unsigned copy, char *name, size_t size)
{
	char comm[64], when[32], number[16] = "";
	snprintf(comm, sizeof(comm), "%s", hsnap_text(snapshot, snapshot->facts.comm));
	for (char *c = comm; *c; c++)
		if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-", *c))
			*c = '_';
	time_t seconds = (time_t)(snapshot->facts.taken_at / 1000000000u);
	struct tm tm;
	strftime(when, sizeof(when), "%Y%m%dT%H%M%SZ", gmtime_r(&seconds, &tm));
	if (copy > 1)
		snprintf(number, sizeof(number), "-%u", copy);
	snprintf(name, size, "%s-%" PRIu64 "-%s%s.snap", comm, snapshot->facts.pid, when, number);
}

/* A name that is taken gets a number; one that was asked for is an error. */
static enum hsnap_code write_snapshot(const struct hsnap_options *options, const struct hsnap_snapshot *snapshot,
				      char *path, size_t size, uint64_t *bytes, struct hsnap_error *err)
{
	if (options->output) {
		snprintf(path, size, "%s", options->output);
		return hsnap_snapshot_write(snapshot, path, options->force, bytes, err);
	}
	for (unsigned copy = 1;; copy++) {
		default_name(snapshot, copy, path, size);
		enum hsnap_code code = hsnap_snapshot_write(snapshot, path, options->force, bytes, err);
		if (code != HSNAP_IO || err->sys_errno != EEXIST || copy == MOST_COPIES)
			return code;
	}
}

/* "118 MiB", "3.9 MiB", "12 KiB": as many digits as are worth reading. */
static struct hsnap_small size_text(uint64_t bytes)
{
	struct hsnap_small small;
	double mib = (double)bytes / (1 << 20);
	if (mib >= 99.95)
		snprintf(small.text, sizeof(small.text), "%.0f MiB", mib);
	else if (mib >= 0.95)
		snprintf(small.text, sizeof(small.text), "%.1f MiB", mib);
	else
		snprintf(small.text, sizeof(small.text), "%.0f KiB", (double)bytes / 1024);
	return small;
}

static void say_what(const struct hsnap_snapshot *snapshot)
{
	const struct hsnap_facts *facts = &snapshot->facts;
	double named = (double)facts->bytes_by_confidence[HSNAP_EXACT] +
		       (double)facts->bytes_by_confidence[HSNAP_PROVED] +
		       (double)facts->bytes_by_confidence[HSNAP_INFERRED];
	if (!strcmp(hsnap_text(snapshot, facts->source), "core")) {
		hsnap_say("%s (pid %" PRIu64 "), from a core of %s; %s", hsnap_text(snapshot, facts->comm), facts->pid,
			  hsnap_time(facts->taken_at).text, hsnap_plural(facts->num_threads, "thread").text);
		hsnap_say("%s, %s bytes, %s %% of them named", hsnap_plural(facts->heap_count, "block").text,
			  hsnap_grouped(facts->heap_bytes).text, hsnap_share(named, (double)facts->heap_bytes).text);
		return;
	}
	bool agent = !strcmp(hsnap_text(snapshot, facts->source), "agent");
	hsnap_say("%s (pid %" PRIu64 ")%s; %s resident, %s", hsnap_text(snapshot, facts->comm), facts->pid,
		  agent ? ", started with the agent" : "", size_text(facts->rss).text, hsnap_plural(facts->num_threads, "thread").text);
	hsnap_say("held still for %s (%s); %s, %s bytes, %s %% of them named", hsnap_milliseconds(facts->pause_ns).text,
		  hsnap_text(snapshot, facts->freeze), hsnap_plural(facts->heap_count, "block").text,
		  hsnap_grouped(facts->heap_bytes).text, hsnap_share(named, (double)facts->heap_bytes).text);
}

static void say_written(const struct hsnap_snapshot *snapshot, uint64_t bytes, const struct timespec *began)
{
	struct hsnap_line line = { 0 };
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	double seconds = (double)(now.tv_sec - began->tv_sec) + (double)(now.tv_nsec - began->tv_nsec) / 1e9;
	if (!snapshot->partial_reasons.num)
		hsnap_line_add(&line, "all of it was captured");
	for (size_t i = 0; i < snapshot->partial_reasons.num; i++)
		hsnap_line_addf(&line, "%s%s", i ? ", " : "not all of it was captured: ",
				hsnap_text(snapshot, snapshot->partial_reasons.items[i]));
	hsnap_say("%s; %s written in %.2f s", hsnap_line_text(&line), size_text(bytes).text, seconds);
	hsnap_line_deinit(&line);
}

static int take(const struct hsnap_options *options)
{
	struct hsnap_error err = { 0 };
	struct hsnap_snapshot *snapshot = NULL;
	struct timespec began;
	clock_gettime(CLOCK_MONOTONIC, &began);
	int status = hsnap_live_take(options, &snapshot);
	if (status != HSNAP_GO_ON)
		return status;

	char path[PATH_MAX];
	uint64_t bytes = 0;
	enum hsnap_code code = write_snapshot(options, snapshot, path, sizeof(path), &bytes, &err);
	if (code == HSNAP_INTERRUPTED) {
		hsnap_say("interrupted: %s", strcmp(path, "-") ? "nothing was written" : "the snapshot is not whole");
		status = HSNAP_EXIT_INTERRUPTED;
	} else {
		status = code ? hsnap_report(&err, HSNAP_DOING_OTHER) : HSNAP_EXIT_DONE;
	}
	if (!code && !options->quiet) {
		say_what(snapshot);
		say_written(snapshot, bytes, &began);
	}
	if (!code && strcmp(path, "-")) {
		puts(path);
		status = hsnap_stdout_finish(status);
	}
	if (!status && snapshot->partial_reasons.num && !options->allow_partial)
		status = HSNAP_EXIT_PARTIAL;
	hsnap_snapshot_destroy(snapshot);
	return status;
}

/* Options that make no sense together, or alone; HSNAP_GO_ON or the exit status. */
static int check_together(const struct hsnap_options *options)
{
	bool still = options->freeze || options->max_pause != HSNAP_MAX_PAUSE || options->suspend_seccomp;
	bool kept = options->output || options->force || options->allow_partial;
	const struct {
		bool wrong;
		const char *hint, *why;
	} rules[] = {
		{ options->exe && !options->core, "heapsnap take --core CORE --exe FILE", "--exe is of no use without --core" },
		{ !options->pid && !options->core, "heapsnap take -p PID", "no process was named" },
		{ options->pid && options->core, "heapsnap take --core CORE", "-p and --core exclude each other" },
		{ options->dry_run && options->core, "heapsnap take --core CORE", "--dry-run is of a live process, not of a core" },
		{ still && options->core, "heapsnap take --core CORE",
		  "--freeze, --max-pause and --suspend-seccomp are of a live process, not of a core" },
		{ options->dry_run && kept, "heapsnap take -p PID --dry-run",
		  "--dry-run writes nothing: -o, --force and --allow-partial are of no use with it" },
		{ options->dry_run && options->allocator, "heapsnap take -p PID --dry-run",
		  "--dry-run looks at no heap: --allocator is of no use with it" },
		{ options->dry_run && options->types[0], "heapsnap take -p PID --dry-run",
		  "--dry-run looks at no heap: --types is of no use with it" },
		{ options->json && !options->dry_run, "heapsnap take -p PID --dry-run --json", "--json is of --dry-run" },
	};
	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++)
		if (rules[i].wrong)
			return hsnap_wrong_use(rules[i].hint, "take: %s", rules[i].why);
	return HSNAP_GO_ON;
}

int hsnap_cmd_take(int argc, char **argv)
{
	struct hsnap_options options;
	int status = hsnap_options_parse(argc, argv, &options);
	if (status != HSNAP_GO_ON)
		return status;
	status = check_together(&options);
	if (status != HSNAP_GO_ON)
		return status;
	if (options.dry_run)
		return hsnap_dry_run(&options);
	status = check_output(&options);
	if (status != HSNAP_GO_ON)
		return status;
	return take(&options);
}
