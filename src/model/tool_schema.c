/* tool_schema.c - JSON Schemas of tools: vendors' limits, traversal,
 * renaming. */
/* SPDX-License-Identifier: MIT */
/* MCP servers write schemas that vendors refuse, and tool_fit.c converts them.
 * It uses three things that are here: the limits of each vendor as data
 * (tool_rules_find()); a traversal of a schema's parts (tool_schema_each());
 * and the renaming of properties whose names a vendor refuses, in the schema
 * (tool_keys_fit()) and in the arguments of calls (tool_keys_args()). */
#include "model/tool_schema.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"

/*
 * Sources, read 2026-11-26:
 * Anthropic: "input_schema does not support oneOf, allOf, or anyOf at the top
 * level" (makenotion/notion-mcp-server issue 340), property keys
 * ^[a-zA-Z0-9_.-]{1,64}$ (beautyfree/appstore-connect-mcp issue 2), schemas
 * are checked as JSON Schema 2020-12; 675 tools in a request are accepted
 * (decocms/studio pull request 6874). Bedrock passes the same checks on for
 * Claude (aws-solutions-library-samples, accelerated-intelligent-document-
 * processing-on-aws issue 709).
 * OpenAI: "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/
 * 'enum'/'not' at the top level" (langchain-ai/langchainjs issue 9804), "array
 * schema missing items" (sigoden/aichat pull request 1049), at most 128 tools,
 * "array_above_max_length" (zed-industries/zed issue 32946), names of 64
 * (mastra-ai/mastra issue 6302), descriptions of 1024 (getsentry/sentry-mcp
 * issue 106). Groq: 128 tools (HunorLaczko/ha-groq-cloud-api issue 25).
 * Gemini: FunctionDeclaration of Vertex AI's reference: names begin with a
 * letter or "_", 64 characters; parameter names too, of letters, digits and
 * "_"; at most 512 declarations (google-gemini/gemini-cli issue 19083); a limit
 * of nesting (its issue 6031); "items: missing field" (boshyxd/robloxstudio-mcp
 * issue 72); "enum: only allowed for STRING type" (JetBrains/mcp-jetbrains
 * issue 71); the keywords of parametersJsonSchema: Schema and
 * GenerationConfig.responseJsonSchema of ai.google.dev/api.
 * Bedrock: ToolSpecification of the API reference: names of 64; Nova takes
 * type, properties and required on top only (Nova's user guide, "Tool use").
 */

static const char *const gemini_keywords[] = {
	"$ref",       "$defs",       "type",
	"format",     "title",       "enum",
	"items",      "prefixItems", "minItems",
	"anyOf",      "maxItems",    "minimum",
	"maximum",    "oneOf",       "required",
	"properties", "description", "additionalProperties",
	NULL,
};

#define CLAUDE                                                                 \
	.name = 64, .key = ".-", .key_max = 64, .bare_arrays = true,           \
	.refs = true, .type_lists = true, .any_enum = true, .untyped = true,   \
	.additional = true, .depth = 32
#define OPENAI                                                                 \
	.tools = 128, .name = 64, .description = 1024, .key = ".-",            \
	.key_max = 64, .refs = true, .type_lists = true, .any_enum = true,     \
	.untyped = true, .additional = true, .depth = 32
static const struct tool_rules vendor_rules[] = {
	{ .wire = "anthropic", CLAUDE },
	{ .wire = "bedrock", .model = "anthropic.", CLAUDE },
	{ .wire = "bedrock",
	  .name = 64,
	  .key = ".-",
	  .key_max = 64,
	  .top_plain = true,
	  .any_enum = true,
	  .untyped = true,
	  .additional = true,
	  .depth = 32 },
	{ .wire = "gemini",
	  .tools = 512,
	  .name = 64,
	  .name_letter = true,
	  .key = "",
	  .key_max = 64,
	  .key_letter = true,
	  .additional = true,
	  .depth = 16,
	  .keywords = gemini_keywords },
	{ .wire = "openai-responses", OPENAI },
	{ .wire = "openai-chat", .provider = "openai", OPENAI },
	{ .wire = "openai-chat", .provider = "azure_openai", OPENAI },
	/* Other providers with this wire: servers of all kinds, and gateways to
	 * any vendor. */
	{ .wire = "openai-chat",
	  .tools = 128,
	  .name = 64,
	  .key = ".-",
	  .key_max = 64,
	  .any_enum = true,
	  .untyped = true,
	  .additional = true,
	  .depth = 32 },
	/* Last row, for every model without another: limits that all vendors
	 * accept. */
	{ .tools = 128,
	  .name = 64,
	  .name_letter = true,
	  .key = "",
	  .key_max = 64,
	  .key_letter = true,
	  .depth = 16,
	  .keywords = gemini_keywords },
};

