/* schema.c - the core's settings; a provider's live with the provider. */
/* SPDX-License-Identifier: MIT */
#include "config/settings.h"

#define CREDENTIAL(id, variable, vendor)                                       \
	{                                                                      \
		.key = "credentials." id, .env = variable,                     \
		.flags = SETTING_SECRET | SETTING_ENV_ONLY,                    \
		.help = vendor " API key",                                     \
	}

const struct setting settings_core[] = {
	{
		.key = "models.default",
		.help = "Model to use, as provider:model",
	},
	{
		.key = "models.recent",
		.help = "Model used last; where models.default is not set",
	},
	{
		.key = "models.providers",
		.type = SETTING_TABLE,
		.help = "Model servers: base_url, api_key_env, params",
	},
	{
		.key = "retries.max_retries",
		.type = SETTING_INT,
		.help = "Times a failed model request is sent again",
	},
	{
		.key = "sandboxes.default",
		.help = "Provider meant by a bare --sandbox",
	},
	{
		.key = "sandboxes.providers",
		.type = SETTING_TABLE,
		.help = "Sandbox providers and their params",
	},
	{
		.key = "shell.allow_list",
		.type = SETTING_LIST,
		.flags = SETTING_PREFIX_ONLY,
		.env = "SHELL_ALLOW_LIST",
		.help = "Commands that run without asking; recommended; all",
	},
	{
		.key = "startup.mode",
		.fallback = "\"manual\"",
		.help = "Approval of tool calls: manual, auto, yolo",
	},
	{
		.key = "startup.read_project_dotenv",
		.type = SETTING_BOOL,
		.flags = SETTING_PREFIX_ONLY,
		.env = "READ_PROJECT_DOTENV",
		.fallback = "true",
		.help = "Read the nearest .env file of the project",
	},
	CREDENTIAL("anthropic", "ANTHROPIC_API_KEY", "Anthropic"),
	CREDENTIAL("azure_openai", "AZURE_OPENAI_API_KEY", "Azure OpenAI"),
	CREDENTIAL("baseten", "BASETEN_API_KEY", "Baseten"),
	CREDENTIAL("cohere", "COHERE_API_KEY", "Cohere"),
	CREDENTIAL("deepseek", "DEEPSEEK_API_KEY", "DeepSeek"),
	CREDENTIAL("fireworks", "FIREWORKS_API_KEY", "Fireworks"),
	CREDENTIAL("google_genai", "GOOGLE_API_KEY", "Google"),
	CREDENTIAL("groq", "GROQ_API_KEY", "Groq"),
	CREDENTIAL("huggingface", "HUGGINGFACEHUB_API_TOKEN", "Hugging Face"),
	CREDENTIAL("ibm", "WATSONX_APIKEY", "IBM watsonx"),
	CREDENTIAL("litellm", "LITELLM_API_KEY", "LiteLLM"),
	CREDENTIAL("meta", "MODEL_API_KEY", "Meta"),
	CREDENTIAL("mistralai", "MISTRAL_API_KEY", "Mistral"),
	CREDENTIAL("nvidia", "NVIDIA_API_KEY", "NVIDIA"),
	CREDENTIAL("ollama", "OLLAMA_API_KEY", "Ollama"),
	CREDENTIAL("openai", "OPENAI_API_KEY", "OpenAI"),
	CREDENTIAL("openrouter", "OPENROUTER_API_KEY", "OpenRouter"),
	CREDENTIAL("perplexity", "PPLX_API_KEY", "Perplexity"),
	CREDENTIAL("together", "TOGETHER_API_KEY", "Together"),
	CREDENTIAL("xai", "XAI_API_KEY", "xAI"),
	{ 0 },
};
