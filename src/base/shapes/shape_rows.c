/* shape_rows.c - the built-in kinds of credentials, one row for each form. */
/* SPDX-License-Identifier: MIT */
/*
 * The forms are those of gitleaks' rules (2026-07) and of the vendors'
 * documents. First the checks of forms that a pattern cannot describe, then the
 * rows. Rows of one kind are adjacent. A pattern keeps its first characters
 * readable, so that the user sees which key it was.
 */
#include <string.h>
#include <strings.h>

#include <sodium.h>

#include "base/json.h"
#include "base/shapes/shapes_impl.h"
#include "base/str.h"

enum {
	CRC_BYTES = 30,       /* random part of a GitHub or npm token */
	CRC_DIGITS = 6,       /* its checksum, in base 62 */
	HEADER_MAX = 4096,    /* bytes of a JWT's first part */
	LINE_MAX_SEEN = 1024, /* bytes of a line that are searched */
	KEY_MAX = 64 << 10,   /* bytes of a private key */
	KEY_RUN = 32,   /* base64 characters in a row that make it a key */
	KEY_SEEN = 512, /* bytes after its first line, within which these are */
	PASSWORD_LEAST = 4,
};

#define ALNUM "[A-Za-z0-9]"
#define B64U "[A-Za-z0-9_-]"
#define HEX "[0-9a-f]"

static struct str hidden_of(const struct shape_match *m)
{
	return (struct str){ m->text.ptr + m->at + m->keep, m->len - m->keep };
}

static enum shape_result hit_if(bool is)
{
	return is ? SHAPE_HIT : SHAPE_NONE;
}

/* The last six characters are the CRC-32 of those before, in base 62 (0-9, A-Z,
 * a-z). GitHub, "Behind GitHub's new authentication token formats",
 * 2021-04-05. */
static enum shape_result check_crc32(struct shape_match *m)
{
	static const char digits[] = "0123456789"
				     "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz";
	struct str token = hidden_of(m);
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < CRC_BYTES; i++) {
		crc ^= (unsigned char)token.ptr[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320U : 0);
	}
	crc = ~crc;
	for (size_t i = CRC_DIGITS; i--; crc /= 62)
		if (token.ptr[CRC_BYTES + i] != digits[crc % 62])
			return SHAPE_NONE;
	return SHAPE_HIT;
}

/* The first part of a JWT is a JSON object with the member "alg" (RFC 7515). */
static enum shape_result check_jwt(struct shape_match *m)
{
	struct str token = { m->text.ptr + m->at, m->len };
	size_t len = str_find(token, '.');
	char json[HEADER_MAX];
	size_t n;
	cJSON *tree;
	bool is;

	if (sodium_base642bin((unsigned char *)json, sizeof(json), token.ptr,
			      len, NULL, &n, NULL,
			      sodium_base64_VARIANT_URLSAFE_NO_PADDING) != 0)
		return SHAPE_NONE;
	tree = json_parse((struct str){ json, n });
	is = json_string(tree, "alg", NULL) != NULL;
	cJSON_Delete(tree);
	return hit_if(is);
}

/* Bech32 (BIP 173), of which age's secret keys are an upper-case form. */
static enum shape_result check_bech32(struct shape_match *m)
{
	static const char prefix[] = "age-secret-key-";
	static const char digits[] = "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L";
	static const uint32_t generator[] = { 0x3B6A57B2, 0x26508E6D,
					      0x1EA119FA, 0x3D4233DD,
					      0x2A1462B3 };
	unsigned char values[128];
	struct str data = hidden_of(m);
	uint32_t sum = 1;
	size_t n = 0;

	for (size_t i = 0; prefix[i]; i++)
		values[n++] = (unsigned char)prefix[i] >> 5;
	values[n++] = 0;
	for (size_t i = 0; prefix[i]; i++)
		values[n++] = prefix[i] & 31;
	for (size_t i = 0; i < data.len; i++)
		values[n++] =
			(unsigned char)(strchr(digits, data.ptr[i]) - digits);
	for (size_t i = 0; i < n; i++) {
		uint32_t top = sum >> 25;

		sum = (sum & 0x1FFFFFF) << 5 ^ values[i];
		for (unsigned bit = 0; bit < 5; bit++)
			sum ^= top >> bit & 1 ? generator[bit] : 0;
	}
	return hit_if(sum == 1);
}