static bool is_for(const struct tool_rules *r, const struct model_choice *c)
{
	const char *provider = c->provider ? c->provider : "";
	const char *model = c->model ? c->model : "";

	return (!r->wire || (c->wire && strcmp(r->wire, c->wire) == 0)) &&
	       (!r->provider || strcmp(r->provider, provider) == 0) &&
	       (!r->model || strstr(model, r->model));
}

const struct tool_rules *tool_rules_find(const struct model_choice *c)
{
	size_t i = 0;

	while (!is_for(&vendor_rules[i], c))
		i++;
	return &vendor_rules[i];
}

const struct tool_union tool_unions[] = {
	{ "allOf", "all", true },
	{ "anyOf", "at least one", false },
	{ "oneOf", "exactly one", false },
	{ 0 },
};

enum holds { HOLDS_VALUE, HOLDS_ONE, HOLDS_LIST, HOLDS_MAP };

static const struct {
	const char *name;
	enum holds holds;
} keywords[] = {
	{ "properties", HOLDS_MAP },
	{ "patternProperties", HOLDS_MAP },
	{ "$defs", HOLDS_MAP },
	{ "definitions", HOLDS_MAP },
	{ "dependentSchemas", HOLDS_MAP },
	{ "anyOf", HOLDS_LIST },
	{ "oneOf", HOLDS_LIST },
	{ "allOf", HOLDS_LIST },
	{ "prefixItems", HOLDS_LIST },
	{ "items", HOLDS_ONE },
	{ "additionalProperties", HOLDS_ONE },
	{ "additionalItems", HOLDS_ONE },
	{ "contains", HOLDS_ONE },
	{ "propertyNames", HOLDS_ONE },
	{ "unevaluatedItems", HOLDS_ONE },
	{ "unevaluatedProperties", HOLDS_ONE },
	{ "not", HOLDS_ONE },
	{ "if", HOLDS_ONE },
	{ "then", HOLDS_ONE },
	{ "else", HOLDS_ONE },
};

static enum holds find_holds(const char *keyword)
{
	for (size_t i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++)
		if (strcmp(keywords[i].name, keyword) == 0)
			return keywords[i].holds;
	return HOLDS_VALUE;
}

/* Removes from a list or a map of schemas what is not a schema. */
static void prune_list(cJSON *parts)
{
	cJSON *inner;
	cJSON *after;

	for (inner = parts->child; inner; inner = after) {
		after = inner->next;
		if (!cJSON_IsObject(inner) && !cJSON_IsBool(inner))
			cJSON_Delete(cJSON_DetachItemViaPointer(parts, inner));
	}
}

/* True if the value is what its keyword requires. A list in "items" is of an
 * older draft; both this and odd properties are for tool_fit.c to correct. */
static bool is_right(const cJSON *item, enum holds holds)
{
	switch (holds) {
	case HOLDS_ONE:
		return cJSON_IsObject(item) || cJSON_IsBool(item) ||
		       (cJSON_IsArray(item) && !strcmp(item->string, "items"));
	case HOLDS_LIST:
		return cJSON_IsArray(item) && item->child;
	case HOLDS_MAP:
		return cJSON_IsObject(item) ||
		       !strcmp(item->string, "properties");
	default:
		return true;
	}
}

static void prune_parts(cJSON *schema)
{
	cJSON *item;
	cJSON *next;

	for (item = schema->child; item; item = next) {
		enum holds holds = find_holds(item->string);

		next = item->next;
		if ((holds == HOLDS_LIST && cJSON_IsArray(item)) ||
		    (holds == HOLDS_MAP && cJSON_IsObject(item) &&
		     strcmp(item->string, "properties") != 0))
			prune_list(item);
		if (!is_right(item, holds))
			cJSON_Delete(cJSON_DetachItemViaPointer(schema, item));
	}
}

void tool_schema_each(cJSON *schema, unsigned depth, tool_schema_visit *visit,
		      void *arg)
{
	cJSON *item;
	cJSON *next;

	prune_parts(schema);
	for (item = schema->child; item; item = next) {
		enum holds holds = find_holds(item->string);
		cJSON *inner;
		cJSON *after;

		next = item->next;
		if (holds == HOLDS_ONE && cJSON_IsObject(item))
			visit(arg, item, depth + 1);
		if ((holds != HOLDS_MAP || !cJSON_IsObject(item)) &&
		    (holds != HOLDS_LIST || !cJSON_IsArray(item)))
			continue;
		for (inner = item->child; inner; inner = after) {
			after = inner->next;
			if (cJSON_IsObject(inner))
				visit(arg, inner, depth + 1);
		}
	}
}

