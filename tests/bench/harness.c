/* harness.c - runs one client against canned model answers and times it. */
/* SPDX-License-Identifier: MIT */
/*
 * harness SCENARIO -- PROGRAM ARG...
 *
 *   text               one short answer
 *   tools N K CMD      N answers with K calls of execute CMD each, then text
 *   stream N BATCH     an answer of N tokens, BATCH events in one write
 *   refuse             HTTP 400, for wires that no answer is written for
 *
 * The client finds the server by OPENAI_BASE_URL, ANTHROPIC_BASE_URL and the
 * like: the path of a request tells the wire. Times are CLOCK_MONOTONIC ns, CPU
 * is the client's own, all threads, without its children. Prints one JSON
 * object.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/bench/answer.h"

enum {
	MAX_CONNS = 16,
	MAX_HEAD = 64 << 10,  /* bytes of a request's headers */
	MAX_BODY = 256 << 20, /* bytes */
	MAX_REQUESTS = 20000,
	RUN_MS = 300 * 1000, /* a client that takes longer is killed */
};

struct mark {             /* one request */
	int64_t arrived;  /* ns, its first byte */
	int64_t cpu;      /* ns of the client, once the body was here */
	int64_t answered; /* ns, before the last write of the answer */
	size_t body;      /* bytes */
};
struct conn {
	int fd;
	char head[MAX_HEAD + 1];
	size_t head_len;
	bool in_body;
	size_t left; /* bytes of the body still to come */
	struct mark mark;
	enum wire wire;
};
struct harness {
	const char *scenario;
	long turns;
	long per_turn;
	const char *command;
	long tokens;
	long batch;
	bool refuses;
	struct answer last[2]; /* the final one, by wire */
	int listener;
	struct conn *conns[MAX_CONNS];
	int connections; /* ever accepted */
	int expects;     /* requests that waited for 100 Continue */
	struct mark *marks;
	size_t n_marks;
	pid_t client;
	clockid_t client_clock;
	long pss_kib; /* before the last answer */
};

static void die(const char *what)
{
	fprintf(stderr, "harness: %s: %s\n", what, strerror(errno));
	exit(2);
}

static int64_t clock_ns(clockid_t id)
{
	struct timespec t;

	if (clock_gettime(id, &t))
		return 0;
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int listen_any(int *port)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, len) || listen(fd, 16) ||
	    getsockname(fd, (struct sockaddr *)&at, &len))
		die("listen");
	*port = ntohs(at.sin_port);
	return fd;
}

