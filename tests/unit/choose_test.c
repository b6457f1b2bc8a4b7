/* choose_test.c - which model, where and with what key. */
/* SPDX-License-Identifier: MIT */
#include "choose_rows.h"

#define OPENAI "OPENAI_API_KEY=ko"
#define AWS "AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=secret"
#define CLAUDE "ANTHROPIC_API_KEY=ka"
#define OWN "[models.providers.own]\nbase_url = 'http://lan:8000'\n"
#define OPENAI_URL " openai-responses https://api.openai.com/v1 ko {} 4"
#define CLAUDE_URL " anthropic https://api.anthropic.com ka {} 4"

static const struct row specs[] = {
	{ .env = { OPENAI },
	  .spec = "openai:gpt-5.2",
	  .want = "openai gpt-5.2" OPENAI_URL },
	{ .env = { OPENAI },
	  .spec = "gpt-5.2",
	  .want = "openai gpt-5.2" OPENAI_URL },
	{ .env = { OPENAI },
	  .spec = ":gpt-5.2",
	  .want = "openai gpt-5.2" OPENAI_URL },
	{ .env = { CLAUDE },
	  .spec = "Claude-x",
	  .want = "anthropic Claude-x" CLAUDE_URL },
	{ .spec = "ollama:qwen3:8b",
	  .want = "ollama qwen3:8b openai-chat http://localhost:11434/v1 - {} "
		  "4" },
	{ .env = { "MISTRAL_API_KEY=km" },
	  .spec = "mistral:m",
	  .want = "mistralai m openai-chat https://api.mistral.ai/v1 km {} 4" },
	{ .env = { "MISTRAL_API_KEY=km" },
	  .spec = "mixtral-8x7b",
	  .want = "mistralai mixtral-8x7b openai-chat "
		  "https://api.mistral.ai/v1 km {} 4" },
	{ .env = { OPENAI },
	  .spec = "openai:",
	  .want = "!config Invalid model spec 'openai:': model name is "
		  "required" },
	{ .env = { OPENAI },
	  .spec = ":",
	  .want = "!config Invalid model spec" },
	{ .env = { OPENAI }, .spec = "", .want = "!config Invalid model spec" },
	{ .env = { OPENAI },
	  .spec = "llama-9",
	  .want = "!config Unknown model 'llama-9': no provider is known for "
		  "it" },
	{ .spec = "opuss",
	  .want = "!config Unknown model 'opuss': no provider is known for it "
		  "/ "
		  "Did you mean opus? `dcode models list` shows" },
	{ .spec = "sonett", .want = "!config / Did you mean sonnet? " },
	{ .spec = "calude", .want = "!config / Did you mean claude? " },
	/* an example is the default model of today; too far from any name */
	{ .spec = "wonderful",
	  .want = "!config known for it / `dcode models list` shows known "
		  "models. Write any other as PROVIDER:MODEL, for example "
		  "anthropic:claude-opus-5-5." },
	{ .spec = "openai:",
	  .want = "!config / Write provider:model, for example "
		  "anthropic:claude-opus-5-5." },
	/* short names: the newest of a family */
	{ .env = { CLAUDE },
	  .spec = "sonnet",
	  .want = "anthropic claude-sonnet-5-5" CLAUDE_URL },
	{ .env = { CLAUDE },
	  .spec = "Sonnet-5",
	  .want = "anthropic claude-sonnet-5" CLAUDE_URL },
	{ .env = { CLAUDE },
	  .spec = "opus-4",
	  .want = "anthropic claude-opus-4-8" CLAUDE_URL },
	{ .env = { CLAUDE },
	  .spec = "opus-4.6",
	  .want = "anthropic claude-opus-4-6" CLAUDE_URL },
	{ .env = { CLAUDE },
	  .spec = "claude",
	  .want = "anthropic claude-opus-5-5" CLAUDE_URL },
	{ .env = { OPENAI },
	  .spec = "gpt",
	  .want = "openai gpt-6.1-terra" OPENAI_URL },
	{ .env = { OPENAI },
	  .spec = "openai",
	  .want = "openai gpt-6.1-terra" OPENAI_URL },
	{ .env = { OPENAI },
	  .spec = "sol",
	  .want = "openai gpt-6.1-sol" OPENAI_URL },
	/* a number after the vendor's name is the vendor's business */
	{ .env = { OPENAI },
	  .spec = "gpt-6",
	  .want = "openai gpt-6" OPENAI_URL },
	{ .env = { "GOOGLE_API_KEY=kg" },
	  .spec = "flash",
	  .want = "google_genai gemini-3.8-flash gemini "
		  "https://generativelanguage.googleapis.com/v1beta kg {} 4" },
	{ .env = { "CEREBRAS_API_KEY=kc" },
	  .spec = "gpt-oss",
	  .want = "cerebras gpt-oss-120b openai-chat "
		  "https://api.cerebras.ai/v1 kc {} 4" },
	/* config.toml has priority */
	{ .config = OWN "models = ['sonnet']\n",
	  .env = { CLAUDE },
	  .spec = "sonnet",
	  .want = "own sonnet openai-chat http://lan:8000/v1 - {} 4" },
	{ .spec = "nobody:m",
	  .want = "!config Unknown model provider 'nobody'" },
	{ .spec = "ibm:m", .want = "!config does not speak the protocol" },
	{ .spec = "bedrock:m",
	  .want = "!auth AWS credentials not found: AWS_ACCESS_KEY_ID is not "
		  "set" },
	{ .env = { AWS },
	  .spec = "bedrock:m",
	  .want = "!config provider bedrock has no AWS region" },
	{ .env = { AWS, "AWS_REGION=eu/x" },
	  .spec = "bedrock:m",
	  .want = "!config not an AWS region: 'eu/x'" },
	{ .env = { AWS, "AWS_REGION=eu-west-1" },
	  .spec = "anthropic.claude-3",
	  .want = "bedrock anthropic.claude-3 bedrock "
		  "https://bedrock-runtime.eu-west-1.amazonaws.com - {} 4" },
	{ .env = { "AWS_BEARER_TOKEN_BEDROCK=kb", "AWS_REGION=cn-north-1" },
	  .spec = "bedrock:arn:aws:x/y",
	  .want = "bedrock arn:aws:x/y bedrock "
		  "https://bedrock-runtime.cn-north-1.amazonaws.com.cn kb {} "
		  "4" },
	{ .config = "[models.providers.bedrock]\nregion = 'us-east-2'\n",
	  .env = { AWS, "AWS_REGION=eu-west-1" },
	  .spec = "bedrock:m",
	  .want = "bedrock m bedrock "
		  "https://bedrock-runtime.us-east-2.amazonaws.com - {} 4" },
	{ .env = { AWS, "AWS_REGION=eu-west-1",
		   "AWS_ENDPOINT_URL_BEDROCK_RUNTIME=http://lan" },
	  .spec = "bedrock:m",
	  .want = "!config refusing to send the key of bedrock to http://lan" },
};

