/* presets.c - vendors that need only a key and no configuration. */
/* SPDX-License-Identifier: MIT */
/* Begin reading at the table. preset_find() looks up a row, and model_config()
 * finds the user's table of the same provider. Sources of the variables with
 * addresses: langchain-ai/deepagents, libs/code, model_config.py
 * (PROVIDER_API_KEY_ENV, PROVIDER_BASE_URL_ENV), read 2026-11-20; those of
 * cerebras, lmstudio and moonshot, and the second variable of each row, are
 * dcode's. Sources of the addresses, read the same day unless another source is
 * named: the vendors' own pages on OpenAI compatibility (openai-python
 * 2026-08-21, anthropic-sdk-python 0.121, docs.baseten.co,
 * inference-docs.cerebras.ai, docs.cohere.com, docs.together.ai,
 * docs.ollama.com, ai.google.dev, openrouter.ai). */
#include "model/presets.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "config/settings.h"

#define ANTHROPIC "anthropic"

#define CHAT "openai-chat"
#define RESPONSES "openai-responses"
#define GEMINI "gemini"
const struct preset presets[] = {
	{ .name = "anthropic",
	  .wire = ANTHROPIC,
	  .base_url = "https://api.anthropic.com",
	  .url_env = { "ANTHROPIC_BASE_URL", "ANTHROPIC_API_URL" } },
	{ .name = "openai",
	  /* for a compatible server, whose address the user sets */
	  .wire = CHAT,
	  .own_wire = RESPONSES,
	  .base_url = "https://api.openai.com/v1",
	  .url_env = { "OPENAI_BASE_URL", "OPENAI_API_BASE" } },
	{ .name = "azure_openai",
	  .alias = "azure",
	  .wire = CHAT,
	  .base_path = "/openai/v1",
	  .url_env = { "AZURE_OPENAI_ENDPOINT" },
	  /* AzureOpenAI of openai-node 6.49.0 (azure.js) and openai-python
	   * (lib/azure.py), read 2026-11-23 */
	  .auth = "api-key: ",
	  .token_env = "AZURE_OPENAI_AD_TOKEN",
	  .version_env = { "AZURE_OPENAI_API_VERSION", "OPENAI_API_VERSION" },
	  .dated_path = "/openai" },
	{ .name = "google_genai",
	  .alias = "google",
	  .wire = CHAT,
	  .own_wire = GEMINI,
	  .base_url = "https://generativelanguage.googleapis.com/v1beta/"
		      "openai",
	  .own_base_url = "https://generativelanguage.googleapis.com/v1beta",
	  .url_env = { "GOOGLE_GEMINI_BASE_URL" } },
	{ .name = "baseten",
	  .wire = CHAT,
	  .base_url = "https://inference.baseten.co/v1",
	  .url_env = { "BASETEN_BASE_URL", "BASETEN_API_BASE" } },
	{ .name = "cerebras",
	  .wire = CHAT,
	  .base_url = "https://api.cerebras.ai/v1",
	  .url_env = { "CEREBRAS_BASE_URL", "CEREBRAS_API_BASE" } },
	{ .name = "cohere",
	  .wire = CHAT,
	  .base_url = "https://api.cohere.ai/compatibility/v1",
	  .url_env = { "CO_API_URL" } },
	{ .name = "deepseek",
	  .wire = CHAT,
	  .base_url = "https://api.deepseek.com/v1",
	  .url_env = { "DEEPSEEK_API_BASE" },
	  .thoughts = true },
	{ .name = "fireworks",
	  .wire = CHAT,
	  .base_url = "https://api.fireworks.ai/inference/v1",
	  .url_env = { "FIREWORKS_BASE_URL", "FIREWORKS_API_BASE" } },
	{ .name = "groq",
	  .wire = CHAT,
	  .base_url = "https://api.groq.com/openai/v1",
	  .url_env = { "GROQ_BASE_URL", "GROQ_API_BASE" } },
	{ .name = "huggingface",
	  .wire = CHAT,
	  .base_url = "https://router.huggingface.co/v1",
	  .url_env = { "HF_INFERENCE_ENDPOINT" } },
	{ .name = "litellm",
	  .wire = CHAT,
	  .base_url = "http://localhost:4000/v1",
	  .url_env = { "LITELLM_API_BASE", "LITELLM_BASE_URL" } },
	{ .name = "lmstudio",
	  .wire = CHAT,
	  .base_url = "http://localhost:1234/v1",
	  .url_env = { "LMSTUDIO_BASE_URL" },
	  .keyless = true },
	{ .name = "meta",
	  .wire = CHAT,
	  /* the address of the Model API (Muse), not of the older Llama API:
	   * docs.litellm.ai and docs.openclaw.ai, read 2026-11-20 */
	  .base_url = "https://api.meta.ai/v1",
	  .url_env = { "MODEL_API_BASE" } },
	{ .name = "mistralai",
	  .alias = "mistral",
	  .wire = CHAT,
	  .base_url = "https://api.mistral.ai/v1",
	  .url_env = { "MISTRAL_BASE_URL" },
	  /* Mistral refuses a message with both: "must have either content or
	   * tool_calls, but not both" (langchain_mistralai chat_models.py,
	   * copilot-cli issue 4884; read 2026-11-20). */
	  .calls_alone = true },
	{ .name = "moonshot",
	  .wire = CHAT,
	  .base_url = "https://api.moonshot.ai/v1",
	  .url_env = { "MOONSHOT_BASE_URL", "MOONSHOT_API_BASE" },
	  .thoughts = true },
	{ .name = "nvidia",
	  .wire = CHAT,
	  .base_url = "https://integrate.api.nvidia.com/v1",
	  .url_env = { "NVIDIA_BASE_URL" } },
	{ .name = "ollama",
	  .wire = CHAT,
	  .base_url = "http://localhost:11434/v1",
	  .url_env = { "OLLAMA_HOST" },
	  .keyless = true,
	  .listen_port = ":11434" },
	/* llama-server of llama.cpp (tools/server/README.md; read
	 * 2026-11-26) */
	{ .name = "llamacpp",
	  .wire = CHAT,
	  .base_url = "http://localhost:8080/v1",
	  .url_env = { "LLAMACPP_BASE_URL" },
	  .keyless = true },
	{ .name = "openrouter",
	  .wire = CHAT,
	  .base_url = "https://openrouter.ai/api/v1",
	  .url_env = { "OPENROUTER_API_BASE", "OPENROUTER_BASE_URL" } },
	/* Not supported: Perplexity's Chat Completions ended on 2026-09-27, and
	 * its replacement uses Responses (vercel/ai release @ai-sdk/perplexity
	 * 3.1.0, Fabric release 1.4.528; read 2026-11-20). */
	{ .name = "perplexity", .url_env = { "PERPLEXITY_BASE_URL" } },
	{ .name = "together",
	  .wire = CHAT,
	  .base_url = "https://api.together.ai/v1",
	  .url_env = { "TOGETHER_API_BASE" } },
	{ .name = "xai",
	  .wire = CHAT,
	  .base_url = "https://api.x.ai/v1",
	  .url_env = { "XAI_API_BASE" } },
	{ .name = "bedrock",
	  .wire = "bedrock", /* the address contains the region */
	  .url_env = { "AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
		       "AWS_ENDPOINT_URL" } },
	{ .name = "google_vertexai",
	  .alias = "vertex",
	  /* used for Gemini models; for Claude: vertex_wire() in choose.c */
	  .wire = GEMINI,
	  .base_path = "/v1",
	  .url_env = { "GOOGLE_VERTEX_BASE_URL" },
	  .google_cloud = true },
	{ .name = "ibm" },
	{ .name = "openai_codex" },
	{ 0 },
};