/* Resolves a JSON pointer (RFC 6901): each part of it names a member of the
 * value found so far. "~1" stands for "/", "~0" for "~". */
const cJSON *tool_schema_resolve(const cJSON *root, const char *ref)
{
	struct str rest = str_of(ref);
	struct str part;
	const cJSON *at = root;
	int64_t index;

	if (!str_starts(rest, "#"))
		return NULL;
	rest = str_skip(rest, 1);
	if (rest.len && rest.ptr[0] != '/')
		return NULL;
	rest = str_skip(rest, 1);
	while (at && str_split(&rest, '/', &part)) {
		char *name = xstrndup(part.ptr, part.len);
		char *to = name;

		for (const char *from = name; *from; from++) {
			if (from[0] == '~' &&
			    (from[1] == '0' || from[1] == '1'))
				*to++ = *++from == '0' ? '~' : '/';
			else
				*to++ = *from;
		}
		*to = '\0';
		if (!cJSON_IsArray(at))
			at = json_get(at, name);
		else if (str_to_int(str_of(name), &index) && index >= 0 &&
			 index < INT32_MAX)
			at = cJSON_GetArrayItem(at, (int)index);
		else
			at = NULL;
		free(name);
	}
	return at;
}

enum {
	MOST_KEYS = 512,  /* maximum number of properties that are renamed */
	MOST_LEVELS = 16, /* depth of unions and references */
	MOST_STEPS = 100000,
	MOST_NAME = 400, /* bytes of a property's own name in its description */
	HASH_DIGITS = 8,
};

struct key_naming {
	const struct tool_rules *rules;
	struct tool_keys *keys;
	cJSON *top;
	bool lost; /* more than MOST_KEYS names must be changed */
};

struct key_search {
	const char *key;
	bool found;
};

struct renaming { /* state for the arguments of one call */
	const struct tool_keys *keys;
	const cJSON *top;
	bool to_own;
	/* steps so far; limited, because schemas may refer to each other in a
	 * circle */
	int steps;
};

static bool is_key_char(const struct tool_rules *r, char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '_' || (c && strchr(r->key, c));
}

static bool is_key(const struct tool_rules *r, const char *key)
{
	size_t n = 0;

	while (is_key_char(r, key[n]))
		n++;
	return n && !key[n] && n <= r->key_max &&
	       (!r->key_letter || !strchr("0123456789", key[0]));
}

static const struct tool_key *find_own(const struct tool_keys *keys,
				       const char *own)
{
	for (size_t i = 0; i < keys->n; i++)
		if (strcmp(keys->list[i].own, own) == 0)
			return &keys->list[i];
	return NULL;
}

static const struct tool_key *find_sent(const struct tool_keys *keys,
					const char *sent)
{
	for (size_t i = 0; i < keys->n; i++)
		if (strcmp(keys->list[i].sent, sent) == 0)
			return &keys->list[i];
	return NULL;
}

/* Searches the whole schema for a property of that name. */
static void search_key(void *arg, cJSON *schema, unsigned depth)
{
	struct key_search *s = arg;

	s->found = s->found || json_get(json_get(schema, "properties"), s->key);
	if (!s->found)
		tool_schema_each(schema, depth, search_key, s);
}

static uint32_t hash_text(const char *text)
{
	uint32_t hash = 0x811C9DC5u; /* FNV-1a */

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x01000193u;
	return hash;
}

/* Makes a name that the vendor accepts: "filter[a]" becomes "filter_a". Appends
 * a hash if that name is in use or was cut. Owned. */
static char *make_sent(const struct key_naming *n, const char *own)
{
	const struct tool_rules *r = n->rules;
	size_t room = r->key_max - HASH_DIGITS - 1;
	struct buf name = BUF_INIT(r->key_max);
	struct key_search search = { 0 };
	bool cut = strlen(own) > r->key_max;

	if (r->key_letter && own[0] >= '0' && own[0] <= '9')
		buf_addc(&name, '_');
	for (const char *c = own; *c && !name.over; c++) {
		if (is_key_char(r, *c))
			buf_addc(&name, *c);
		else if (name.len && name.ptr[name.len - 1] != '_')
			buf_addc(&name, '_');
	}
	while (name.len > 1 && name.ptr[name.len - 1] == '_')
		name.ptr[--name.len] = '\0';
	if (!name.len)
		buf_adds(&name, "key");
	/* The name may be another property's own name, or one made before. */
	search.key = name.ptr;
	search_key(&search, n->top, 0);
	if (cut || name.over || search.found || find_sent(n->keys, name.ptr)) {
		if (name.len > room)
			name.len = room;
		name.over = false;
		buf_addf(&name, "_%08x", hash_text(own));
	}
	return buf_detach(&name);
}