static const struct row defaults[] = {
	{ .env = { OPENAI, CLAUDE },
	  .want = "openai gpt-6.1-terra" OPENAI_URL },
	{ .env = { CLAUDE }, .want = "anthropic claude-opus-5-5" CLAUDE_URL },
	{ .env = { "GOOGLE_API_KEY=kg" },
	  .want = "google_genai gemini-3.1-pro-preview gemini "
		  "https://generativelanguage.googleapis.com/v1beta kg {} 4" },
	{ .want = "!auth No model key found" },
	{ .config = "[models]\ndefault = 'claude-d'\nrecent = 'gpt-r'\n",
	  .env = { OPENAI, CLAUDE },
	  .want = "anthropic claude-d" CLAUDE_URL },
	{ .config = "[models]\nrecent = 'claude-r'\n",
	  .env = { OPENAI, CLAUDE },
	  .want = "anthropic claude-r" CLAUDE_URL },
	{ .config = "[models]\ndefault = 'claude-d'\n",
	  .env = { OPENAI, CLAUDE },
	  .spec = "gpt-flag",
	  .want = "openai gpt-flag" OPENAI_URL },
	{ .config = "[models.providers.openai]\nenabled = false\n",
	  .env = { OPENAI, CLAUDE },
	  .want = "anthropic claude-opus-5-5" CLAUDE_URL },
};