static void write_all(int fd, const char *bytes, size_t len)
{
	while (len) {
		ssize_t n = write(fd, bytes, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return; /* the client left: its status will tell */
		bytes += n;
		len -= (size_t)n;
	}
}

/* PSS of the client alone, KiB; -1 if unknown. */
static long pss(pid_t pid)
{
	char path[64];
	char line[256];
	long kib = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Pss: %ld kB", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib;
}

static void refuse(struct harness *h, struct conn *c)
{
	static const char answer[] =
		"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\n"
		"content-length: 35\r\n\r\n{\"error\":{\"message\":\"a "
		"benchmark\"}}";

	h->pss_kib = pss(h->client);
	c->mark.answered = clock_ns(CLOCK_MONOTONIC);
	write_all(c->fd, answer, sizeof(answer) - 1);
	if (h->n_marks < MAX_REQUESTS)
		h->marks[h->n_marks++] = c->mark;
}

static void respond(struct harness *h, struct conn *c)
{
	bool last = (long)h->n_marks >= h->turns;
	struct answer work = { 0 };
	const struct answer *a = last ? &h->last[c->wire] : &work;
	size_t from = 0;

	c->mark.cpu = clock_ns(h->client_clock);
	if (last)
		h->pss_kib = pss(h->client);
	else
		answer_calls(&work, c->wire, h->per_turn, h->command,
			     (long)h->n_marks * h->per_turn);
	for (size_t i = 0; i < a->n_ends;) {
		i += (size_t)h->batch;
		if (i >= a->n_ends) {
			i = a->n_ends;
			c->mark.answered = clock_ns(CLOCK_MONOTONIC);
		}
		write_all(c->fd, a->bytes + from, a->ends[i - 1] - from);
		from = a->ends[i - 1];
	}
	answer_release(&work);
	if (h->n_marks < MAX_REQUESTS)
		h->marks[h->n_marks++] = c->mark;
}

/* After more of the headers came: starts the body once they are complete. */
static void head_read(struct harness *h, struct conn *c)
{
	static const char not_found[] =
		"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n";
	char *end;
	char *field;

	c->head[c->head_len] = '\0';
	end = strstr(c->head, "\r\n\r\n");
	if (!end)
		return;
	end += 4;
	if (!strncmp(c->head, "GET ", 4)) { /* for the model's window */
		write_all(c->fd, not_found, sizeof(not_found) - 1);
		c->head_len = 0;
		return;
	}
	field = strcasestr(c->head, "\ncontent-length:");
	if (!field || field > end) {
		fprintf(stderr, "harness: a request without a length\n");
		exit(2);
	}
	c->mark.body = strtoul(field + 16, NULL, 10);
	if (c->mark.body > MAX_BODY)
		exit(2);
	field = strstr(c->head, "/messages");
	c->wire = field && field < strchr(c->head, '\n') ? WIRE_ANTHROPIC
							 : WIRE_OPENAI;
	field = strcasestr(c->head, "\nexpect: 100");
	if (field && field < end) {
		h->expects++;
		write_all(c->fd, "HTTP/1.1 100 Continue\r\n\r\n", 25);
	}
	c->left = c->mark.body - (size_t)(c->head + c->head_len - end);
	c->in_body = true;
}

/* false once the connection is over. */
static bool conn_read(struct harness *h, struct conn *c)
{
	static char sink[1 << 20];
	ssize_t n;

	if (c->in_body)
		n = read(c->fd, sink,
			 c->left < sizeof(sink) ? c->left : sizeof(sink));
	else
		n = read(c->fd, c->head + c->head_len, MAX_HEAD - c->head_len);
	if (n <= 0)
		return false;
	if (c->in_body) {
		c->left -= (size_t)n;
	} else {
		if (!c->head_len)
			c->mark.arrived = clock_ns(CLOCK_MONOTONIC);
		c->head_len += (size_t)n;
		head_read(h, c);
	}
	if (c->in_body && !c->left) {
		if (h->refuses)
			refuse(h, c);
		else
			respond(h, c);
		c->in_body = false;
		c->head_len = 0;
	}
	return true;
}

static void conn_accept(struct harness *h)
{
	int one = 1;
	int fd = accept4(h->listener, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		return;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	h->connections++;
	for (int i = 0; i < MAX_CONNS; i++)
		if (!h->conns[i]) {
			h->conns[i] = calloc(1, sizeof(struct conn));
			if (!h->conns[i])
				die("calloc");
			h->conns[i]->fd = fd;
			return;
		}
	close(fd);
}

static void serve(struct harness *h, int pidfd)
{
	int64_t end = clock_ns(CLOCK_MONOTONIC) + RUN_MS * (int64_t)1000000;

	for (;;) {
		struct pollfd p[MAX_CONNS + 2];

		p[0] = (struct pollfd){ .fd = pidfd, .events = POLLIN };
		p[1] = (struct pollfd){ .fd = h->listener, .events = POLLIN };
		for (int i = 0; i < MAX_CONNS; i++)
			p[i + 2] = (struct pollfd){
				.fd = h->conns[i] ? h->conns[i]->fd : -1,
				.events = POLLIN,
			};
		if (poll(p, MAX_CONNS + 2, 1000) < 0 && errno != EINTR)
			die("poll");
		if (clock_ns(CLOCK_MONOTONIC) > end)
			kill(h->client, SIGKILL);
		for (int i = 0; i < MAX_CONNS; i++)
			if (p[i + 2].revents && !conn_read(h, h->conns[i])) {
				close(h->conns[i]->fd);
				free(h->conns[i]);
				h->conns[i] = NULL;
			}
		if (p[1].revents)
			conn_accept(h);
		if (p[0].revents)
			return;
	}
}

static pid_t spawn(char **argv, int port)
{
	char url[64];
	pid_t pid;

	snprintf(url, sizeof(url), "http://127.0.0.1:%d", port);
	setenv("ANTHROPIC_BASE_URL", url, 1);
	setenv("GOOGLE_GEMINI_BASE_URL", url, 1);
	setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", url, 1);
	snprintf(url, sizeof(url), "http://127.0.0.1:%d/v1", port);
	setenv("OPENAI_BASE_URL", url, 1);
	setenv("ANTHROPIC_API_KEY", "bench-key-bench-key", 1);
	setenv("OPENAI_API_KEY", "bench-key-bench-key", 1);
	setenv("GOOGLE_API_KEY", "bench-key-bench-key", 1);
	setenv("AWS_REGION", "us-west-2", 1);
	setenv("AWS_ACCESS_KEY_ID", "bench-key-bench-key", 1);
	setenv("AWS_SECRET_ACCESS_KEY", "bench-key-bench-key", 1);
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		dup2(null, 0);
		dup2(null, 1);
		execvp(argv[0], argv);
		die(argv[0]);
	}
	return pid;
}

static void report(const struct harness *h, int64_t start, int64_t end,
		   int status, const struct rusage *use)
{
	double cpu =
		(double)(use->ru_utime.tv_sec + use->ru_stime.tv_sec) +
		(double)(use->ru_utime.tv_usec + use->ru_stime.tv_usec) / 1e6;

	printf("{\"status\": %d, \"requests\": %zu, \"connections\": %d, "
	       "\"expects\": %d, \"wall_s\": %.6f, \"cpu_s\": %.6f, "
	       "\"pss_kib\": %ld, \"first_ms\": %.4f, \"turns\": [",
	       WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
	       h->n_marks, h->connections, h->expects,
	       (double)(end - start) / 1e9, cpu, h->pss_kib,
	       h->n_marks ? (double)(h->marks[0].arrived - start) / 1e6 : -1);
	for (size_t i = 1; i < h->n_marks; i++) {
		const struct mark *m = &h->marks[i];

		printf("%s{\"gap_ms\": %.4f, \"cpu_us\": %.1f, "
		       "\"body\": %zu}",
		       i > 1 ? ", " : "",
		       (double)(m->arrived - m[-1].answered) / 1e6,
		       (double)(m->cpu - m[-1].cpu) / 1e3, m->body);
	}
	puts("]}");
}

static void parse(struct harness *h, int argc, char **argv)
{
	h->scenario = argc > 1 ? argv[1] : "";
	h->batch = 1000;
	h->command = "true";
	if (!strcmp(h->scenario, "tools") && argc > 4) {
		h->turns = strtol(argv[2], NULL, 10);
		h->per_turn = strtol(argv[3], NULL, 10);
		h->command = argv[4];
	} else if (!strcmp(h->scenario, "stream") && argc > 3) {
		h->tokens = strtol(argv[2], NULL, 10);
		h->batch = strtol(argv[3], NULL, 10);
	} else if (!strcmp(h->scenario, "refuse")) {
		h->refuses = true;
	} else if (strcmp(h->scenario, "text")) {
		fprintf(stderr, "harness: unknown scenario; see harness.c\n");
		exit(2);
	}
}

int main(int argc, char **argv)
{
	static struct harness h;
	struct rusage use;
	int64_t start;
	int64_t end;
	int status;
	int port;
	int i = 1;

	signal(SIGPIPE, SIG_IGN);
	while (i < argc && strcmp(argv[i], "--"))
		i++;
	if (i + 1 >= argc) {
		fprintf(stderr, "harness SCENARIO -- PROGRAM ARG...\n");
		return 2;
	}
	parse(&h, i, argv);
	for (enum wire w = 0; w <= WIRE_ANTHROPIC; w++)
		answer_text(&h.last[w], w, h.tokens ? h.tokens : 1);
	h.marks = calloc(MAX_REQUESTS, sizeof(*h.marks));
	if (!h.marks)
		die("calloc");
	h.listener = listen_any(&port);
	start = clock_ns(CLOCK_MONOTONIC);
	h.client = spawn(argv + i + 1, port);
	if (clock_getcpuclockid(h.client, &h.client_clock))
		die("clock_getcpuclockid");
	serve(&h, pidfd_open(h.client, 0));
	end = clock_ns(CLOCK_MONOTONIC);
	if (wait4(h.client, &status, 0, &use) < 0)
		die("wait4");
	report(&h, start, end, status, &use);
	return 0;
}