/* Records a new name for each property whose name the vendor refuses. Nothing
 * is renamed yet. */
static void name_keys(void *arg, cJSON *schema, unsigned depth)
{
	struct key_naming *n = arg;
	struct tool_keys *keys = n->keys;
	const cJSON *properties = json_get(schema, "properties");
	const cJSON *item;

	if (!cJSON_IsObject(properties)) /* as with two of that name */
		properties = NULL;
	cJSON_ArrayForEach (item, properties) {
		if (is_key(n->rules, item->string) ||
		    find_own(keys, item->string))
			continue;
		if (keys->n == MOST_KEYS) {
			n->lost = true;
			return;
		}
		keys->list =
			xrealloc(keys->list, keys->n + 1, sizeof(*keys->list));
		keys->list[keys->n] = (struct tool_key){
			.own = xstrdup(item->string),
			.sent = make_sent(n, item->string),
		};
		keys->n++;
	}
	tool_schema_each(schema, depth, name_keys, n);
}

/* Puts the server's own name of a property at the start of its description. */
static void describe_key(cJSON *property, const char *own)
{
	const char *old = json_string(property, "description", "");
	struct buf clean = BUF_INIT(MOST_NAME);
	char *text;

	sanitize_line(str_of(own), &clean);
	text = xasprintf("\"%.*s\".%s%s", (int)str_utf8_prefix(buf_str(&clean)),
			 clean.ptr ? clean.ptr : "", old[0] ? " " : "", old);
	cJSON_DeleteItemFromObjectCaseSensitive(property, "description");
	cJSON_AddStringToObject(property, "description", text);
	free(text);
	buf_release(&clean);
}

/* Returns a copy of a list of names in which renamed ones have the name used in
 * requests; owned. */
static cJSON *rename_list(const struct tool_keys *keys, const cJSON *list)
{
	cJSON *names = cJSON_CreateArray();
	const cJSON *item;

	cJSON_ArrayForEach (item, list) {
		const char *name =
			cJSON_IsString(item) ? item->valuestring : "";
		const struct tool_key *k = find_own(keys, name);

		cJSON_AddItemToArray(names,
				     cJSON_CreateString(k ? k->sent : name));
	}
	return names;
}

/* Renames the members of the object under this keyword and keeps their
 * order. */
static void rename_map(const struct tool_keys *keys, cJSON *schema,
		       const char *keyword)
{
	cJSON *map = cJSON_DetachItemFromObjectCaseSensitive(schema, keyword);
	cJSON *renamed;
	cJSON *item;

	if (!cJSON_IsObject(map)) {
		cJSON_Delete(map);
		return;
	}
	renamed = cJSON_AddObjectToObject(schema, keyword);
	while ((item = map->child)) {
		const struct tool_key *k = find_own(keys, item->string);
		char *name = xstrdup(k ? k->sent : item->string);

		(void)cJSON_DetachItemViaPointer(map, item);
		if (k && cJSON_IsObject(item))
			describe_key(item, k->own);
		/* a list of names, in dependentRequired */
		if (cJSON_IsArray(item)) {
			cJSON *names = rename_list(keys, item);

			cJSON_Delete(item);
			item = names;
		}
		cJSON_AddItemToObject(renamed, name, item);
		free(name);
	}
	cJSON_Delete(map);
}

static void rename_keys(void *arg, cJSON *schema, unsigned depth)
{
	const struct key_naming *n = arg;
	const cJSON *required = json_get(schema, "required");

	if (cJSON_IsArray(required))
		cJSON_ReplaceItemInObjectCaseSensitive(
			schema, "required", rename_list(n->keys, required));
	rename_map(n->keys, schema, "properties");
	rename_map(n->keys, schema, "dependentSchemas");
	rename_map(n->keys, schema, "dependentRequired");
	tool_schema_each(schema, depth, rename_keys, arg);
}

int tool_keys_fit(const struct tool_rules *rules, cJSON *schema,
		  struct tool_keys *keys)
{
	struct key_naming n = { .rules = rules, .keys = keys, .top = schema };

