/* SPDX-License-Identifier: MIT */
/* live.c - capture a process while the user watches, and let it go when the user has had enough. */
#include "cli/live.h"

#include <inttypes.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "cli/report.h"

#define QUIET_NS 500000000u /* before progress is shown */

static volatile int interrupted;

/* The first one lets the target go; a second one ends us as it would anybody. */
static void on_signal(int signal)
{
	(void)signal;
	interrupted = 1;
}

static void catch_signals(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND };
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		struct sigaction before;
		/* What nohup has switched off stays so. */
		if (!sigaction(signals[i], NULL, &before) && before.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
	}
}

struct progress {
	struct timespec began;
	bool shown;
};

static void show_progress(void *context, const char *phase, uint64_t done, uint64_t all)
{
	struct progress *progress = context;
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	int64_t ns = (now.tv_sec - progress->began.tv_sec) * 1000000000 + (now.tv_nsec - progress->began.tv_nsec);
	if (ns < (int64_t)QUIET_NS)
		return;
	progress->shown = true;
	if (all)
		fprintf(stderr, "\r\033[K%s: %.0f %%", phase, 100.0 * (double)done / (double)all);
	else
		fprintf(stderr, "\r\033[K%s ...", phase);
}

static void clear_progress(const struct progress *progress)
{
	if (progress->shown)
		fputs("\r\033[K", stderr);
}

static struct hsnap_take_options ask_for(const struct hsnap_options *options)
{
	return (struct hsnap_take_options){
		.pid = (pid_t)options->pid, .core = options->core, .exe = options->exe,
		.from = (enum hsnap_heap_from)options->allocator, .freeze = (enum hsnap_freeze_mode)options->freeze,
		.max_pause_ns = (options->max_pause < UINT64_MAX / 1000000 ? options->max_pause : 0) * 1000000,
		.scratch = options->scratch, .suspend_seccomp = options->suspend_seccomp, .interrupted = &interrupted,
	};
}

int hsnap_live_forecast(const struct hsnap_options *options, struct hsnap_forecast *ret)
{
	struct hsnap_error err = { 0 };
	struct hsnap_take_options how = ask_for(options);
	enum hsnap_code code = hsnap_capture_forecast(&how, ret, &err);
	return code ? hsnap_report(&err, HSNAP_DOING_CAPTURE) : HSNAP_GO_ON;
}

int hsnap_live_take(const struct hsnap_options *options, struct hsnap_snapshot **ret)
{
	struct progress progress = { 0 };
	struct hsnap_error err = { 0 };
	struct hsnap_take_options how = ask_for(options);
	struct hsnap_rules *rules = NULL;
	if (options->types[0]) {
		size_t num = 0;
		while (options->types[num])
			num++;
		if (hsnap_types_load(options->types, num, &rules, &err))
			return hsnap_report(&err, HSNAP_DOING_OTHER) == HSNAP_EXIT_DONE ? HSNAP_EXIT_DONE : HSNAP_EXIT_USAGE;
	}
	how.rules = rules;
	how.progress = isatty(STDERR_FILENO) && !options->quiet ? show_progress : NULL;
	how.progress_context = &progress;
	catch_signals();
	clock_gettime(CLOCK_MONOTONIC, &progress.began);
	hsnap_snapshot_interrupt_by(&interrupted); /* what was captured is written while it may still be so */
	enum hsnap_code code = hsnap_capture_take(&how, ret, &err);
	clear_progress(&progress);
	hsnap_types_destroy(rules);
	if (code == HSNAP_INTERRUPTED) {
		if (options->core)
			hsnap_say("interrupted: nothing was written");
		else
			hsnap_say("interrupted: pid %" PRIu64 " runs on, nothing was written", options->pid);
		return HSNAP_EXIT_INTERRUPTED;
	}
	return code ? hsnap_report(&err, HSNAP_DOING_CAPTURE) : HSNAP_GO_ON;
}
