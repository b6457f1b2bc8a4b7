/* local_isolation_test.c - what must not get out of the local sandbox. */
/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/path.h"
#include "exec_run.h"
#include "local_sandbox.h"
#include "providers/local/jail.h"
#include "providers/local/local.h"

static void write_host(const char *name, const char *text, int mode)
{
	struct error err = { 0 };
	char *path = path_join(box_home(), name);

	assert_int_equal(path_write(path, str_of(text), (mode_t)mode, &err), 0);
	free(path);
}

static void expect_host(const char *name, const char *text)
{
	struct error err = { 0 };
	struct buf b = BUF_INIT(4096);
	char *path = path_join(box_home(), name);

	assert_int_equal(path_read(path, &b, &err), 0);
	assert_string_equal(b.ptr ? b.ptr : "", text);
	buf_release(&b);
	free(path);
}

/* A sandbox with other settings; refused tells what create says. */
static struct sandbox *
other_box(struct settings *set, enum sandbox_network network, struct error *err)
{
	static struct sandbox_client client;
	static struct sandbox sb;
	struct stop stop = stop_cleanup(30000);
	struct sandbox_spec spec = { .network = &(
					     struct network){ .mode = network },
				     .label = "dcode-other234" };

	client = (struct sandbox_client){ .provider = &local_provider,
					  .settings = set };
	sb = (struct sandbox){ .client = &client };
	if (local_provider.ops->open(&client, set, err) < 0)
		return NULL;
	if (local_provider.ops->create(&sb, &spec, &stop, err) == 0)
		return &sb;
	assert_int_equal(local_provider.ops->remove(&client, spec.label, &stop,
						    &(struct error){ 0 }),
			 0);
	free_box(&sb);
	local_provider.ops->close(&client);
	return NULL;
}

static void end_other(struct sandbox *sb)
{
	struct stop stop = stop_cleanup(30000);
	struct error err = { 0 };

	assert_int_equal(
		local_provider.ops->remove(sb->client, sb->id, &stop, &err), 0);
	free_box(sb);
	local_provider.ops->close(sb->client);
}

static void test_environment(void **state)
{
	static const char *const env[] = { "SECRET_OF_HOST=x", NULL };
	struct exec_request req = {
		.command =
			STR("cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'"
			    " | grep -c SECRET_OF_HOST")
	};
	struct ran r = run_request(*state, req, NULL, (struct seen){ 0 });

	assert_string_equal(out_of(&r), "0\n");
	ran_release(&r);
	req.env = env; /* the search would find it */
	r = run_request(*state, req, NULL, (struct seen){ 0 });
	assert_true(strtol(out_of(&r), NULL, 10) > 0);
	ran_release(&r);
	expect(*state, "tr '\\0' '\\n' </proc/1/environ | grep -vc ^PWD=", 1,
	       "0\n", "bash: line 1: /proc/1/environ: Permission denied\n");
	expect(*state,
	       "cat /proc/1/mem /proc/1/fd/3 2>/dev/null; "
	       "readlink /proc/1/exe /proc/1/fd/3 /proc/1/root",
	       1, "", "");
}

static void test_files(void **state)
{
	char command[1200];

	write_host("secret", "of the host", 0644);
	snprintf(command, sizeof(command), "cat %s/secret 2>/dev/null; echo $?",
		 box_home());
	expect(*state, command, 0, "1\n", "");
	expect(*state, "ls -A /home /root /sys /boot /var /run 2>/dev/null", 2,
	       "/home:\nuser\n\n/run:\n\n/var:\ntmp\n", "");
	expect(*state,
	       "for f in / /usr /usr/bin /etc /etc/ssl/certs /bin /lib /dev "
	       "/proc /proc/sys /var /run /home; do "
	       "(: >$f/x) 2>/dev/null && echo $f; rm -f $f/x; done; true",
	       0, "", "");
	expect(*state,
	       "for f in /workspace ~ /tmp /dev/shm /var/tmp; do "
	       "(: >$f/x) 2>/dev/null && echo $f; rm -f $f/x; done",
	       0, "/workspace\n/home/user\n/tmp\n/dev/shm\n/var/tmp\n", "");
	expect(*state,
	       "find /etc -name '*.key' -size +0 | head -1;"
	       "ls /etc/shadow /etc/ssl/private 2>/dev/null; true",
	       0, "", "");
}

