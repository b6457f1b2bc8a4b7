/* process.c - telling a living dcode from one whose pid was used again. */
/* SPDX-License-Identifier: MIT */
#include "session/process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/str.h"

enum { STARTED_FIELD = 22 };

/* The first line of a small file without its end, or "-". */
static void first_line(const char *path, char *out, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = -1;

	if (fd >= 0) {
		n = io_read(fd, out, size - 1);
		close(fd);
	}
	out[n > 0 ? n : 0] = '\0';
	out[strcspn(out, " \n")] = '\0';
	if (!out[0])
		snprintf(out, size, "-");
}

/* 0 when there is no such process, or only its exit status, which a parent
 * that does not ask for it may leave there for ever. */
static int64_t started(int64_t pid)
{
	char path[64];
	char text[1024];
	struct str rest;
	struct str field;
	const char *after;
	int64_t value = 0;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%" PRId64 "/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = io_read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	after = strrchr(text, ')'); /* ends field 2, which may hold blanks */
	if (!after || after[1] != ' ' || strchr("ZX", after[2]))
		return 0;
	rest = str_of(after + 2);
	for (int i = 3; i <= STARTED_FIELD; i++)
		if (!str_split(&rest, ' ', &field))
			return 0;
	return str_to_int(field, &value) ? value : 0;
}

void process_self(struct process *p)
{
	char boot[48];
	char machine[48];
	char space[48];
	ssize_t n = readlink("/proc/self/ns/pid", space, sizeof(space) - 1);

	space[n > 0 ? n : 0] = '\0';
	first_line("/proc/sys/kernel/random/boot_id", boot, sizeof(boot));
	first_line("/etc/machine-id", machine, sizeof(machine));
	p->pid = getpid();
	p->started = started(p->pid);
	snprintf(p->place, sizeof(p->place), "%s %s %s", boot,
		 n > 0 ? space : "-", machine);
}

bool process_lives(const struct process *p, const struct process *self)
{
	struct str theirs = str_of(p->place);
	struct str ours = str_of(self->place);
	bool same[3] = { false }; /* boot, PID namespace, machine */

	for (int i = 0; i < 3; i++) {
		struct str a = { 0 };
		struct str b = { 0 };

		str_split(&theirs, ' ', &a);
		str_split(&ours, ' ', &b);
		same[i] = str_eq(a, b);
	}
	if (!same[0])
		return !same[2];
	if (!same[1])
		return true;
	if (kill((pid_t)p->pid, 0) < 0 && errno == ESRCH)
		return false;
	return started(p->pid) == p->started;
}