static const struct row apis[] = {
	/* another server in its place may not have the newer protocol */
	{ .env = { OPENAI, "OPENAI_BASE_URL=https://proxy/v1" },
	  .spec = "openai:m",
	  .want = "openai m openai-chat https://proxy/v1 ko {} 4" },
	{ .env = { OPENAI, "OPENAI_BASE_URL=https://api.openai.com/v1/" },
	  .spec = "openai:m",
	  .want = "openai m" OPENAI_URL },
	{ .env = { OPENAI, "OPENAI_BASE_URL=https://proxy/v1" },
	  .params = "{\"use_responses_api\":true}",
	  .spec = "openai:m",
	  .want = "openai m openai-responses https://proxy/v1 ko "
		  "{\"use_responses_api\":true} 4" },
	{ .config = "[models.providers.openai.params]\n"
		    "use_responses_api = false\n",
	  .env = { OPENAI },
	  .spec = "openai:m",
	  .want = "openai m openai-chat https://api.openai.com/v1 ko "
		  "{\"use_responses_api\":false} 4" },
	{ .config = "[models.providers.openai]\nwire = 'openai-chat'\n",
	  .env = { OPENAI },
	  .spec = "openai:m",
	  .want = "openai m openai-chat https://api.openai.com/v1 ko {} 4" },
	{ .config = OWN "wire = 'openai-responses'\n",
	  .spec = "own:m",
	  .want = "own m openai-responses http://lan:8000/v1 - {} 4" },
	/* Google's own has an address for each of the two */
	{ .config = "[models.providers.google_genai]\nwire = 'openai-chat'\n",
	  .env = { "GOOGLE_API_KEY=kg" },
	  .spec = "google:m",
	  .want = "google_genai m openai-chat "
		  "https://generativelanguage.googleapis.com/v1beta/openai kg "
		  "{} 4" },
	{ .env = { "GOOGLE_API_KEY=kg", "GOOGLE_GEMINI_BASE_URL=https://p" },
	  .spec = "google:m",
	  .want = "google_genai m openai-chat https://p/v1beta/openai kg {} "
		  "4" },
	{ .config = "[models.providers.google]\nwire = 'gemini'\n",
	  .env = { "GOOGLE_API_KEY=kg", "GOOGLE_GEMINI_BASE_URL=https://p" },
	  .spec = "google:m",
	  .want = "google_genai m gemini https://p/v1beta kg {} 4" },
	{ .config = OWN "wire = 'gemini'\n",
	  .spec = "own:m",
	  .want = "own m gemini http://lan:8000/v1beta - {} 4" },
	/* there is no such choice for other vendors */
	{ .env = { CLAUDE },
	  .params = "{\"use_responses_api\":true}",
	  .spec = "anthropic:m",
	  .want = "anthropic m anthropic https://api.anthropic.com ka "
		  "{\"use_responses_api\":true} 4" },
};

static const struct row keys[] = {
	{ .spec = "anthropic:m",
	  .want = "!auth No credentials found for provider 'anthropic'. "
		  "Please set the ANTHROPIC_API_KEY environment variable." },
	{ .env = { OPENAI, "DEEPAGENTS_CODE_OPENAI_API_KEY=first" },
	  .spec = "gpt-1",
	  .want = "openai gpt-1 openai-responses https://api.openai.com/v1 "
		  "first {} "
		  "4" },
	{ .env = { OPENAI, "DEEPAGENTS_CODE_OPENAI_API_KEY=" },
	  .spec = "gpt-1",
	  .want = "!auth OPENAI_API_KEY" },
	{ .config = "[models.providers.openai]\napi_key_env = 'MINE'\n",
	  .env = { OPENAI, "MINE= km \n" },
	  .spec = "gpt-1",
	  .want = "openai gpt-1 openai-responses https://api.openai.com/v1 km "
		  "{} "
		  "4" },
	{ .config = "[models.providers.openai]\napi_key_env = 'MINE'\n",
	  .env = { OPENAI },
	  .spec = "gpt-1",
	  .want = "!auth set the MINE environment" },
	/* an own server gets nobody else's key */
	{ .config = OWN,
	  .env = { OPENAI },
	  .spec = "own:m",
	  .want = "own m openai-chat http://lan:8000/v1 - {} 4" },
	{ .config = OWN "api_key_env = 'LAN_KEY'\n",
	  .spec = "own:m",
	  .want = "!auth LAN_KEY" },
	/* this machine's own server may do without */
	{ .env = { "OPENAI_BASE_URL=http://127.0.0.1:8080" },
	  .spec = "openai:m",
	  .want = "openai m openai-chat http://127.0.0.1:8080/v1 - {} 4" },
	{ .env = { "OPENAI_BASE_URL=http://10.0.0.1:8080" },
	  .spec = "openai:m",
	  .want = "!auth OPENAI_API_KEY" },
};