/* With the host's root inside (no capabilities) only mounts protect /proc. */
static void test_kernel(void **state)
{
	expect(*state,
	       "p=/proc/sys/kernel/core_pattern; v=$(cat $p); "
	       "(echo \"$v\" >$p) 2>/dev/null && echo written; "
	       "find /proc/sys /proc/[a-z]* -maxdepth 3 -type f -writable "
	       "-not -path '/proc/self/*' -not -path '/proc/thread-self/*' "
	       "-not -path '/proc/net/*' 2>/dev/null | while read f; do "
	       "[ /dev/null -ef $f ] || echo $f; done",
	       0, "", "");
	expect(*state,
	       "grep -E '^(Cap(Eff|Prm|Bnd|Amb)|NoNewPrivs)' /proc/self/status",
	       0,
	       "CapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n"
	       "CapBnd:\t0000000000000000\nCapAmb:\t0000000000000000\n"
	       "NoNewPrivs:\t1\n",
	       "");
	expect(*state,
	       "mount -o remount,rw /usr 2>/dev/null || echo a; "
	       "unshare -U true 2>/dev/null || echo b; "
	       "unshare -Urm mount -o remount,rw /usr 2>/dev/null || echo c; "
	       "umount /proc/sys 2>/dev/null || echo d; "
	       "mknod b b 8 0 2>/dev/null || echo e; "
	       "chroot / true 2>/dev/null || echo f",
	       0, "a\nb\nc\nd\ne\nf\n", "");
}

#define TEXT(x) #x
#define NUMBER(x) TEXT(x)

/* Ordinary sockets work; those that no network namespace holds do not. */
static void test_filter(void **state)
{
	expect(*state,
	       "python3 -c 'import socket as s, ctypes as c\n"
	       "for f in s.AF_INET, s.AF_INET6, s.AF_UNIX, 40, 38, 17:\n"
	       " try: s.socket(f, s.SOCK_STREAM); print(f + 0)\n"
	       " except OSError as e: print(f, e.errno)\n"
	       "k = c.CDLL(None, use_errno=True)\n"
	       "print(k.syscall(" NUMBER(
		       __NR_keyctl) ", 0, -3, 1), c.get_errno())\n"
				    "print(k.ioctl(0, 0x5412, b\"x\"), "
				    "c.get_errno())\n"
				    "print(k.ioctl(0, 0x5413, b\"x\" * 8), "
				    "c.get_errno())'",
	       0, "2\n10\n1\n40 97\n38 97\n17 97\n-1 1\n-1 1\n-1 25\n", "");
}

static void test_network(void **state)
{
	struct settings set = box_settings;
	struct error err = { 0 };
	struct sandbox *full;
	char host[64] = "";
	struct ran r = run(*state, "readlink /proc/self/ns/net");

	assert_true(readlink("/proc/self/ns/net", host, sizeof(host) - 1) > 0);
	assert_null(strstr(out_of(&r), host));
	ran_release(&r);
	expect(*state, "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '", 0,
	       "lo\n", "");
	expect(*state,
	       "(exec 3<>/dev/tcp/192.0.2.1/80) 2>&1 | grep -om1 unreachable | "
	       "head -1",
	       0, "unreachable\n", "");
	full = other_box(&set, NETWORK_FULL, &err);
	assert_non_null(full);
	r = run(full, "readlink /proc/self/ns/net");
	assert_non_null(strstr(out_of(&r), host));
	ran_release(&r);
	end_other(full);
}

static void test_processes(void **state)
{
	char *argv[] = { "sleep", "955.7", NULL };
	struct ran r;
	pid_t pid;

	assert_int_equal(posix_spawnp(&pid, "sleep", NULL, NULL, argv, environ),
			 0);
	r = run(*state, "kill -9 -1; kill -9 1; kill -STOP 1");
	assert_int_equal(r.rc, 0);
	assert_int_equal(r.res.exit_code, 137);
	ran_release(&r);
	assert_int_equal(kill(pid, 0), 0); /* outside nothing noticed */
	assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	expect(*state, "echo alive; cut -d' ' -f7 /proc/self/stat", 0,
	       "alive\n0\n", ""); /* and there is no terminal */
	expect(*state, "(: </dev/tty) 2>/dev/null || echo none", 0, "none\n",
	       "");
}

