/* endpoint_wire.c - what a provider's table says, and the wire it speaks. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "model/endpoint.h"
#include "model/wire.h"

const struct toml_value *endpoint_member(const struct provider *p,
					 const char *key)
{
	return p->config ? toml_get(p->config, key) : NULL;
}

int endpoint_text(const struct provider *p, const char *key, const char **value,
		  struct error *err)
{
	const struct toml_value *v = endpoint_member(p, key);

	if (!v)
		return 0;
	if (v->kind != TOML_STRING)
		return error_set(err, ERR_CONFIG,
				 "config.toml:%d:%d: models.providers.%s.%s "
				 "must be a string, not %s",
				 v->line, v->column, p->name, key,
				 toml_kind_name(v->kind));
	if (v->text[0])
		*value = v->text;
	return 0;
}

static void refuse_class(const struct provider *p, const char *class_path,
			 struct error *err)
{
	const char *colon = strchr(class_path, ':');
	struct buf names = BUF_INIT(256);

	wire_names(&names);
	if (!colon || colon == class_path || !colon[1]) {
		(void)error_set(err, ERR_CONFIG,
				"models.providers.%s.class_path must be "
				"'module:Class', got '%s'",
				p->name, class_path);
		error_hint(err, "Remove it, and set wire = %s.", names.ptr);
	} else {
		(void)error_set(err, ERR_CONFIG,
				"models.providers.%s.class_path '%s' is a "
				"Python class, which dcode cannot run",
				p->name, class_path);
		error_hint(
			err,
			"Set wire = %s instead, whichever the server speaks.",
			names.ptr);
	}
	buf_release(&names);
}

static void refuse_wire(const struct provider *p, const char *name,
			struct error *err)
{
	struct buf names = BUF_INIT(256);

	wire_names(&names);
	error_set(err, ERR_CONFIG,
		  "models.providers.%s.wire must be %s, not \"%s\"", p->name,
		  names.ptr, name);
	buf_release(&names);
}

static void refuse_vendor(const struct provider *p, struct error *err)
{
	(void)error_set(err, ERR_CONFIG,
			"dcode does not speak the protocol of provider '%s'",
			p->name);
	error_hint(err, "Use an OpenAI-compatible server for its models: "
			"[models.providers.NAME] base_url");
}

const struct wire *endpoint_wire(const struct provider *p, struct error *err)
{
	const struct wire *wire;
	const char *class_path = NULL;
	const char *name = NULL;

	if (endpoint_text(p, "wire", &name, err) < 0 ||
	    endpoint_text(p, "class_path", &class_path, err) < 0)
		return NULL;
	if (class_path && !name) {
		name = preset_class_wire(class_path);
		if (!name) {
			refuse_class(p, class_path, err);
			return NULL;
		}
	}
	if (!name)
		name = p->preset ? p->preset->wire : wire_openai_chat.name;
	wire = name ? wire_find(name) : NULL;
	if (wire)
		return wire;
	if (name)
		refuse_wire(p, name, err);
	else
		refuse_vendor(p, err);
	return NULL;
}
