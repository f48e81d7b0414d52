// SPDX-License-Identifier: GPL-2.0
/*
 * The first and only system program of the emulated machine. It makes the
 * hosts, starts the experiment and its programs, waits for the end, and
 * switches the machine off. Whatever goes wrong ends the machine with a
 * sentence: nobody is there to look at one that hangs.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../driver/device.h"
#include "init.h"

static int device = -1;

static void __attribute__((noreturn)) power_off(void)
{
	int quiet;

	/* The kernel would say so on the console. */
	quiet = open("/proc/sys/kernel/printk", O_WRONLY | O_CLOEXEC);
	if (quiet >= 0 && write(quiet, "0", 1) < 0)
		close(quiet);
	reboot(RB_POWER_OFF);
	/* Only without the right to: then the end of init ends the kernel. */
	_exit(1);
}

/* Ends the run with a sentence in the log, or on the console without one. */
void fail(const char *format, ...)
{
	char sentence[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(sentence, sizeof(sentence), format, args);
	va_end(args);
	if (device < 0 || ioctl(device, ETALON_FAIL, sentence) < 0)
		dprintf(STDERR_FILENO, "etalon: %s\n", sentence);
	power_off();
}

int device_open(void)
{
	int fd = open("/dev/etalon", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		fail("init cannot open /dev/etalon: %s", strerror(errno));
	return fd;
}

/* Writes a file of /proc or /sys; these take a value in one write. */
void write_file(const char *path, const char *value)
{
	size_t length = strlen(value);
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		fail("init cannot open %s to write %s: %s", path, value,
		     strerror(errno));
	if (write(fd, value, length) != (ssize_t)length)
		fail("the kernel does not take %s for %s: %s", value, path,
		     strerror(errno));
	close(fd);
}

/* A file is kept open for each host's namespace. */
static void raise_open_files(size_t hosts)
{
	struct rlimit limit = { hosts + 64, hosts + 64 };

	if (limit.rlim_cur < 1024)
		return;
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		fail("init cannot have %zu hosts' namespaces open: %s", hosts,
		     strerror(errno));
}

int main(int argc, char **argv)
{
	struct plan plan = { 0 };
	const char *name = strrchr(argv[0], '/');

	name = name ? name + 1 : argv[0];
	if (!strcmp(name, "on"))
		return on_main(argc, argv);
	if (!strcmp(name, "rsh"))
		return rsh_main(argc, argv);
	if (!strcmp(name, "etalon"))
		return etalon_main(argc, argv);

	kernel_mounts();
	device = device_open();
	plan_read(&plan, device);
	raise_open_files(plan.host_count);
	for (size_t i = 0; i < plan.global_count; i++)
		write_file(plan.globals[i].key, plan.globals[i].value);
	hosts_create(&plan, device);
	if (plan.program_count)
		root_mount(&plan);

	if (ioctl(device, ETALON_START) < 0)
		fail("the experiment does not start: %s", strerror(errno));
	programs_start(&plan, device);
	programs_watch(&plan, device);
	programs_stop(&plan, device);
	if (ioctl(device, ETALON_FINISH) < 0)
		fail("the experiment's record has no end: %s", strerror(errno));
	power_off();
}