/* The sanitizers' own memory is beyond any limit. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 };
#elif defined(__has_feature)
enum {
	SANITIZED = __has_feature(address_sanitizer) ||
		    __has_feature(thread_sanitizer)
};
#else
enum { SANITIZED = 0 };
#endif

static void test_limits(void **state)
{
	struct settings set = box_settings;
	struct error err = { 0 };
	struct sandbox *sb;
	struct ran r;

	(void)state;
	set.rows[0].key = "max_file_size";
	set.rows[0].value = "1m";
	set.rows[1].key = "memory";
	set.rows[1].value = SANITIZED ? "0" : "256m";
	set.rows[2].key = "max_processes";
	set.rows[2].value = "30";
	set.list[0] = "GREETING=hello";
	set.nlist = 1;
	sb = other_box(&set, NETWORK_DEFAULT, &err);
	assert_non_null(sb);
	expect(sb, "echo $GREETING; head -c 1048576 /dev/zero >f", 0, "hello\n",
	       "");
	r = run(sb, "head -c 1048577 /dev/zero >f");
	assert_int_not_equal(r.res.exit_code, 0);
	ran_release(&r);
	expect(sb, "head -c 100m /dev/zero | tail -c 90m | wc -c", 0,
	       "94371840\n", "");
	if (!SANITIZED)
		expect(sb,
		       "(head -c 900m /dev/zero | tail -c 800m) 2>/dev/null | "
		       "wc -c",
		       0, "0\n", "");
	if (geteuid() != 0) /* the kernel exempts root */
		expect(sb,
		       "sh -c 'for i in $(seq 60); do sleep 0.3 & done; wait' "
		       "2>&1 | grep -o 'Cannot fork'",
		       0, "Cannot fork\n", "");
	end_other(sb);
	set.rows[0].value = "many";
	assert_null(other_box(&set, NETWORK_DEFAULT, &err));
	assert_int_equal(err.code, ERR_CONFIG);
}

static void test_bind(void **state)
{
	struct settings set = box_settings;
	struct error err = { 0 };
	struct sandbox *sb;

	(void)state;
	set.rows[0].key = "workspace";
	set.rows[0].value = "bind";
	sb = other_box(&set, NETWORK_DEFAULT, &err);
	assert_non_null(sb);
	write_host("project/in", "given", 0644);
	expect(sb, "cat in; echo back >out; ls /home/user", 0, "given", "");
	expect_host("project/out", "back\n");
	end_other(sb);
	expect_host("project/out", "back\n"); /* removal spares the user's */
	snprintf(set.cwd, sizeof(set.cwd), "/");
	assert_null(other_box(&set, NETWORK_DEFAULT, &err));
	assert_int_equal(err.code, ERR_CONFIG);
	snprintf(set.cwd, sizeof(set.cwd), "%s", set.home);
	assert_null(other_box(&set, NETWORK_DEFAULT, &err));
	snprintf(set.cwd, sizeof(set.cwd), "/tmp"); /* above the home */
	assert_null(other_box(&set, NETWORK_DEFAULT, &err));
	snprintf(set.cwd, sizeof(set.cwd), "%s/sandboxes", set.dir);
	assert_null(other_box(&set, NETWORK_DEFAULT, &err));
}

/* Links that the sandbox plants lead nowhere outside. */
static void test_links(void **state)
{
	struct sandbox *sb = *state;
	struct stop stop = stop_cleanup(30000);
	struct error err = { 0 };
	struct transfer t = { .path = "/workspace/l/secret", .size = 0 };
	char command[1200];
	char target[1200];

	write_host("secret", "of the host", 0666);
	snprintf(command, sizeof(command),
		 "ln -s %s l; ln -s %s/secret ~/m; ln -s / r", box_home(),
		 box_home());
	expect(sb, command, 0, "", "");
	assert_int_equal(sandbox_upload(sb, &t, 1, &stop, &err), 0);
	assert_int_not_equal(t.error, FILE_OK);
	expect_host("secret", "of the host");
	assert_int_equal(
		local_provider.ops->snapshot(sb, "links", false, &stop, &err),
		0);
	snprintf(command, sizeof(command), "%s/snapshots/links/workspace/l",
		 box_settings.dir);
	assert_true(readlink(command, target, sizeof(target)) > 0);
	expect(sb, "rm l r ~/m", 0, "", "");
}