const struct preset *preset_find(const char *name)
{
	for (const struct preset *p = presets; p->name; p++)
		if (strcmp(p->name, name) == 0 ||
		    (p->alias && strcmp(p->alias, name) == 0))
			return p;
	return NULL;
}

const char *preset_key_env(const struct preset *p)
{
	static const char keys[] = "credentials.";

	for (const struct setting *row = settings_core; row->key; row++)
		if (strncmp(row->key, keys, strlen(keys)) == 0 &&
		    strcmp(row->key + strlen(keys), p->name) == 0)
			return row->env;
	return NULL;
}

const char *preset_infer(const char *model)
{
	static const struct {
		const char *prefix, *provider;
	} rows[] = {
		{ "gpt-", "openai" },
		{ "o1", "openai" },
		{ "o3", "openai" },
		{ "o4", "openai" },
		{ "chatgpt", "openai" },
		{ "text-davinci", "openai" },
		{ "claude", "anthropic" },
		{ "gemini", "google_genai" },
		{ "command", "cohere" },
		{ "mistral", "mistralai" },
		{ "mixtral", "mistralai" },
		{ "deepseek", "deepseek" },
		{ "grok", "xai" },
		{ "sonar", "perplexity" },
		{ "nemotron", "nvidia" },
		{ "nvidia/", "nvidia" },
		{ "accounts/fireworks/", "fireworks" },
		{ "anthropic.", "bedrock" },
		{ "amazon.", "bedrock" },
		{ "us.anthropic.", "bedrock" },
		{ "eu.anthropic.", "bedrock" },
		{ "global.anthropic.", "bedrock" },
		{ "us.amazon.", "bedrock" },
		{ "eu.amazon.", "bedrock" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strncasecmp(model, rows[i].prefix,
				strlen(rows[i].prefix)) == 0)
			return rows[i].provider;
	return NULL;
}

const char *preset_class_wire(const char *class_path)
{
	static const struct {
		const char *class_path, *wire;
	} rows[] = {
		{ "langchain_anthropic:ChatAnthropic", ANTHROPIC },
		{ "langchain_aws:ChatBedrockConverse", "bedrock" },
		{ "langchain_deepseek:ChatDeepSeek", CHAT },
		{ "langchain_fireworks:ChatFireworks", CHAT },
		{ "langchain_google_genai:ChatGoogleGenerativeAI", GEMINI },
		{ "langchain_google_vertexai:ChatVertexAI", GEMINI },
		{ "langchain_groq:ChatGroq", CHAT },
		{ "langchain_mistralai:ChatMistralAI", CHAT },
		{ "langchain_ollama:ChatOllama", CHAT },
		{ "langchain_openai:ChatOpenAI", CHAT },
		{ "langchain_openrouter:ChatOpenRouter", CHAT },
		{ "langchain_together:ChatTogether", CHAT },
		{ "langchain_xai:ChatXAI", CHAT },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(rows[i].class_path, class_path) == 0)
			return rows[i].wire;
	return NULL;
}

const struct toml_value *model_config(const struct settings *set,
				      const char *name)
{
	const struct toml_value *all = settings_toml(set, "models.providers");
	const struct preset *preset = preset_find(name);
	const struct toml_value *found = NULL;

	if (all && all->kind == TOML_TABLE)
		found = toml_get(all, name);
	if (!found && preset && all && all->kind == TOML_TABLE) {
		found = toml_get(all, preset->name);
		if (!found && preset->alias)
			found = toml_get(all, preset->alias);
	}
	return found && found->kind == TOML_TABLE ? found : NULL;
}
