// SPDX-License-Identifier: GPL-2.0
/*
 * The machine's file system. Programs see the host machine's files through
 * hostfs, under an overlay in memory: they may write anywhere, and nothing of
 * it reaches the host machine.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "init.h"

static void mount_or_fail(const char *type, const char *target,
			  unsigned long flags, const char *options)
{
	if (mount(type, target, type, flags, options) < 0)
		fail("init cannot mount %s at %s: %s", type, target,
		     strerror(errno));
}

static void folder(const char *path)
{
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		fail("init cannot make the folder %s: %s", path,
		     strerror(errno));
}

void kernel_mounts(void)
{
	static const char *const mounts[][2] = {
		{ "proc", "/proc" },
		{ "sysfs", "/sys" },
		{ "devtmpfs", "/dev" },
		{ "tmpfs", "/run" },
	};

	for (size_t i = 0; i < sizeof(mounts) / sizeof(*mounts); i++) {
		folder(mounts[i][1]);
		mount_or_fail(mounts[i][0], mounts[i][1], 0, NULL);
	}
}

static void move_mount_or_fail(const char *from, const char *to)
{
	if (mount(from, to, NULL, MS_MOVE, NULL) < 0)
		fail("init cannot move the mount of %s to %s: %s", from, to,
		     strerror(errno));
}

/* Names of hosts resolve by this file alone: there is no name server. */
static void write_names(const struct plan *plan)
{
	FILE *file;

	unlink("/etc/hosts");
	file = fopen("/etc/hosts", "we");
	if (!file)
		fail("init cannot write /etc/hosts: %s", strerror(errno));
	fprintf(file, "127.0.0.1\tlocalhost\n");
	for (size_t i = 0; i < plan->host_count; i++)
		fprintf(file, "%s\t%s\n", inet_ntoa(plan->hosts[i].address),
			plan->hosts[i].name);
	if (fclose(file))
		fail("init cannot write /etc/hosts: %s", strerror(errno));
	unlink("/etc/resolv.conf");
	close(open("/etc/resolv.conf", O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
}

/*
 * Where the C library looks names up. The host machine may ask services first
 * that do not run here, and take their silence for an answer.
 */
static void write_name_service(void)
{
	static const char path[] = "/etc/nsswitch.conf";
	FILE *from = fopen(path, "re"), *to;
	char *kept = NULL, *line = NULL;
	size_t size = 0, room = 0;

	to = open_memstream(&kept, &size);
	while (to && from && getline(&line, &room, from) >= 0)
		if (strncmp(line, "hosts:", 6))
			fputs(line, to);
	if (!to || fprintf(to, "\nhosts: files\n") < 0 || fclose(to))
		fail("init has no memory for %s", path);
	if (from)
		fclose(from);
	unlink(path);
	to = fopen(path, "we");
	if (!to || fwrite(kept, 1, size, to) != size || fclose(to))
		fail("init cannot write %s: %s", path, strerror(errno));
	free(line);
	free(kept);
}

/* Replaces the initial file system by the host machine's. */
void root_mount(const struct plan *plan)
{
	static const char *const kept[] = { "/proc", "/sys", "/dev", "/run" };
	char target[32];

	folder("/lower");
	folder("/memory");
	folder("/root");
	mount_or_fail("hostfs", "/lower", MS_RDONLY, "/");
	mount_or_fail("tmpfs", "/memory", 0, "mode=0755");
	folder("/memory/upper");
	folder("/memory/work");
	mount_or_fail("overlay", "/root", 0,
		      "lowerdir=/lower,upperdir=/memory/upper,workdir=/memory/work");
	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++) {
		snprintf(target, sizeof(target), "/root%s", kept[i]);
		folder(target);
		move_mount_or_fail(kept[i], target);
	}
	if (chdir("/root") < 0)
		fail("init cannot enter /root: %s", strerror(errno));
	move_mount_or_fail(".", "/");
	if (chroot(".") < 0 || chdir("/") < 0)
		fail("init cannot change its root: %s", strerror(errno));

	folder("/dev/pts");
	mount_or_fail("devpts", "/dev/pts", 0, "mode=0620,ptmxmode=0666");
	folder("/dev/shm");
	mount_or_fail("tmpfs", "/dev/shm", 0, "mode=1777");
	folder("/run/lock");
	folder("/run/etalon");
	folder(HOME_FOLDER);
	folder(COMMAND_FOLDER);
	if (symlink("/proc/1/exe", COMMAND_FOLDER "/on") < 0)
		fail("init cannot make the command 'on': %s", strerror(errno));
	if (symlink("/proc/1/exe", COMMAND_FOLDER "/rsh") < 0)
		fail("init cannot make the command 'rsh': %s", strerror(errno));
	if (symlink("/proc/1/exe", COMMAND_FOLDER "/etalon") < 0)
		fail("init cannot make the command 'etalon': %s", strerror(errno));
	write_names(plan);
	write_name_service();
}

/*
 * Moves the calling process to a host: its network, its name, and a /sys that
 * shows its devices. Returns 0, or -1 with errno.
 */
int host_enter(int netns, const char *name)
{
	if (setns(netns, CLONE_NEWNET) < 0 ||
	    unshare(CLONE_NEWNS | CLONE_NEWUTS) < 0 ||
	    sethostname(name, strlen(name)) < 0)
		return -1;
	/* What a program mounts is its own affair. */
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    umount2("/sys", MNT_DETACH) < 0)
		return -1;
	return mount("sysfs", "/sys", "sysfs", 0, NULL);
}
