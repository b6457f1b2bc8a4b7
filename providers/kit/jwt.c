/* jwt.c - what a JSON web token says about itself. */
/* SPDX-License-Identifier: MIT */
#include "providers/kit/jwt.h"

#include <sodium.h>

#include "base/str.h"

enum { CLAIMS_MAX = 16 << 10 };

cJSON *jwt_claims(const char *token)
{
	struct str rest = str_of(token);
	struct str part;
	char text[CLAIMS_MAX];
	size_t len = 0;

	for (int i = 0; i < 2; i++)
		if (!str_split(&rest, '.', &part))
			return NULL;
	if (!rest.len ||
	    sodium_base642bin((unsigned char *)text, sizeof(text), part.ptr,
			      part.len, "=", &len, NULL,
			      sodium_base64_VARIANT_URLSAFE_NO_PADDING) < 0)
		return NULL;
	return json_parse((struct str){ text, len });
}

int64_t jwt_expires(const char *token)
{
	cJSON *claims = jwt_claims(token);
	int64_t at = json_int(claims, "exp", 0);

	cJSON_Delete(claims);
	return at > 0 ? at : 0;
}
