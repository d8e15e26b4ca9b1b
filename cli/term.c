/* SPDX-License-Identifier: MIT */
/* term.c - stdout as it is: a terminal or not, its width, colour, the pager, and failed writes. */
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/emit.h"
#include "cli/report.h"

static const struct hsnap_symbols utf8_symbols = { "→", "?→", "←", "×", "–", "…", "Δ" };
static const struct hsnap_symbols ascii_symbols = { "->", "?->", "<-", "x", "-", "...", "d" };

/* Of "en_US.UTF-8@euro" the "UTF-8", with its length; NULL: the locale's name says nothing of it. */
static const char *charset_of(const char *locale, size_t *len)
{
	const char *dot = strchr(locale, '.');
	*len = dot ? strcspn(dot + 1, "@") : 0;
	return *len ? dot + 1 : NULL;
}

/* By its name first: containers, and whoever uses the single file, have no files of locales. */
enum hsnap_charset hsnap_locale_charset(void)
{
	static const char *const variables[] = { "LC_ALL", "LC_CTYPE", "LANG" };
	const char *value = NULL;
	for (size_t i = 0; i < 3 && !(value && *value); i++)
		value = getenv(variables[i]);
	size_t len = 0;
	const char *charset = value ? charset_of(value, &len) : NULL;
	if (charset)
		return (len == 5 && !strncasecmp(charset, "utf-8", len)) || (len == 4 && !strncasecmp(charset, "utf8", len))
		       ? HSNAP_TEXT_UTF8 : HSNAP_TEXT_ASCII;
	setlocale(LC_CTYPE, "");
	return strcmp(nl_langinfo(CODESET), "UTF-8") ? HSNAP_TEXT_ASCII : HSNAP_TEXT_UTF8;
}

static size_t terminal_width(void)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	if (columns && atoi(columns) > 0)
		return (size_t)atoi(columns);
	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col)
		return size.ws_col;
	return 80;
}

static bool wants_color(const struct hsnap_options *options)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
	return !options->no_color && !(no_color && *no_color) && term && *term && strcmp(term, "dumb") != 0;
}

/* The pager's command line; NULL: none is wanted. */
static const char *pager_command(const struct hsnap_options *options)
{
	const char *command = getenv("HEAPSNAP_PAGER");
	if (!command)
		command = getenv("PAGER");
	if (!command)
		command = "less";
	return options->no_pager || !*command || !strcmp(command, "cat") ? NULL : command;
}

static void run_pager(const char *command, int input, int failed)
{
	dup2(input, STDIN_FILENO);
	setenv("LESS", "FRX", 0);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	/* A single word needs no shell, and a missing program is noticed. */
	if (!strpbrk(command, " \t\"'\\$|&;<>*?()"))
		execlp(command, command, (char *)NULL);
	else
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	ssize_t ignored = write(failed, "x", 1);
	(void)ignored;
	_exit(127);
}

/* Put the pager behind stdout.  Where it cannot start, stdout stays as it is. */
static pid_t start_pager(const char *command)
{
	int data[2], status[2];
	if (pipe2(data, O_CLOEXEC))
		return 0;
	if (pipe2(status, O_CLOEXEC)) {
		close(data[0]);
		close(data[1]);
		return 0;
	}
	pid_t pid = fork();
	if (!pid)
		run_pager(command, data[0], status[1]);
	close(data[0]);
	close(status[1]);
	char byte;
	ssize_t got;
	do
		got = read(status[0], &byte, 1); /* end of file: exec closed it */
	while (got < 0 && errno == EINTR);
	close(status[0]);
	if (pid > 0 && got == 0)
		dup2(data[1], STDOUT_FILENO);
	else if (pid > 0)
		waitpid(pid, NULL, 0);
	close(data[1]);
	return pid > 0 && got == 0 ? pid : 0;
}

void hsnap_emit_open(struct hsnap_emit *emit, const struct hsnap_options *options)
{
	*emit = (struct hsnap_emit){ .options = options };
	emit->format = options->json ? HSNAP_AS_JSON : options->csv ? HSNAP_AS_CSV : HSNAP_AS_TEXT;
	emit->charset = options->ascii ? HSNAP_TEXT_ASCII : hsnap_locale_charset();
	emit->symbols = emit->charset == HSNAP_TEXT_UTF8 ? &utf8_symbols : &ascii_symbols;
	signal(SIGPIPE, SIG_IGN); /* a closed pipe is an error of write(), told apart below */
	if (emit->format != HSNAP_AS_TEXT || !isatty(STDOUT_FILENO))
		return;
	emit->color = wants_color(options);
	emit->width = options->full_names ? 0 : terminal_width();
	const char *pager = pager_command(options);
	if (pager)
		emit->pager = start_pager(pager);
}

static int write_failed(int reason)
{
	if (reason != EPIPE)
		hsnap_wrong_use(NULL, "write the output: %s", strerror(reason));
	return HSNAP_EXIT_OTHER;
}

int hsnap_stdout_finish(int status)
{
	return fflush(stdout) ? write_failed(errno) : status;
}

void hsnap_emit_flush(struct hsnap_emit *emit)
{
	for (size_t done = 0; done < emit->out.num && !emit->write_error;) {
		ssize_t got = write(STDOUT_FILENO, emit->out.text + done, emit->out.num - done);
		if (got >= 0)
			done += (size_t)got;
		else if (errno != EINTR)
			emit->write_error = errno;
	}
	hsnap_line_clear(&emit->out);
}

static void free_buffers(struct hsnap_emit *emit)
{
	hsnap_line_deinit(&emit->out);
	hsnap_line_deinit(&emit->header);
	hsnap_line_deinit(&emit->row);
	hsnap_line_deinit(&emit->cell);
	for (size_t i = 0; i < HSNAP_EMIT_DEPTH; i++)
		hsnap_line_deinit(&emit->level[i].raw);
}

void hsnap_emit_next(struct hsnap_emit *emit, const char *command)
{
	if (emit->format != HSNAP_AS_TEXT || emit->options->quiet || !isatty(STDERR_FILENO))
		return;
	hsnap_line_add(&emit->next, "next: ");
	hsnap_line_add_escaped(&emit->next, command, emit->charset);
	hsnap_line_add(&emit->next, "\n");
}

/* Ctrl-C is the pager's, and a reader who leaves early has read enough. */
static void wait_for_pager(const struct hsnap_emit *emit)
{
	signal(SIGINT, SIG_IGN);
	close(STDOUT_FILENO);
	while (waitpid(emit->pager, NULL, 0) < 0 && errno == EINTR)
		;
}

int hsnap_emit_close(struct hsnap_emit *emit, int status)
{
	bool no_memory = emit->out.failed || emit->header.failed || emit->row.failed || emit->cell.failed;
	hsnap_emit_flush(emit);
	free_buffers(emit);
	if (emit->pager)
		wait_for_pager(emit);
	else if (emit->write_error)
		status = write_failed(emit->write_error);
	if (no_memory) {
		hsnap_wrong_use(NULL, "print the answer: out of memory");
		status = HSNAP_EXIT_OTHER;
	}
	if (!emit->write_error && !no_memory)
		fputs(hsnap_line_text(&emit->next), stderr);
	hsnap_line_deinit(&emit->next);
	return status;
}