static const struct row urls[] = {
	{ .env = { OPENAI, "OPENAI_BASE_URL=https://h/v1///" },
	  .spec = "gpt-1",
	  .want = "openai gpt-1 openai-chat https://h/v1 ko {} 4" },
	{ .env = { OPENAI, "OPENAI_API_BASE=https://h/x/y" },
	  .spec = "gpt-1",
	  .want = "openai gpt-1 openai-chat https://h/x/y ko {} 4" },
	{ .env = { CLAUDE, "ANTHROPIC_BASE_URL=https://h/" },
	  .spec = "claude-1",
	  .want = "anthropic claude-1 anthropic https://h ka {} 4" },
	{ .env = { "GROQ_API_KEY=kg", "GROQ_API_BASE=https://api.groq.com" },
	  .spec = "groq:m",
	  .want = "groq m openai-chat https://api.groq.com/openai/v1 kg {} 4" },
	{ .env = { "AZURE_OPENAI_API_KEY=k",
		   "AZURE_OPENAI_ENDPOINT=https://r.azure.example/" },
	  .spec = "azure:m",
	  .want = "azure_openai m openai-chat "
		  "https://r.azure.example/openai/v1 k {} 4" },
	{ .env = { "AZURE_OPENAI_AD_TOKEN=t", "OPENAI_API_VERSION=2024-10-21",
		   "AZURE_OPENAI_ENDPOINT=https://r.azure.example/" },
	  .spec = "azure:m",
	  .want = "azure_openai m openai-chat "
		  "https://r.azure.example/openai t {} 4" },
	{ .env = { "AZURE_OPENAI_API_KEY=k", "OPENAI_API_VERSION=2024-10-21",
		   "AZURE_OPENAI_ENDPOINT=https://r.azure.example/openai/v1" },
	  .spec = "azure:m",
	  .want = "azure_openai m openai-chat "
		  "https://r.azure.example/openai/v1 k {} 4" },
	{ .env = { "AZURE_OPENAI_API_KEY=k", "OPENAI_API_VERSION=2024-10-21",
		   "AZURE_OPENAI_ENDPOINT=r.azure.example" },
	  .spec = "azure:m",
	  .want = "!config is not an http:// or https:// URL: "
		  "'r.azure.example'" },
	{ .env = { "AZURE_OPENAI_API_KEY=k" },
	  .spec = "azure_openai:m",
	  .want = "!config has no address" },
	{ .env = { "OLLAMA_HOST=0.0.0.0:9" },
	  .spec = "ollama:m",
	  .want = "ollama m openai-chat http://127.0.0.1:9/v1 - {} 4" },
	{ .env = { "OLLAMA_HOST=box" },
	  .spec = "ollama:m",
	  .want = "ollama m openai-chat http://box:11434/v1 - {} 4" },
	{ .env = { "OLLAMA_HOST=https://box/api/v1" },
	  .spec = "ollama:m",
	  .want = "ollama m openai-chat https://box/api/v1 - {} 4" },
	{ .env = { OPENAI, "OPENAI_BASE_URL=ftp://h" },
	  .spec = "gpt-1",
	  .want = "!config not an http:// or https:// URL" },
	{ .env = { OPENAI, "OPENAI_BASE_URL=http://h\nX: y" },
	  .spec = "gpt-1",
	  .want = "!config contains spaces" },
	/* config goes over the environment */
	{ .config = "[models.providers.openai]\nbase_url = 'https://c/v1'\n",
	  .env = { OPENAI, "OPENAI_BASE_URL=https://e/v1" },
	  .spec = "gpt-1",
	  .want = "openai gpt-1 openai-chat https://c/v1 ko {} 4" },
	{ .config = "[models.providers.own]\nbase_url_env = 'U'\n",
	  .env = { "U=https://u/v2" },
	  .spec = "own:m",
	  .want = "own m openai-chat https://u/v2 - {} 4" },
	{ .config = "[models.providers.own]\nmodels = ['m']\n",
	  .spec = "own:m",
	  .want = "!config Set base_url in [models.providers.own]" },
};

