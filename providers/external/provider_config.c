/* provider_config.c - finds an external provider and reads how to start it. */
/* SPDX-License-Identifier: MIT */
/*
 * Three parts: an entry [sandboxes.providers.NAME] of config.toml, whose keys
 * the table keys[] lists; the conversion of its params, or of another table, to
 * JSON; and Python, where packages name provider classes as entry points and a
 * host script runs such a class. Begin with provider_config_read().
 */
#include "providers/external/provider_config.h"

#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/proc.h"
#include "config/settings_env.h"
#include "providers/kit/rest.h"

enum {
	VARIABLE_MAX = 60, /* bytes of an environment variable's name */
	FILE_MAX = 256 << 10,
};

void provider_config_release(struct provider_config *d)
{
	for (char **w = d->command; w && *w; w++)
		free(*w);
	free(d->command);
	free(d->name);
	free(d->workdir);
	free(d->package);
	free(d->class_path);
	free(d->origin);
	*d = (struct provider_config){ 0 };
}

bool provider_config_id_ok(const char *id)
{
	size_t len = strlen(id);

	for (size_t i = 0; i < len; i++)
		if ((unsigned char)id[i] <= ' ' || id[i] == 0x7F)
			return false;
	if (!strcmp(id, ".") || !strcmp(id, ".."))
		return false;
	return len > 0 && len <= PROVIDER_ID_MAX && str_is_utf8(str_of(id));
}

static bool is_word_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '_' || (unsigned char)c >= 0x80;
}

/* True for names with dots between them, like "a.b_c". */
static bool is_dotted(struct str s)
{
	bool fresh = true;

	for (size_t i = 0; i < s.len; i++) {
		bool dot = s.ptr[i] == '.';

		if (!dot && !is_word_byte(s.ptr[i]))
			return false;
		if (fresh && (dot || (s.ptr[i] >= '0' && s.ptr[i] <= '9')))
			return false;
		fresh = dot;
	}
	return !fresh;
}

bool class_path_ok(struct str s)
{
	size_t colon = str_find(s, ':');

	return colon < s.len && str_is_utf8(s) &&
	       is_dotted((struct str){ s.ptr, colon }) &&
	       is_dotted(str_skip(s, colon + 1));
}

/*
 * The following functions return what is wrong with v ("must be a string"), or
 * NULL.
 */

static const char *read_string(const struct toml_value *v, void *field,
			       unsigned flag)
{
	(void)flag;
	if (v->kind != TOML_STRING)
		return "must be a string";
	if (!v->text_len || strlen(v->text) != v->text_len)
		return "must not be empty or contain NUL";
	*(char **)field = xstrdup(v->text);
	return NULL;
}

static const char *read_class(const struct toml_value *v, void *field,
			      unsigned flag)
{
	const char *wrong = read_string(v, field, flag);

	if (!wrong && !class_path_ok(str_of(v->text)))
		wrong = "must be \"module.path:ClassName\"";
	return wrong;
}

static const char *read_workdir(const struct toml_value *v, void *field,
				unsigned flag)
{
	const char *wrong = read_string(v, field, flag);

	if (!wrong && v->text[0] != '/')
		wrong = "must be an absolute path";
	return wrong;
}

static const char *read_command(const struct toml_value *v, void *field,
				unsigned flag)
{
	static const char must[] =
		"must be an array of strings, the program first";
	char **argv;

	(void)flag;
	if (v->kind != TOML_ARRAY || !v->n_items)
		return must;
	argv = xcalloc(v->n_items + 1, sizeof(*argv));
	*(char ***)field = argv;
	for (size_t i = 0; i < v->n_items; i++) {
		const struct toml_value *item = &v->items[i];

		if (item->kind != TOML_STRING || (!i && !item->text_len) ||
		    strlen(item->text) != item->text_len)
			return must;
		argv[i] = xstrdup(item->text);
	}
	return NULL;
}