static pid_t hold(const char *program)
{
	char *argv[] = { "local_isolation_test", "--hold", NULL };
	char member[32];
	pid_t pid;

	setenv("DCODE_TEST_SLEEP", own_sleep(member, 66), 1);
	assert_int_equal(posix_spawn(&pid, program, NULL, NULL, argv, environ),
			 0);
	for (int i = 0; i < 400 && count_running(member) < 2; i++)
		usleep(50000);
	assert_true(count_running(member) >= 2);
	return pid;
}

/* However dcode ends, nothing of the sandbox runs on. */
static void test_killed(void **state)
{
	char member[32];
	int left = -1;
	pid_t pid;

	(void)state;
	setenv("DCODE_TEST_TMP", box_home(), 1);
	pid = hold("/proc/self/exe");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	for (int i = 0; i < 200 && left != 0; i++) {
		usleep(50000);
		left = count_running(own_sleep(member, 66));
	}
	assert_int_equal(left, 0);
}

static void test_bwrap_killed(void **state)
{
	struct sandbox *sb = *state;
	struct sandbox again = { .client = sb->client };
	struct box *b = sb->priv;
	struct stop stop = stop_cleanup(30000);
	struct error err = { 0 };
	struct ran r;

	kill(b->pid, SIGKILL);
	usleep(100000);
	r = run(sb, "true");
	assert_int_equal(r.rc, -1);
	assert_int_equal(r.err.code, ERR_GONE);
	ran_release(&r);
	/* Attaching again brings it back, files and all. */
	assert_int_equal(
		local_provider.ops->attach(&again, sb->id, &stop, &err), 0);
	expect(&again, "echo back", 0, "back\n", "");
	free_box(&again);
}

static void test_no_bwrap(void **state)
{
	struct settings set = box_settings;
	struct error err = { 0 };
	char *path = xstrdup(getenv("PATH"));

	(void)state;
	setenv("PATH", "/nowhere", 1);
	assert_null(other_box(&set, NETWORK_DEFAULT, &err));
	assert_int_equal(err.code, ERR_CONFIG);
	assert_string_equal(err.hint, "Run apt-get install bubblewrap.");
	write_host("bwrap",
		   "#!/bin/sh\necho 'bwrap: No permissions to create new "
		   "namespace, likely because the kernel does not allow "
		   "non-privileged user namespaces.' >&2; exit 1\n",
		   0755);
	setenv("PATH", box_home(), 1);
	err = (struct error){ 0 };
	assert_null(other_box(&set, NETWORK_DEFAULT, &err));
	assert_int_equal(err.code, ERR_CONFIG);
	assert_non_null(strstr(err.message, "No permissions"));
	assert_non_null(strstr(err.hint, "unprivileged_userns_clone"));
	setenv("PATH", path, 1);
	free(path);
}

static int hold_main(void)
{
	const char *member = getenv("DCODE_TEST_SLEEP");
	char command[100];
	void *state;

	if (!member || box_setup(&state) < 0)
		return 1;
	snprintf(command, sizeof(command), "setsid %s & sh -c '%s & wait'",
		 member, member);
	(void)run(state, command);
	return 1;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_environment),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_kernel),
		cmocka_unit_test(test_filter),
		cmocka_unit_test(test_network),
		cmocka_unit_test(test_processes),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_bind),
		cmocka_unit_test(test_links),
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_no_bwrap),
		cmocka_unit_test(test_bwrap_killed),
	};

	if (argc > 1 && !strcmp(argv[1], JAIL_ARGUMENT))
		return jail_main(argc, argv);
	(void)signal(SIGPIPE, SIG_IGN); /* as dcode does */
	ids_init();
	setenv("SECRET_OF_HOST", "x", 1);
	if (argc > 1 && !strcmp(argv[1], "--hold"))
		return hold_main();
	return cmocka_run_group_tests(tests, box_setup, box_teardown);
}
