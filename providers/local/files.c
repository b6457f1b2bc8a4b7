/* files.c - files in and out, opened inside the sandbox, never here. */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/local/local.h"

static enum file_error file_error_of(int number)
{
	switch (number) {
	case 0:
		return FILE_OK;
	case ENOENT:
		return FILE_NOT_FOUND;
	case EACCES:
	case EPERM:
	case EROFS:
		return FILE_PERMISSION_DENIED;
	case EISDIR:
		return FILE_IS_DIRECTORY;
	case ENOTDIR:
	case ENAMETOOLONG:
	case ELOOP:
		return FILE_INVALID_PATH;
	default:
		return FILE_OTHER;
	}
}

static void say(struct transfer *t, enum file_error code, const char *detail)
{
	t->error = code;
	snprintf(t->detail, sizeof(t->detail), "%.*s",
		 (int)sizeof(t->detail) - 1, detail);
}

static void take_errno(struct transfer *t, int number)
{
	struct error text = { 0 };

	errno = number;
	error_errno(&text, "%s",
		    number == EINVAL ? "not a regular file"
				     : "the sandbox says");
	say(t, file_error_of(number), text.message);
}

static bool path_ok(struct transfer *t)
{
	if (t->path && t->path[0] == '/')
		return true;
	say(t, FILE_INVALID_PATH, "the path is not absolute");
	return false;
}

static int start(struct sandbox *sb, const struct transfer *t, uint32_t kind,
		 const struct stop *stop, struct error *err)
{
	struct local_job job = {
		.head = { .kind = kind,
			  .mode = (uint32_t)t->mode,
			  .size = (uint64_t)t->size },
		.strings = { t->path, strlen(t->path) + 1 },
		.fds = { -1, -1, -1 },
	};

	return local_job_start(sb, &job, stop, err);
}

/* The reply after everything went over; false: the transport broke. */
static bool finish(struct transfer *t, int control, const struct stop *stop,
		   struct error *err)
{
	struct jail_reply reply;
	int got = local_receive(control, &reply, sizeof(reply), stop, err);

	if (got < 0)
		return false;
	if (got == 0) {
		error_set(err, ERR_GONE, "the sandbox ended the transfer");
		return false;
	}
	if (reply.kind == REPLY_DONE)
		t->error = FILE_OK;
	else
		take_errno(t, reply.kind == REPLY_ERRNO ? reply.value : EPROTO);
	return true;
}

/* 1 to go on, 0 when the other side has something to say, -1. */
static int send_some(int fd, struct str *data, const struct stop *stop,
		     struct error *err)
{
	struct pollfd set[2] = { { .fd = fd, .events = POLLOUT | POLLIN },
				 { .fd = stop_fd(stop), .events = POLLIN } };
	ssize_t n;

	if (poll(set, 2, stop_poll_ms(stop, -1)) < 0 && errno != EINTR)
		return error_errno(err, "speaking to the sandbox");
	if (stop_check(stop, err) < 0)
		return -1;
	if (set[0].revents & (POLLIN | POLLERR | POLLHUP))
		return 0;
	n = send(fd, data->ptr, data->len, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	*data = str_skip(*data, (size_t)n);
	return 1;
}

/* False when err ends it; a source that gives up is the file's own error. */
static bool send_file(struct transfer *t, int control, const struct stop *stop,
		      struct error *err)
{
	char *room = xcalloc(1, JAIL_DATA_MAX);
	int64_t left = t->size;
	int more = 1;

	while (left > 0 && more > 0) {
		size_t want =
			left < JAIL_DATA_MAX ? (size_t)left : JAIL_DATA_MAX;
		struct error why = { 0 };
		int64_t n = t->read(t->arg, room, want, &why);
		struct str data = { room, n > 0 ? (size_t)n : 0 };

		if (n <= 0 || (size_t)n > want) {
			shutdown(control, SHUT_WR); /* it cleans up */
			(void)finish(t, control, stop, err);
			say(t, FILE_OTHER,
			    n < 0 ? why.message
				  : "the file became shorter meanwhile");
			break;
		}
		left -= n;
		while (data.len && more > 0)
			more = send_some(control, &data, stop, err);
	}
	free(room);
	return more >= 0;
}

int local_upload(struct sandbox *sb, struct transfer *files, size_t n,
		 const struct stop *stop, struct error *err)
{
	for (size_t i = 0; i < n; i++) {
		struct transfer *t = &files[i];
		int control;
		bool ok;

		say(t, FILE_OK, "");
		if (!path_ok(t))
			continue;
		if (t->path[strlen(t->path) - 1] == '/') {
			say(t, FILE_IS_DIRECTORY, "");
			continue;
		}
		control = start(sb, t, JOB_UPLOAD, stop, err);
		if (control < 0)
			return -1;
		ok = send_file(t, control, stop, err) &&
		     (t->error || finish(t, control, stop, err));
		close(control);
		if (!ok)
			return -1;
	}
	return 0;
}

/* One REPLY_DATA's bytes to the sink; 0 when it refuses. */
static int take_data(struct transfer *t, int control, char *room, int32_t len,
		     const struct stop *stop, struct error *err)
{
	struct error why = { 0 };
	int got;

	if (len <= 0 || len > JAIL_DATA_MAX)
		return error_set(err, ERR_PROTOCOL,
				 "the sandbox sent an impossible length");
	got = local_receive(control, room, (size_t)len, stop, err);
	if (got == 0)
		return error_set(err, ERR_GONE,
				 "the sandbox ended the transfer");
	if (got < 0)
		return -1;
	if (t->write(t->arg, (struct str){ room, (size_t)len }, &why) == 0)
		return 1;
	say(t, FILE_OTHER, why.message);
	return 0;
}

static int receive_file(struct transfer *t, int control,
			const struct stop *stop, struct error *err)
{
	char *room = xcalloc(1, JAIL_DATA_MAX);
	int more = 1;

	while (more > 0) {
		struct jail_reply r;
		int got = local_receive(control, &r, sizeof(r), stop, err);

		if (got == 0)
			error_set(err, ERR_GONE,
				  "the sandbox ended the transfer");
		if (got <= 0) {
			more = -1;
		} else if (r.kind == REPLY_DATA) {
			more = take_data(t, control, room, r.value, stop, err);
		} else {
			if (r.kind != REPLY_DONE)
				take_errno(t, r.kind == REPLY_ERRNO ? r.value
								    : EPROTO);
			more = 0;
		}
	}
	free(room);
	return more;
}

int local_download(struct sandbox *sb, struct transfer *files, size_t n,
		   const struct stop *stop, struct error *err)
{
	for (size_t i = 0; i < n; i++) {
		struct transfer *t = &files[i];
		int control;
		int rc;

		say(t, FILE_OK, "");
		if (!path_ok(t))
			continue;
		control = start(sb, t, JOB_DOWNLOAD, stop, err);
		if (control < 0)
			return -1;
		rc = receive_file(t, control, stop, err);
		close(control);
		if (rc < 0)
			return -1;
	}
	return 0;
}