	name_keys(&n, schema, 0);
	if (keys->n)
		rename_keys(&n, schema, 0);
	return n.lost ? -1 : 0;
}

void tool_keys_release(struct tool_keys *keys)
{
	for (size_t i = 0; i < keys->n; i++) {
		free(keys->list[i].own);
		free(keys->list[i].sent);
	}
	free(keys->list);
	*keys = (struct tool_keys){ 0 };
}

/* Finds a property's schema by its name in requests. Also looks in branches of
 * unions and follows references. */
static const cJSON *find_property(struct renaming *r, const cJSON *schema,
				  const char *key, int level)
{
	const cJSON *found = json_get(json_get(schema, "properties"), key);
	const char *ref = json_string(schema, "$ref", NULL);

	if (found || level == MOST_LEVELS || r->steps++ > MOST_STEPS)
		return found;
	if (ref)
		found = find_property(r, tool_schema_resolve(r->top, ref), key,
				      level + 1);
	for (size_t i = 0; !found && tool_unions[i].name; i++) {
		const cJSON *branch;

		cJSON_ArrayForEach (branch,
				    json_get(schema, tool_unions[i].name)) {
			found = find_property(r, branch, key, level + 1);
			if (found)
				break;
		}
	}
	return found;
}

/* Finds the schema of a list's items (keyword "items"), or of members that are
 * not in "properties" (keyword "additionalProperties"). */
static const cJSON *find_inner(struct renaming *r, const cJSON *schema,
			       const char *keyword, int level)
{
	const cJSON *found = json_get(schema, keyword);
	const char *ref = json_string(schema, "$ref", NULL);

	if (cJSON_IsObject(found) || level == MOST_LEVELS ||
	    r->steps++ > MOST_STEPS)
		return found;
	found = ref ? find_inner(r, tool_schema_resolve(r->top, ref), keyword,
				 level + 1)
		    : NULL;
	for (size_t i = 0; !found && tool_unions[i].name; i++) {
		const cJSON *branch;

		cJSON_ArrayForEach (branch,
				    json_get(schema, tool_unions[i].name)) {
			found = find_inner(r, branch, keyword, level + 1);
			if (found)
				break;
		}
	}
	return found;
}

static bool rename_value(struct renaming *r, const cJSON *schema, cJSON *value);

/* Renames the members of an object and keeps their order. True if any was
 * renamed. */
static bool rename_members(struct renaming *r, const cJSON *schema,
			   cJSON *value)
{
	cJSON *members = cJSON_CreateObject();
	bool changed = false;
	cJSON *item;

	while ((item = value->child)) {
		const struct tool_key *k =
			r->to_own ? find_sent(r->keys, item->string)
				  : find_own(r->keys, item->string);
		const char *sent = k ? k->sent : item->string;
		const cJSON *inner = find_property(r, schema, sent, 0);
		char *name;

		if (!inner)
			k = NULL;
		if (!inner)
			inner = find_inner(r, schema, "additionalProperties",
					   0);
		changed |= rename_value(r, inner, item) || k;
		(void)cJSON_DetachItemViaPointer(value, item);
		name = xstrdup(!k          ? item->string
			       : r->to_own ? k->own
					   : k->sent);
		cJSON_AddItemToObject(members, name, item);
		free(name);
	}
	value->child = members->child;
	members->child = NULL;
	cJSON_Delete(members);
	return changed;
}

/* Renames the members of a value and of all values inside it. True if any was
 * renamed. */
static bool rename_value(struct renaming *r, const cJSON *schema, cJSON *value)
{
	bool changed = false;
	cJSON *item;

	if (!cJSON_IsObject(schema))
		return false;
	if (cJSON_IsObject(value))
		return rename_members(r, schema, value);
	if (!cJSON_IsArray(value))
		return false;
	schema = find_inner(r, schema, "items", 0);
	cJSON_ArrayForEach (item, value)
		changed |= rename_value(r, schema, item);
	return changed;
}

char *tool_keys_args(const struct tool_keys *keys, const cJSON *schema,
		     const char *args, bool to_own)
{
	struct renaming r = { keys, schema, to_own, 0 };
	struct buf out = BUF_INIT(SIZE_MAX / 2);
	cJSON *tree;
	char *text = NULL;

	if (!keys->n || !args)
		return NULL;
	tree = json_parse(str_of(args));
	if (cJSON_IsObject(tree) && rename_value(&r, schema, tree)) {
		json_print(&out, tree);
		text = buf_detach(&out);
	}
	cJSON_Delete(tree);
	return text;
}
