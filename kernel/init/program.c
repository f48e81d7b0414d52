// SPDX-License-Identifier: GPL-2.0
/* Runs the plan's programs, and reports how each of them ended. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/klog.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../driver/device.h"
#include "init.h"

/* How long programs may take to finish, once asked to, on the kernel's clock. */
#define GRACE_MS	50
/* What klogctl(2) does here. */
#define READ_ALL	3

#define TERMINAL	"/dev/tty0"

static int children = -1;	/* a signalfd of SIGCHLD */

static void set_environment(const struct plan *plan)
{
	/* The kernel left what it did not know of its command line. */
	clearenv();
	setenv("PATH", COMMAND_FOLDER ":/usr/local/sbin:/usr/local/bin:"
	       "/usr/sbin:/usr/bin:/sbin:/bin", 1);
	setenv("HOME", HOME_FOLDER, 1);
	setenv("SHELL", "/bin/sh", 1);
	setenv("USER", "root", 1);
	setenv("LOGNAME", "root", 1);
	for (size_t i = 0; i < plan->environment_count; i++)
		putenv(plan->environment[i]);
}

/* The message of a program that cannot start is part of its output. */
static void __attribute__((noreturn, format(printf, 2, 3)))
give_up(int status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vdprintf(STDERR_FILENO, format, args);
	va_end(args);
	_exit(status);
}

static void connect_stream(const struct program *program, int stream)
{
	struct etalon_stream which = { program->id, stream };
	int fd = open("/dev/etalon", O_RDWR | O_CLOEXEC);

	if (fd < 0 || ioctl(fd, ETALON_STREAM, &which) < 0 ||
	    dup2(fd, stream) < 0)
		give_up(126, "etalon: program %u has no stream %d: %s\n",
			program->id, stream, strerror(errno));
}

static void connect_terminal(void)
{
	int fd = open(TERMINAL, O_RDWR | O_CLOEXEC);

	if (fd < 0 || ioctl(fd, TIOCSCTTY, 0) < 0)
		give_up(126, "etalon: the shell has no terminal (%s): %s\n",
			TERMINAL, strerror(errno));
	for (int stream = 0; stream < 3; stream++)
		dup2(fd, stream);
}

static void connect_streams(const struct plan *plan,
			    const struct program *program)
{
	int null;

	if (plan->mode == ETALON_MODE_SHELL && program->id == 0) {
		connect_terminal();
		return;
	}
	connect_stream(program, STDERR_FILENO);
	connect_stream(program, STDOUT_FILENO);
	/* The command of `etalon exec` has the standard input of who gave it. */
	if (plan->mode == ETALON_MODE_EXEC && program->id == 0) {
		connect_stream(program, STDIN_FILENO);
		return;
	}
	null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	dup2(null, STDIN_FILENO);
}

static void __attribute__((noreturn))
run(const struct plan *plan, const struct program *program, uint64_t start)
{
	const struct timespec when = {
		.tv_sec = start / 1000000000,
		.tv_nsec = start % 1000000000,
	};
	const struct host *host = program->host;
	sigset_t none;

	setsid();
	connect_streams(plan, program);
	if (host_enter(host->netns, host->name) < 0)
		give_up(126, "etalon: program %u cannot enter host %s: %s\n",
			program->id, host->name, strerror(errno));
	if ((!plan->cwd || chdir(plan->cwd) < 0) && chdir("/") < 0)
		give_up(126, "etalon: host %s cannot enter /: %s\n", host->name,
			strerror(errno));
	for (char **variable = program->environment; *variable; variable++)
		putenv(*variable);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL))
		;
	execvp(program->argv[0], program->argv);
	if (errno == ENOENT)
		give_up(127, "etalon: host %s cannot run '%s': there is no such program on this machine\n",
			host->name, program->argv[0]);
	give_up(126, "etalon: host %s cannot run '%s': %s\n", host->name,
		program->argv[0], strerror(errno));
}