static const char *read_flag(const struct toml_value *v, void *field,
			     unsigned flag)
{
	unsigned *flags = field;

	if (v->kind != TOML_BOOL)
		return "must be true or false";
	*flags = v->integer ? *flags | flag : *flags & ~flag;
	return NULL;
}

static const char *read_table(const struct toml_value *v, void *field,
			      unsigned flag)
{
	(void)flag;
	if (v->kind != TOML_TABLE)
		return "must be a table";
	*(const struct toml_value **)field = v;
	return NULL;
}

static const char *read_isolation(const struct toml_value *v, void *field,
				  unsigned flag)
{
	enum sandbox_isolation *isolation = field;

	(void)flag;
	if (v->kind == TOML_STRING)
		*isolation = isolation_parse(str_of(v->text));
	return *isolation ? NULL : "must be one of " ISOLATION_WORDS;
}

static bool is_variable(const struct toml_value *v)
{
	static const char good[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_"
				   "abcdefghijklmnopqrstuvwxyz0123456789";

	return v->kind == TOML_STRING && v->text_len &&
	       v->text_len <= VARIABLE_MAX &&
	       strspn(v->text, good) == v->text_len &&
	       !(v->text[0] >= '0' && v->text[0] <= '9');
}

/* Only checks the value; config/settings_env.c reads it. */
static const char *check_credentials(const struct toml_value *v, void *field,
				     unsigned flag)
{
	bool good = v->kind == TOML_ARRAY;

	(void)field;
	(void)flag;
	for (size_t i = 0; good && i < v->n_items; i++)
		good = is_variable(&v->items[i]);
	return good ? NULL
		    : "must be an array of variable names: [\"ACME_API_KEY\"]";
}

/* Only checks the value; registry.c reads it. */
static const char *check_price(const struct toml_value *v, void *field,
			       unsigned flag)
{
	(void)field;
	(void)flag;
	return v->kind == TOML_INT || v->kind == TOML_FLOAT
		       ? NULL
		       : "must be an amount in US dollars, such as 0.11";
}

/* Only checks the value; sandbox_client_open() reads it. */
static const char *check_start(const struct toml_value *v, void *field,
			       unsigned flag)
{
	(void)field;
	(void)flag;
	return v->kind == TOML_INT && v->integer >= 1 &&
			       v->integer <= SANDBOX_START_MAX_S
		       ? NULL
		       : "must be seconds, from 1 to 86400";
}

#define FIELD(name) offsetof(struct provider_config, name)

static const struct {
	const char *key;
	const char *(*read)(const struct toml_value *v, void *field,
			    unsigned flag);
	size_t field;
	unsigned flag;
} keys[] = {
	{ "class_path", read_class, FIELD(class_path), 0 },
	{ "command", read_command, FIELD(command), 0 },
	{ "working_dir", read_workdir, FIELD(workdir), 0 },
	{ "package", read_string, FIELD(package), 0 },
	{ "supports_sandbox_id", read_flag, FIELD(flags), SANDBOX_ATTACH },
	{ "supports_snapshot_name", read_flag, FIELD(flags), SANDBOX_SNAPSHOT },
	{ "supports_list", read_flag, FIELD(flags), SANDBOX_LIST },
	{ "params", read_table, FIELD(params), 0 },
	{ "credentials", check_credentials, 0, 0 },
	{ "usd_per_hour", check_price, 0, 0 },
	{ "start_timeout", check_start, 0, 0 },
	{ "http", read_table, FIELD(http), 0 },
	{ "isolation", read_isolation, FIELD(isolation), 0 },
};

static const char *read_key(struct provider_config *d,
			    const struct toml_value *v)
{
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (!strcmp(keys[i].key, v->key))
			return keys[i].read(v, (char *)d + keys[i].field,
					    keys[i].flag);
	return "is unknown";
}

int provider_config_read(struct provider_config *d,
			 const struct toml_value *entry, const char *file,
			 const struct sandbox_provider *base, struct error *err)
{
	int ways;

	*d = (struct provider_config){ .flags = SANDBOX_ATTACH,
				       .certain = true };
	if (base)
		d->flags = base->flags & (SANDBOX_ATTACH | SANDBOX_SNAPSHOT);
	for (size_t i = 0; i < entry->n_items; i++) {
		const struct toml_value *v = &entry->items[i];
		const char *wrong = read_key(d, v);

		if (wrong)
			return error_set(err, ERR_CONFIG,
					 "%s:%d:%d: sandboxes.providers.%.64s."
					 "%.40s %s",
					 file, v->line, v->column, entry->key,
					 v->key, wrong);
	}
	ways = !!d->class_path + !!d->command + !!d->http;
	if (ways > 1)
		return error_set(err, ERR_CONFIG,
				 "%s:%d:%d: sandboxes.providers.%.64s has more "
				 "than one of class_path, command and http",
				 file, entry->line, entry->column, entry->key);
	if (base && !ways && d->isolation)
		return error_set(
			err, ERR_CONFIG,
			"%s:%d:%d: sandboxes.providers.%.64s.isolation is "
			"fixed for a built-in provider",
			file, entry->line, entry->column, entry->key);
	d->name = xstrdup(entry->key);
	d->origin = xasprintf("%s:%d", file, entry->line);
	if (base && !d->workdir && ways && base->workdir)
		d->workdir = xstrdup(base->workdir);
	return 0;
}

static int fail_param(const struct toml_value *v, const char *what,
		      struct error *err)
{
	return error_set(err, ERR_CONFIG, "config.toml:%d:%d: params: %s",
			 v->line, v->column, what);
}

static int add_value(const struct toml_value *v,
		     const struct params_strings *strings, struct buf *out,
		     struct error *err);

/* Appends the members of a table, or the items of an array. */
static int add_items(const struct toml_value *v,
		     const struct params_strings *strings, struct buf *out,
		     struct error *err)
{
	bool table = v->kind == TOML_TABLE;
	const char *between = "";

	buf_addc(out, table ? '{' : '[');
	for (size_t i = 0; i < v->n_items; i++) {
		const struct toml_value *item = &v->items[i];

		if (strings && item->kind == TOML_STRING &&
		    strings->omit(strings->arg, item->text))
			continue;
		buf_adds(out, between);
		between = ",";
		if (table) {
			json_quote(out,
				   (struct str){ item->key, item->key_len });
			buf_addc(out, ':');
		}
		if (add_value(item, strings, out, err) < 0)
			return -1;
	}
	buf_addc(out, table ? '}' : ']');
	return 0;
}

static int add_value(const struct toml_value *v,
		     const struct params_strings *strings, struct buf *out,
		     struct error *err)
{
	switch (v->kind) {
	case TOML_TABLE:
	case TOML_ARRAY:
		return add_items(v, strings, out, err);
	case TOML_INT:
		buf_addf(out, "%" PRId64, v->integer);
		return 0;
	case TOML_BOOL:
		buf_adds(out, v->integer ? "true" : "false");
		return 0;
	case TOML_FLOAT:
		if (!isfinite(v->real))
			return fail_param(v, "a number that is not finite",
					  err);
		buf_addf(out, "%.17g", v->real);
		return 0;
	default:
		if (v->text_len && memchr(v->text, 0, v->text_len))
			return fail_param(v, "a string with NUL in it", err);
		if (strings && v->kind == TOML_STRING)
			return strings->add(strings->arg, v->text, out, err);
		json_quote(out, (struct str){ v->text, v->text_len });
		return 0;
	}
}

int params_json(const struct toml_value *table,
		const struct params_strings *strings, struct buf *out,
		struct error *err)
{
	if (table)
		return add_value(table, strings, out, err);
	buf_adds(out, "{}");
	return 0;
}

static bool is_type(const struct toml_value *v, const char *type)
{
	switch (v->kind) {
	case TOML_TABLE:
		return !strcmp(type, "object");
	case TOML_ARRAY:
		return !strcmp(type, "array");
	case TOML_INT:
		return !strcmp(type, "integer") || !strcmp(type, "number");
	case TOML_FLOAT:
		return !strcmp(type, "number");
	case TOML_BOOL:
		return !strcmp(type, "boolean");
	default:
		return !strcmp(type, "string");
	}
}

int params_check(const struct toml_value *table, const cJSON *known,
		 const char *provider, struct error *err)
{
	for (size_t i = 0; table && i < table->n_items; i++) {
		const struct toml_value *v = &table->items[i];
		const char *type = json_string(known, v->key, NULL);

		if (!type)
			return error_set(err, ERR_CONFIG,
					 "config.toml:%d:%d: provider '%s' "
					 "has no setting '%.64s'",
					 v->line, v->column, provider, v->key);
		if (!is_type(v, type))
			return error_set(err, ERR_CONFIG,
					 "config.toml:%d:%d: provider '%s': "
					 "%.64s must be of type %.16s, not %s",
					 v->line, v->column, provider, v->key,
					 type, toml_kind_name(v->kind));
	}
	return 0;
}

/* True for the line "[ group ]". */
static bool is_section(struct str line, const char *group)
{
	size_t end = str_find(line, ']');

	return end < line.len &&
	       str_is(str_trim((struct str){ line.ptr + 1, end - 1 }), group);
}

/* Reads the lines "NAME = OBJECT" of the group's section. */
void entry_points_parse(struct str text, const char *group, const char *package,
			void (*each)(void *arg, const struct entry_point *e),
			void *arg)
{
	bool inside = false;
	struct str line;

	while (str_split(&text, '\n', &line)) {
		struct entry_point e = { .package = package };
		size_t n;

		line = str_trim(line);
		if (!line.len || line.ptr[0] == '#' || line.ptr[0] == ';')
			continue;
		if (line.ptr[0] == '[') {
			inside = is_section(line, group);
			continue;
		}
		n = str_find(line, '=');
		if (!inside || n == line.len)
			continue;
		e.name = str_trim((struct str){ line.ptr, n });
		e.object = str_skip(line, n + 1);
		e.object.len = str_find(e.object, '['); /* cut off the extras */
		e.object = str_trim(e.object);
		each(arg, &e);
	}
}

static int is_package(const struct dirent *e)
{
	struct str name = str_of(e->d_name);

	return str_ends(name, ".dist-info") || str_ends(name, ".egg-info");
}

void entry_points_read(const char *dir, const char *group,
		       void (*each)(void *arg, const struct entry_point *e),
		       void *arg)
{
	struct dirent **list = NULL;
	int n = scandir(dir, &list, is_package, alphasort);

	for (int i = 0; i < n; i++) {
		char *package = list[i]->d_name;
		char *path = xasprintf("%s/%s/entry_points.txt", dir, package);
		struct buf text = BUF_INIT(FILE_MAX);
		struct error ignored = { 0 };

		/* "acme-1.2.dist-info" becomes "acme-1.2". */
		*strrchr(package, '.') = '\0';
		if (path_read(path, &text, &ignored) == 0)
			entry_points_parse(buf_str(&text), group, package, each,
					   arg);
		buf_release(&text);
		free(path);
		free(list[i]);
	}
	free(list);
}

static const unsigned char stand_ins_py[] = {
#include "scripts/host/dcode_stand_ins.py.inc"
};
static const unsigned char host_py[] = {
#include "scripts/host/provider_host.py.inc"
};

static char *find_interpreter(const char *dir)
{
	char *path = path_join(dir, "bin/python3");

	if (access(path, X_OK) == 0)
		return path;
	free(path);
	return NULL;
}

char *python_home(const struct settings *set)
{
	return path_join(settings_dir(set), PYTHON_HOME);
}

char *python_program(const struct settings *set)
{
	const char *active = settings_exported(set, "VIRTUAL_ENV");
	char *home = python_home(set);
	char *program = find_interpreter(home);

	free(home);
	if (!program && active && active[0] == '/')
		program = find_interpreter(active);
	if (!program)
		program = proc_find("python3", settings_exported(set, "PATH"));
	return program;
}

int python_script(struct error *err)
{
	int fd = memfd_create("dcode-provider-host", MFD_CLOEXEC);

	if (fd < 0)
		return error_errno(
			err, "creating a file in memory for the host script");
	if (io_write_all(fd, stand_ins_py, sizeof(stand_ins_py)) == 0 &&
	    io_write_all(fd, host_py, sizeof(host_py)) == 0 &&
	    lseek(fd, 0, SEEK_SET) == 0)
		return fd;
	(void)error_errno(err, "writing the host script");
	close(fd);
	return -1;
}

struct sites {
	void (*each)(void *arg, const char *dir);
	void *arg;
	bool missing_too; /* pass on directories that do not exist, too */
};

static bool is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static void emit_site(const struct sites *s, const char *path)
{
	if (s->missing_too || is_directory(path))
		s->each(s->arg, path);
}

/* Passes PREFIX/lib/python3.N/site-packages and PREFIX/site-packages to s. */
static void each_site(const char *prefix, const struct sites *s)
{
	char *lib = path_join(prefix, "lib");
	char *plain = path_join(prefix, "site-packages");
	DIR *dir = opendir(lib);
	struct dirent *e;

	emit_site(s, plain);
	while (dir && (e = readdir(dir))) {
		char *path;

		if (strncmp(e->d_name, "python3", 7) != 0)
			continue;
		path = xasprintf("%s/%s/site-packages", lib, e->d_name);
		emit_site(s, path);
		free(path);
	}
	if (dir)
		closedir(dir);
	free(plain);
	free(lib);
}

/*
 * Passes each absolute entry of PYTHONPATH to s. A relative one would name a
 * directory below the current one, where a repository could supply packages.
 */
static void each_pythonpath(const struct settings *set, const struct sites *s)
{
	struct str rest = str_of(settings_exported(set, "PYTHONPATH"));
	struct str item;

	while (str_split(&rest, ':', &item)) {
		char *path = xstrndup(item.ptr, item.len);

		if (path[0] == '/')
			emit_site(s, path);
		free(path);
	}
}

void python_each_site(const struct settings *set,
		      void (*each)(void *arg, const char *dir), void *arg)
{
	struct sites s = { .each = each, .arg = arg };
	const char *active = settings_exported(set, "VIRTUAL_ENV");
	char *home = python_home(set);

	each_site(home, &s);
	free(home);
	each_pythonpath(set, &s);
	if (active && active[0] == '/')
		each_site(active, &s);
}

struct argv {
	char **words;
	size_t n;
};

static void add_argument(void *arg, const char *word)
{
	struct argv *a = arg;

	a->words = xrealloc(a->words, a->n + 2, sizeof(*a->words));
	a->words[a->n++] = xstrdup(word);
	a->words[a->n] = NULL;
}

/*
 * Builds the interpreter's arguments. With -I it ignores the current directory
 * and all PYTHON* variables. So the entries of the user's PYTHONPATH are passed
 * as arguments up to "--", followed by the package directories.
 */
char **python_argv(const struct settings *set, const char *program,
		   const char *class_path)
{
	static const char boot[] =
		"import sys, io; "
		"n = int(sys.argv.pop(1)); s = io.open(3, 'rb').read(); "
		"m = sys.modules['dcode_stand_ins'] = "
		"type(sys)('dcode_stand_ins'); "
		"exec(compile(s[:n], 'dcode_stand_ins.py', 'exec'), vars(m)); "
		"exec(compile(s[n:], 'provider_host.py', 'exec'))";
	struct argv a = { 0 };
	char first[24];

	snprintf(first, sizeof(first), "%zu", sizeof(stand_ins_py));
	add_argument(&a, program);
	add_argument(&a, "-I");
	add_argument(&a, "-c");
	add_argument(&a, boot);
	add_argument(&a, first);
	add_argument(&a, class_path);
	each_pythonpath(
		set, &(struct sites){ add_argument, &a, .missing_too = true });
	add_argument(&a, "--");
	python_each_site(set, add_argument, &a);
	return a.words;
}
