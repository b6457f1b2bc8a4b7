/* durable.c - many files put on the disk with one wait. */
/* SPDX-License-Identifier: MIT */
#include "base/durable.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Types of statfs(2) where syncfs() does what fsync() of each file does.
 * Servers' and FUSE's may not hear of it. */
static const unsigned long local_types[] = {
	0xef53,     /* ext2 to ext4 */
	0x58465342, /* XFS */
	0x9123683e, /* btrfs */
	0xf2f52010, /* F2FS */
	0x2fc12fc1, /* ZFS */
	0xca451a4e, /* bcachefs */
	0x01021994, /* tmpfs */
	0x794c7630, /* overlayfs */
};

static bool is_local(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return false;
	for (size_t i = 0; i < sizeof(local_types) / sizeof(*local_types); i++)
		if ((unsigned long)fs.f_type == local_types[i])
			return true;
	return false;
}

/* Before Linux 5.8 syncfs() says nothing of what could not be written. */
static bool reports_errors(void)
{
	struct utsname u;
	int major = 0;
	int minor = 0;

	return uname(&u) == 0 &&
	       sscanf(u.release, "%d.%d", &major, &minor) == 2 &&
	       (major > 5 || (major == 5 && minor >= 8));
}

int durable_filesystem(int fd)
{
	if (!is_local(fd) || !reports_errors())
		return 0;
	if (syncfs(fd) == 0)
		return 1;
	return errno == ENOSYS || errno == EINVAL ? 0 : -1;
}