/* Returns how many bytes of one of the set stand before the match. */
static size_t count_before(const struct shape_match *m, const char *set)
{
	size_t n = 0;

	while (n < m->at && n < SHAPES_CONTEXT && m->text.ptr[m->at - n - 1] &&
	       strchr(set, m->text.ptr[m->at - n - 1]))
		n++;
	return n;
}

#define DIGITS "0123456789"
#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

/* A bot's number, of 8 to 10 digits, stands before ":A". "bot" may stand before
 * it, as in the addresses of the API. */
static enum shape_result check_telegram(struct shape_match *m)
{
	size_t n = count_before(m, DIGITS);
	size_t word = count_before(m, DIGITS LETTERS "_");
	const char *bot = m->text.ptr + m->at - word;

	return hit_if(
		n >= 8 && n <= 10 &&
		(n == word || (word == n + 3 && !strncmp(bot, "bot", 3))));
}

static enum shape_result check_terraform(struct shape_match *m)
{
	return hit_if(count_before(m, DIGITS LETTERS "_") == 14);
}

/* Before "Q~" are a digit and three other characters. */
static enum shape_result check_azure(struct shape_match *m)
{
	const char *before = m->text.ptr + m->at;

	return hit_if(count_before(m, DIGITS LETTERS "_~.") == 4 &&
		      before[-1] >= '0' && before[-1] <= '9');
}

/* A signature of 32 bytes as base64, percent-encoded. */
static enum shape_result check_sas(struct shape_match *m)
{
	struct str rest = hidden_of(m);
	size_t n = 0;

	if (!str_ends(rest, "%3D") && !str_ends(rest, "%3d"))
		return SHAPE_NONE;
	for (; rest.len; n++)
		rest = str_skip(rest, rest.ptr[0] == '%' ? 3 : 1);
	return hit_if(n == 44);
}

/* The first part is the decimal number of the bot as base64. */
static enum shape_result check_discord(struct shape_match *m)
{
	struct str token = { m->text.ptr + m->at, m->len };
	unsigned char number[32];
	size_t n;

	if (sodium_base642bin(number, sizeof(number), token.ptr,
			      str_find(token, '.'), NULL, &n, NULL,
			      sodium_base64_VARIANT_ORIGINAL_NO_PADDING) != 0)
		return SHAPE_NONE;
	for (size_t i = 0; i < n; i++)
		if (number[i] < '0' || number[i] > '9')
			return SHAPE_NONE;
	return SHAPE_HIT;
}

/* User and password as base64 (RFC 7617). */
static enum shape_result check_basic(struct shape_match *m)
{
	unsigned char pair[1024];
	struct str text = hidden_of(m);
	bool colon = false;
	size_t n;

	while (text.len && text.ptr[text.len - 1] == '=')
		text.len--;
	if (sodium_base642bin(pair, sizeof(pair), text.ptr, text.len, NULL, &n,
			      NULL,
			      sodium_base64_VARIANT_ORIGINAL_NO_PADDING) != 0)
		return SHAPE_NONE;
	for (size_t i = 0; i < n; i++) {
		if (pair[i] < ' ' || pair[i] == 0x7F)
			return SHAPE_NONE;
		colon |= pair[i] == ':';
	}
	return hit_if(colon);
}

/* True for a word that stands for a password in documents and scripts. */
static bool is_placeholder(struct str s)
{
	static const char *const words[] = {
		"pass",  "passwd", "password", "pwd",           "secret",
		"token", "xxxx",   "changeme", "your-password", "mypassword"
	};
	size_t same = 1;

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (str_is_nocase(s, words[i]))
			return true;
	while (same < s.len && s.ptr[same] == s.ptr[0])
		same++;
	return same >= s.len || strchr("$<%{*", s.ptr[0]);
}

/* A password in an address. Letters stand before "://". */
static enum shape_result check_url(struct shape_match *m)
{
	return hit_if(count_before(m, LETTERS "+") >= 2 &&
		      !is_placeholder(hidden_of(m)));
}

/* Sets *line to the rest of the line behind the match. */
static enum shape_result rest_of_line(const struct shape_match *m,
				      struct str *line)
{
	struct str rest = str_skip(m->text, m->at + m->len);
	bool whole = rest.len <= LINE_MAX_SEEN;
	size_t end;

	if (!whole)
		rest.len = LINE_MAX_SEEN;
	end = str_find(rest, '\n');
	if (end == rest.len && !m->last && whole)
		return SHAPE_MAYBE;
	*line = (struct str){ rest.ptr, end };
	return SHAPE_HIT;
}

