/* presets.c - services whose secrets need only the name of the preset. */
/* SPDX-License-Identifier: MIT */
/*
 * A preset without a header leaves it to the client how it sends the
 * placeholder: gh sends it after "token" or "Bearer", git inside of Basic.
 */
#include "sandbox/secrets/secrets.h"

const struct secret_preset secret_presets[] = {
	{ .name = "github",
	  .env = "GITHUB_TOKEN",
	  .hosts = { "api.github.com", "github.com", "uploads.github.com" },
	  .prefixes = { "github_pat_", "ghp_", "gho_", "ghu_", "ghs_" } },
	{ .name = "npm",
	  .env = "NPM_TOKEN",
	  .hosts = { "registry.npmjs.org" },
	  .header = "Authorization",
	  .format = "Bearer {}",
	  .prefixes = { "npm_" } },
	{ .name = "pypi",
	  .env = "TWINE_PASSWORD",
	  .hosts = { "upload.pypi.org" },
	  .header = "Authorization",
	  .format = "Basic __token__:{}",
	  .prefixes = { "pypi-" } },
	{ .name = "anthropic",
	  .env = "ANTHROPIC_API_KEY",
	  .hosts = { "api.anthropic.com" },
	  .header = "X-Api-Key",
	  .format = "{}",
	  .prefixes = { "sk-ant-api03-", "sk-ant-" } },
	{ .name = "openai",
	  .env = "OPENAI_API_KEY",
	  .hosts = { "api.openai.com" },
	  .header = "Authorization",
	  .format = "Bearer {}",
	  .prefixes = { "sk-proj-", "sk-svcacct-", "sk-" } },
	{ .name = "aws",
	  .env = SECRET_AWS_ID,
	  .hosts = { "*.amazonaws.com", "*.amazonaws.com.cn", "*.api.aws" },
	  .signs = true,
	  .prefixes = { "AKIA", "ASIA" } },
	{ 0 },
};