static const struct row config[] = {
	{ .config = OWN "models = ['gpt-own', 'qwen3:8b']\n",
	  .spec = "gpt-own",
	  .want = "own gpt-own openai-chat http://lan:8000/v1 - {} 4" },
	{ .config = OWN "models = ['gpt-own', 'qwen3:8b']\n",
	  .spec = "qwen3:8b",
	  .want = "own qwen3:8b openai-chat http://lan:8000/v1 - {} 4" },
	{ .config = OWN "enabled = false\n",
	  .spec = "own:m",
	  .want = "!config Provider 'own' is disabled" },
	{ .config = OWN "class_path = 'langchain_openai:ChatOpenAI'\n",
	  .spec = "own:m",
	  .want = "own m openai-chat http://lan:8000/v1 - {} 4" },
	{ .config = OWN "class_path = 'langchain_anthropic:ChatAnthropic'\n",
	  .spec = "own:m",
	  .want = "own m anthropic http://lan:8000 - {} 4" },
	{ .config = OWN "class_path = 'acme:Chat'\n",
	  .spec = "own:m",
	  .want = "!config 'acme:Chat' is a Python class" },
	{ .config = OWN "class_path = 'acme'\n",
	  .spec = "own:m",
	  .want = "!config must be 'module:Class', got 'acme'" },
	{ .config = OWN "class_path = 'acme:Chat'\nwire = 'anthropic'\n",
	  .spec = "own:m",
	  .want = "own m anthropic http://lan:8000 - {} 4" },
	{ .config = OWN "wire = 'morse'\n",
	  .spec = "own:m",
	  .want = "!config not \"morse\"" },
	{ .config = "[models.providers.own]\nbase_url = 1\n",
	  .spec = "own:m",
	  .want = "!config config.toml:2:12: models.providers.own.base_url "
		  "must "
		  "be a string, not integer" },
	{ .config = OWN "[models.providers.own.params]\ntemperature = 0.5\n"
			"stop = ['a']\nthinking = {type = 'x'}\n"
			"[models.providers.own.params.'m-1']\nseed = 3\n"
			"temperature = 1\n"
			"[models.providers.own.params.'m-2']\nseed = 4\n",
	  .spec = "own:m-1",
	  .params = "{\"seed\":9,\"top_p\":0.1}",
	  .want = "own m-1 openai-chat http://lan:8000/v1 - "
		  "{\"stop\":[\"a\"],\"thinking\":{\"type\":\"x\"},"
		  "\"temperature\":1,\"seed\":9,\"top_p\":0.1} 4" },
	{ .config = OWN,
	  .spec = "own:m",
	  .params = "{",
	  .want = "!config "
		  "--model-params is not valid JSON" },
	{ .config = OWN,
	  .spec = "own:m",
	  .params = "[1]",
	  .want = "!config "
		  "--model-params must be a JSON object" },
	{ .config = OWN "[retries]\nmax_retries = 7\n",
	  .spec = "own:m",
	  .want = "own m openai-chat http://lan:8000/v1 - {} 7" },
	{ .config = OWN "[retries]\nmax_retries = 7\nown = {max_retries = 2}\n",
	  .spec = "own:m",
	  .want = "own m openai-chat http://lan:8000/v1 - {} 2" },
	{ .config = OWN "[retries]\nmax_retries = 7\nown = {max_retries = 2}\n",
	  .spec = "own:m",
	  .retries = "0",
	  .want = "own m openai-chat http://lan:8000/v1 - {} 0" },
	{ .config = OWN "[retries]\nown = {max_retries = -1}\n",
	  .spec = "own:m",
	  .want = "!config max_retries must be from 0" },
	{ .config = OWN,
	  .env = { "DEEPAGENTS_CODE_STREAM_IDLE_SECONDS=x" },
	  .spec = "own:m",
	  .want = "!config STREAM_IDLE_SECONDS" },
};

static void reads_specs(void **state)
{
	(void)state;
	ALL(specs);
}

static void falls_back(void **state)
{
	(void)state;
	ALL(defaults);
}

static void openais_own_models_speak_responses(void **state)
{
	(void)state;
	ALL(apis);
}

static void finds_keys(void **state)
{
	(void)state;
	ALL(keys);
}

static void finds_addresses(void **state)
{
	(void)state;
	ALL(urls);
}

static void reads_providers(void **state)
{
	(void)state;
	ALL(config);
}

static void reads_idle(void **state)
{
	const struct row row = {
		.config = OWN,
		.env = { "DEEPAGENTS_CODE_STREAM_IDLE_SECONDS=0.25" },
	};
	char home[] = "/tmp/choose_test.XXXXXX";
	struct model_choice c;
	struct error err = { 0 };
	struct settings *set;

	(void)state;
	assert_non_null(mkdtemp(home));
	set = load(&row, home);
	assert_int_equal(model_choose(&c, set, "own:m", NULL, &err), 0);
	assert_int_equal(c.idle_ms, 250);
	model_choice_release(&c);
	settings_free(set);
	assert_int_equal(path_remove_tree(home, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_specs),
		cmocka_unit_test(falls_back),
		cmocka_unit_test(openais_own_models_speak_responses),
		cmocka_unit_test(finds_keys),
		cmocka_unit_test(finds_addresses),
		cmocka_unit_test(reads_providers),
		cmocka_unit_test(reads_idle),
	};

	ids_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