/* Returns where the value of curl's option -u begins in the line, or its
 * length. */
static size_t find_user_option(struct str line)
{
	static const char *const options[] = { "-u ", "-u", "--user ",
					       "--user=" };

	for (size_t at = 0; at < line.len; at++) {
		if (line.ptr[at] != '-' || (at && line.ptr[at - 1] != ' '))
			continue;
		for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++)
			if (str_starts(str_skip(line, at), options[i]))
				return at + strlen(options[i]);
	}
	return line.len;
}

/* "curl ... -u NAME:PASSWORD": hides the password. */
static enum shape_result check_curl(struct shape_match *m)
{
	struct str line;
	enum shape_result rc = rest_of_line(m, &line);
	size_t from;
	size_t to;

	if (rc != SHAPE_HIT)
		return rc;
	from = find_user_option(line);
	if (from < line.len && strchr("\"'", line.ptr[from]))
		from++;
	while (from < line.len && !strchr(" :\"'", line.ptr[from]))
		from++;
	if (from >= line.len || line.ptr[from] != ':')
		return SHAPE_NONE;
	to = ++from;
	while (to < line.len && line.ptr[to] &&
	       !strchr(" \"'\\\r", line.ptr[to]))
		to++;
	if (to - from < PASSWORD_LEAST ||
	    is_placeholder((struct str){ line.ptr + from, to - from }))
		return SHAPE_NONE;
	m->keep = m->len + from;
	m->len += to;
	return SHAPE_HIT;
}

/* "Cookie: NAME=VALUE; ...": hides all from the first value on. */
static enum shape_result check_cookie(struct shape_match *m)
{
	struct str line;
	enum shape_result rc = rest_of_line(m, &line);
	size_t from;
	size_t to = 0;

	if (rc != SHAPE_HIT)
		return rc;
	while (to < line.len && line.ptr[to] >= ' ' &&
	       !strchr("\"'\\<>%{}()", line.ptr[to]))
		to++;
	line.len = to;
	from = str_find(line, '=') + 1;
	to = from;
	while (to < line.len && !strchr(" ;", line.ptr[to]))
		to++;
	if (from >= line.len || to - from < 8)
		return SHAPE_NONE;
	m->keep = m->len + from;
	m->len += line.len;
	return SHAPE_HIT;
}

/* True if a key's base64 follows the first line of a PEM block. */
static enum shape_result has_key(struct str body, bool last)
{
	size_t run = 0;

	for (size_t i = 0; i < body.len && i < KEY_SEEN; i++) {
		unsigned char c = (unsigned char)body.ptr[i];

		if (c && strchr(DIGITS LETTERS "+/=", c))
			run++;
		else if (c && strchr(" \t\r\n\\\"',:-|>", c))
			run = 0;
		else
			return SHAPE_NONE;
		if (run == KEY_RUN)
			return SHAPE_HIT;
	}
	return last || body.len >= KEY_SEEN ? SHAPE_NONE : SHAPE_MAYBE;
}

/* "-----BEGIN RSA PRIVATE KEY-----": hides all to the last line, or 64 KiB if
 * there is none. */
static enum shape_result check_key(struct shape_match *m)
{
	enum { HEAD_MAX = 64, MARK = 5 }; /* bytes of a type, of "-----" */
	static const char words[] = "PRIVATE KEY";
	struct str rest = str_skip(m->text, m->at + m->len);
	struct str head = { rest.ptr, rest.len };
	struct str body;
	struct str front;
	enum shape_result rc;
	size_t end;

	/* Only so much is searched: a hostile text may begin many keys. */
	if (head.len > HEAD_MAX + MARK)
		head.len = HEAD_MAX + MARK;
	end = str_search(head, STR("-----"));
	if (end == head.len)
		return rest.len < HEAD_MAX + MARK && !m->last ? SHAPE_MAYBE
							      : SHAPE_NONE;
	head.len = end;
	if (str_search(head, str_of(words)) == head.len)
		return SHAPE_NONE;
	body = str_skip(rest, head.len + MARK);
	front = (struct str){ body.ptr,
			      body.len < KEY_SEEN ? body.len : KEY_SEEN };
	end = str_search(front, STR("-----END"));
	rc = has_key((struct str){ body.ptr, end },
		     m->last || end < front.len || body.len > KEY_SEEN);
	if (rc != SHAPE_HIT)
		return rc;
	if (body.len > KEY_MAX + 2 * MARK)
		body.len = KEY_MAX + 2 * MARK;
	end = str_search(body, STR("-----END"));
	m->keep = m->len + head.len + MARK;
	/* "-----END" may have arrived in part */
	if (end == body.len && end < KEY_MAX + 2 * MARK && !m->last)
		return SHAPE_MAYBE;
	m->len = m->keep + (end < KEY_MAX ? end : KEY_MAX);
	return SHAPE_HIT;
}

