/* choose_vertex_test.c - where Vertex AI is, and whose token goes there. */
/* SPDX-License-Identifier: MIT */
#include "choose_rows.h"

#define CLAUDE "ANTHROPIC_API_KEY=ka"
#define CLAUDE_URL " anthropic https://api.anthropic.com ka {} 4"
#define PROJECT "GOOGLE_CLOUD_PROJECT=app"
#define TOKEN "GOOGLE_OAUTH_ACCESS_TOKEN=kt"

static const struct row vertex[] = {
	{ .env = { PROJECT, TOKEN },
	  .spec = "vertex:gemini-x",
	  .want = "google_vertexai gemini-x gemini "
		  "https://aiplatform.googleapis.com/v1 kt {} 4" },
	{ .env = { PROJECT, TOKEN, "GOOGLE_CLOUD_LOCATION=us-central1" },
	  .spec = "google_vertexai:claude-x",
	  .want = "google_vertexai claude-x anthropic "
		  "https://us-central1-aiplatform.googleapis.com/v1 kt {} 4" },
	{ .config = "[models.providers.google_vertexai]\nproject = 'a'\n"
		    "location = 'eu'\n",
	  .env = { TOKEN },
	  .spec = "google_vertexai:m",
	  .want = "google_vertexai m gemini "
		  "https://aiplatform.eu.rep.googleapis.com/v1 kt {} 4" },
	{ .env = { PROJECT, TOKEN, "GOOGLE_VERTEX_BASE_URL=https://h" },
	  .spec = "google_vertexai:claude-x",
	  .want = "google_vertexai claude-x anthropic https://h/v1 kt {} 4" },
	{ .env = { PROJECT, TOKEN, "GOOGLE_VERTEX_BASE_URL=http://lan" },
	  .spec = "google_vertexai:m",
	  .want = "!config refusing to send the key of google_vertexai to "
		  "http://lan" },
	{ .env = { TOKEN },
	  .spec = "google_vertexai:m",
	  .want = "!config Set GOOGLE_CLOUD_PROJECT" },
	{ .env = { TOKEN, "GOOGLE_CLOUD_PROJECT=a/b" },
	  .spec = "google_vertexai:m",
	  .want = "!config not the id of a Google Cloud project: 'a/b'" },
	{ .env = { TOKEN, PROJECT, "GOOGLE_CLOUD_LOCATION=evil.example/" },
	  .spec = "google_vertexai:m",
	  .want = "!config not a Vertex AI location: 'evil.example/" },
	{ .config = "[models.providers.google_vertexai]\n"
		    "wire = 'openai-chat'\n",
	  .env = { TOKEN, PROJECT },
	  .spec = "google_vertexai:m",
	  .want = "!config must be \"gemini\" or \"anthropic\"" },
	/* a bare name is the vendor's own, where that has a key */
	{ .env = { PROJECT, TOKEN },
	  .spec = "claude-x",
	  .want = "google_vertexai claude-x anthropic "
		  "https://aiplatform.googleapis.com/v1 kt {} 4" },
	{ .env = { PROJECT, TOKEN, CLAUDE },
	  .spec = "claude-x",
	  .want = "anthropic claude-x" CLAUDE_URL },
};

static void finds_the_place_at_vertex(void **state)
{
	(void)state;
	ALL(vertex);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_the_place_at_vertex),
	};

	ids_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