/* Each program waits for its start by itself, with everything prepared. */
void programs_start(struct plan *plan, int device)
{
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	children = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	if (children < 0)
		fail("init cannot watch its programs: %s", strerror(errno));
	set_environment(plan);
	if (plan->mode == ETALON_MODE_SHELL && ioctl(device, ETALON_PACE) < 0)
		fail("the kernel cannot keep to the wall clock: %s",
		     strerror(errno));
	for (size_t i = 0; i < plan->program_count; i++) {
		struct program *program = &plan->programs[i];
		uint64_t start = program->start;

		if (ioctl(device, ETALON_CLOCK, &start) < 0)
			fail("program %u has no time to start at: %s",
			     program->id, strerror(errno));
		program->pid = fork();
		if (program->pid < 0)
			fail("program %u cannot be started: %s", program->id,
			     strerror(errno));
		if (!program->pid)
			run(plan, program, start);
	}
}

static void report(int device, struct program *program, int status)
{
	struct etalon_exit exited = { program->id, status };

	program->pid = 0;
	if (ioctl(device, ETALON_EXITED, &exited) < 0)
		fail("the end of program %u cannot be reported: %s",
		     program->id, strerror(errno));
}

/* Did the kernel kill a process because memory ran out? */
static int memory_ran_out(void)
{
	char line[128];
	int killed = 0;
	FILE *file = fopen("/proc/vmstat", "re");

	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "oom_kill %d", &killed) == 1)
			break;
	fclose(file);
	return killed > 0;
}

/* Did the host refuse to map what a process uses? The kernel kills such a process with SIGSEGV. */
static int mappings_ran_out(void)
{
	static char log[1 << 16];
	int length = klogctl(READ_ALL, log, sizeof(log) - 1);

	if (length < 0)
		return 0;
	log[length] = '\0';
	return strstr(log, "fix_range_common: failed") != NULL;
}

/* Ends the run where a program was killed for what the machine lacks. */
static void explain(int signal)
{
	if (signal == SIGKILL && memory_ran_out())
		fail("The emulated machine ran out of memory, and a program was killed.");
	if (signal == SIGSEGV && mappings_ran_out())
		fail("A program uses more pages than this computer maps for one process, and was killed; sysctl -w vm.max_map_count=1048576 allows more.");
}

/* Takes the ended children; `stopped`: their end is the experiment's doing. */
static void reap(struct plan *plan, int device, int stopped)
{
	struct signalfd_siginfo info;
	int status;
	pid_t pid;

	while (read(children, &info, sizeof(info)) > 0)
		;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (!stopped && WIFSIGNALED(status))
			explain(WTERMSIG(status));
		for (size_t i = 0; i < plan->program_count; i++)
			if (plan->programs[i].pid == pid)
				report(device, &plan->programs[i],
				       stopped ? SIGKILL : status);
	}
}

/* Waits for the end: the plan's, or that of program 0 where it decides. */
void programs_watch(struct plan *plan, int device)
{
	struct pollfd events[] = {
		{ .fd = children, .events = POLLIN },
		{ .fd = device },
	};

	while (poll(events, 2, -1) >= 0 || errno == EINTR) {
		reap(plan, device, 0);
		if (events[1].revents)
			return;
		if (plan->mode != ETALON_MODE_RUN && !plan->programs[0].pid)
			return;
	}
	fail("init cannot wait for the end: %s", strerror(errno));
}

static int running(const struct plan *plan)
{
	for (size_t i = 0; i < plan->program_count; i++)
		if (plan->programs[i].pid)
			return 1;
	return 0;
}

/*
 * Ends the programs that still run. They may write their last lines first,
 * but are reported as killed: what they say is cut off by the plan.
 */
void programs_stop(struct plan *plan, int device)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGKILL };
	struct pollfd child = { .fd = children, .events = POLLIN };

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		kill(-1, signals[i]);
		while (running(plan) && poll(&child, 1, GRACE_MS) > 0)
			reap(plan, device, 1);
	}
	if (running(plan))
		fail("a program does not end when it is killed");
}