const struct shape_row shape_rows[] = {
	{ "AWS key id", "AKIA[A-Z2-7]{16}", .entropy = 30 },
	{ "AWS key id", "ASIA[A-Z2-7]{16}", .entropy = 30 },
	{ "AWS key id", "ABIA[A-Z2-7]{16}", .entropy = 30 },
	{ "AWS key id", "ACCA[A-Z2-7]{16}", .entropy = 30 },
	{ "AWS key id", "A3T([A-Z0-9]{1}[A-Z2-7]{16})", .entropy = 30 },
	{ "AWS secret key",
	  "A[KS]{1}IA([A-Z2-7]{16}[ \t,;:|\"']{1,6}[A-Za-z0-9/+]{40})",
	  .entropy = 35 },
	{ "AWS secret key",
	  "[Aa][Ww][Ss]_[Ss][Ee][Cc][Rr][Ee][Tt][A-Za-z_]{0,20}[\"']{0,1}"
	  "[ \t]{0,8}[:=]{1,2}[ \t]{0,8}[\"']{0,1}([A-Za-z0-9/+]{40})",
	  SHAPE_INNER, .entropy = 35 },
	{ "AWS secret key",
	  "ecretAccessKey[\"']{0,1}[ \t]{0,8}[:=>]{1,2}[ \t]{0,8}[\"']{0,1}"
	  "([A-Za-z0-9/+]{40})",
	  SHAPE_INNER, .entropy = 35 },
	{ "GitHub token", "gh[pousr]_(" ALNUM "{36})", .check = check_crc32 },
	{ "GitHub fine-grained token",
	  "github_pat_(" ALNUM "{22}_" ALNUM "{59})", .entropy = 30 },
	{ "npm token", "npm_(" ALNUM "{36})", .check = check_crc32 },
	{ "GitLab token", "glpat-" B64U "{20}", .entropy = 30 },
	{ "GitLab token", "glpat-(" B64U "{27,300}.[0-9a-z]{9})",
	  .entropy = 30 },
	{ "GitLab token", "gldt-" B64U "{20,300}", .entropy = 30 },
	{ "GitLab token", "glrt-" B64U "{20,300}", .entropy = 30 },
	{ "GitLab token", "glcbt-" B64U "{20,300}", .entropy = 30 },
	{ "GitLab token", "glptt-" B64U "{20,300}", .entropy = 30 },
	{ "GitLab token", "glft-" B64U "{20,300}", .entropy = 30 },
	{ "GitLab token", "glsoat-" B64U "{20,300}", .entropy = 30 },
	{ "GitLab token", "gloas-" B64U "{20,300}", .entropy = 30 },
	{ "GitLab token", "glagent-" B64U "{20,300}", .entropy = 30 },
	{ "GitLab token", "glimt-" B64U "{20,300}", .entropy = 30 },
	{ "GitLab token", "glffct-" B64U "{20,300}", .entropy = 30 },
	{ "GitLab token", "GR1348941" B64U "{20,300}", .entropy = 30 },
	{ "Slack token", "xoxb-([0-9]{10,13}-[0-9]{10,13}-" ALNUM "{10,})",
	  .entropy = 20 },
	{ "Slack token", "xox[pears]-([A-Za-z0-9-]{16,300})", SHAPE_MIXED,
	  .entropy = 25 },
	{ "Slack token", "xoxe.xox[bp]-([0-9]{1}-[A-Z0-9]{100,})",
	  .entropy = 30 },
	{ "Slack token",
	  "xapp-[0-9]{1}-([A-Z0-9]{6,}-[0-9]{6,}-" ALNUM "{16,})",
	  .entropy = 25 },
	{ "Slack webhook", "hooks.slack.com/services/([A-Za-z0-9+/]{43,56})",
	  .entropy = 30 },
	{ "Stripe key", "[sr]k_live_(" ALNUM "{10,99})", SHAPE_MIXED,
	  .entropy = 25 },
	{ "Stripe key", "[sr]k_test_(" ALNUM "{10,99})", SHAPE_MIXED,
	  .entropy = 25 },
	{ "Stripe key", "[sr]k_prod_(" ALNUM "{10,99})", SHAPE_MIXED,
	  .entropy = 25 },
	{ "Google API key", "AIza" B64U "{35}", .entropy = 30 },
	{ "Google OAuth secret", "GOCSPX-" B64U "{28}", .entropy = 30 },
	{ "Google OAuth secret", "ya29.[A-Za-z0-9_.-]{20,2048}", SHAPE_MIXED,
	  .entropy = 30 },
	{ "Google OAuth secret", "1//(0" B64U "{40,512})", .entropy = 35 },
	{ "OpenAI key", "sk-[a-z]{4,7}-(" B64U "{58}T3BlbkFJ" B64U "{58})",
	  .entropy = 30 },
	{ "OpenAI key", "sk-[a-z]{4,7}-(" B64U "{74}T3BlbkFJ" B64U "{74})",
	  .entropy = 30 },
	{ "OpenAI key", "sk-(" ALNUM "{20}T3BlbkFJ" ALNUM "{20})",
	  .entropy = 30 },
	{ "Anthropic key", "sk-ant-[a-z]{3,5}[0-9]{2}-(" B64U "{93}AA)",
	  .entropy = 30 },
	{ "OpenRouter key", "sk-or-v1-" HEX "{64}", .entropy = 25 },
	{ "Hugging Face token", "hf_[A-Za-z]{34}", .entropy = 30 },
	{ "Hugging Face token", "api_org_[A-Za-z]{34}", .entropy = 30 },
	{ "Groq key", "gsk_" ALNUM "{52}", .entropy = 30 },
	{ "xAI key", "xai-" ALNUM "{80}", .entropy = 30 },
	{ "Perplexity key", "pplx-" ALNUM "{48}", .entropy = 30 },
	{ "Replicate token", "r8_" ALNUM "{37}", .entropy = 30 },
	{ "Databricks token", "dapi" HEX "{32}", SHAPE_MIXED, .entropy = 25 },
	{ "DigitalOcean token", "do[opr]_v1_(" HEX "{64})", .entropy = 25 },
	{ "PyPI token", "pypi-AgEIcHlwaS5vcmc" B64U "{50,}", .entropy = 30 },
	{ "PyPI token", "pypi-AgENdGVzdC5weXBpLm9yZw" B64U "{50,}",
	  .entropy = 30 },
	{ "RubyGems key", "rubygems_" HEX "{48}", .entropy = 25 },
	{ "Docker Hub token", "dckr_[op]at_(" B64U "{27,128})", .entropy = 30 },
	{ "SendGrid key", "SG.(" B64U "{22}." B64U "{43})", .entropy = 30 },
	{ "Twilio key", "SK" HEX "{32}", .entropy = 25, .context = "twilio" },
	{ "Twilio key", "AC" HEX "{32}", .entropy = 25, .context = "twilio" },
	{ "Mailgun key", "key-" HEX "{32}", .entropy = 25,
	  .context = "mailgun" },
	{ "Telegram token", ":(A" B64U "{34})", SHAPE_INNER, .entropy = 30,
	  .check = check_telegram },
	{ "Discord token",
	  "[MNO][DTjz]" B64U "{20,26}." B64U "{6}.(" B64U "{27,40})",
	  .entropy = 30, .check = check_discord },
	{ "Vault token", "hvs." B64U "{90,512}", .entropy = 30 },
	{ "Vault token", "hvb." B64U "{138,1024}", .entropy = 30 },
	{ "Vault token", "s." ALNUM "{24}", SHAPE_MIXED, .entropy = 30,
	  .context = "vault" },
	{ "Terraform token", ".atlasv1.(" B64U "{60,70})", SHAPE_INNER,
	  .entropy = 30, .check = check_terraform },
	{ "Grafana token", "glsa_(" ALNUM "{32}_[0-9A-Fa-f]{8})",
	  .entropy = 30 },
	{ "Grafana token", "glc_[A-Za-z0-9+/]{32,512}", .entropy = 30 },
	{ "Grafana token", "eyJrIjoi" ALNUM "{70,}", .entropy = 30 },
	{ "JWT", "eyJ(" B64U "{14,1024}.ey" B64U "{10,}." B64U "{20,2048})",
	  .entropy = 30, .check = check_jwt },
	{ "private key", "-----BEGIN ", SHAPE_INNER, .check = check_key },
	{ "private key",
	  "AGE-SECRET-KEY-1([QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]"
	  "{58})",
	  .check = check_bech32 },
	{ "Azure key", "AccountKey=([A-Za-z0-9+/]{86}==)", .entropy = 30 },
	{ "Azure key", "Q~([A-Za-z0-9_~.-]{31,34})", SHAPE_INNER, .entropy = 30,
	  .check = check_azure },
	{ "Azure key", "sig=([A-Za-z0-9%]{43,130})", .entropy = 30,
	  .check = check_sas },
	{ "URL password",
	  "://[A-Za-z0-9._~%!$&'*+,;=-]{0,64}:([A-Za-z0-9._~%!$&'*+,;=:-]"
	  "{4,256})@",
	  SHAPE_INNER, .check = check_url },
	{ "Linear key", "lin_api_" ALNUM "{40}", .entropy = 30 },
	{ "Notion token", "ntn_" ALNUM "{46}", .entropy = 30 },
	{ "Postman key", "PMAK-(" HEX "{24}-" HEX "{34})", .entropy = 25 },
	{ "Pulumi token", "pul-" HEX "{40}", .entropy = 25 },
	{ "Doppler token", "dp.pt." ALNUM "{43}", .entropy = 30 },
	{ "Shopify token", "shp[acps]{1}[ats]{1}_([0-9A-Fa-f]{32})",
	  .entropy = 25 },
	{ "Square token", "sq0atp-" B64U "{22}", .entropy = 30 },
	{ "PlanetScale token", "pscale_[tknoauhpw]{2,5}_([A-Za-z0-9_.=-]{32,})",
	  .entropy = 30 },
	{ "Fly token", "fm1[ar]_([A-Za-z0-9+/_=-]{40,})", .entropy = 30 },
	{ "Fly token", "fm2_[A-Za-z0-9+/_=-]{40,}", .entropy = 30 },
	{ "Fly token", "fo1_" B64U "{43}", .entropy = 30 },
	{ "Sentry token", "sntrys_[A-Za-z0-9+/=_]{40,}", .entropy = 30 },
	{ "Sentry token", "sntryu_" HEX "{64}", .entropy = 25 },
	{ "Dynatrace token", "dt0c01.([A-Z0-9]{24}.[A-Z0-9]{64})",
	  .entropy = 30 },
	{ "Airtable token", "pat(" ALNUM "{14}." HEX "{64})", .entropy = 30 },
	{ "sandbox key", "e2b_" HEX "{40}", .entropy = 25 },
	{ "sandbox key", "dtn_" HEX "{64}", .entropy = 25 },
	{ "sandbox key", "a[ks]-(" ALNUM "{22})", SHAPE_MIXED, .entropy = 35 },
	{ "sandbox key", "lsv2_[ps][tk]_(" HEX "{32}_" HEX "{10})",
	  .entropy = 25 },
	{ "sandbox key", "dd[op]_(" ALNUM "{36,40})", SHAPE_MIXED,
	  .entropy = 30 },
	{ "authorization header",
	  "[Aa][Uu][Tt][Hh][Oo][Rr][Ii][Zz][Aa][Tt][Ii][Oo][Nn][\"']{0,1}"
	  "[ \t]{0,4}[:=][ \t]{0,4}[\"']{0,1}[Bb]earer ([A-Za-z0-9._~+/=-]"
	  "{8,})",
	  SHAPE_MIXED, .entropy = 25 },
	{ "authorization header",
	  "[Aa][Uu][Tt][Hh][Oo][Rr][Ii][Zz][Aa][Tt][Ii][Oo][Nn][\"']{0,1}"
	  "[ \t]{0,4}[:=][ \t]{0,4}[\"']{0,1}[Tt]oken ([A-Za-z0-9._~+/=-]{8,})",
	  SHAPE_MIXED, .entropy = 25 },
	{ "authorization header",
	  "[Aa][Uu][Tt][Hh][Oo][Rr][Ii][Zz][Aa][Tt][Ii][Oo][Nn][\"']{0,1}"
	  "[ \t]{0,4}[:=][ \t]{0,4}[\"']{0,1}[Bb]asic ([A-Za-z0-9+/=]{8,})",
	  .check = check_basic },
	{ "authorization header", "[Bb]earer ([A-Za-z0-9._~+/=-]{20,})",
	  SHAPE_DIGIT, .entropy = 35 },
	{ "curl password", "curl ", .check = check_curl },
	{ "cookie", "[Cc]ookie: ", SHAPE_INNER | SHAPE_MIXED, .entropy = 25,
	  .check = check_cookie },
	{ 0 },
};
