/* SPDX-License-Identifier: GPL-2.0 */
/* The first program of the emulated machine: what its parts share. */
#ifndef ETALON_INIT_H
#define ETALON_INIT_H

#include <netinet/in.h>
#include <stdint.h>
#include <sys/types.h>

#include "../driver/core.h"

/* One emulated host: a network namespace with the device eth0. */
struct host {
	unsigned int index;
	char *name;
	struct in_addr address;
	struct in_addr control;	/* on the control network; 0 without one */
	int netns;
	const struct etalon_init_route *routes;
	size_t route_count;
};

/* One program: where and when it runs, and what became of it. */
struct program {
	unsigned int id;
	struct host *host;
	uint64_t start;		/* virtual ns */
	char **argv;
	char **environment;	/* its own: NAME=VALUE */
	pid_t pid;		/* 0: not running */
};

struct setting {
	char *key;
	char *value;
};

/* What the setup says to init. */
struct plan {
	enum etalon_mode mode;
	unsigned int mtu;
	char *cwd;
	char **environment;	/* of programs: NAME=VALUE */
	size_t environment_count;
	struct host *hosts;
	size_t host_count;
	struct program *programs;
	size_t program_count;
	struct setting *sysctls;	/* of every host's namespace */
	size_t sysctl_count;
	struct setting *globals;
	size_t global_count;
};

/* init.c */
__attribute__((noreturn, format(printf, 1, 2)))
void fail(const char *format, ...);
int device_open(void);
void write_file(const char *path, const char *value);

/* plan.c */
void plan_read(struct plan *plan, int device);

/* hosts.c */
void hosts_create(const struct plan *plan, int device);

/* root.c */
#define NETNS_FOLDER	"/run/netns"
#define COMMAND_FOLDER	"/run/etalon/bin"
#define HOME_FOLDER	"/run/etalon/home"

void kernel_mounts(void);
void root_mount(const struct plan *plan);
int host_enter(int netns, const char *name);

/* program.c */
void programs_start(struct plan *plan, int device);
void programs_watch(struct plan *plan, int device);
void programs_stop(struct plan *plan, int device);

/* on.c */
int on_main(int argc, char **argv);
int rsh_main(int argc, char **argv);

/* ask.c */
int etalon_main(int argc, char **argv);

#endif
