/* source.h - where the value of a setting comes from. */
/* SPDX-License-Identifier: MIT */
#ifndef CONFIG_SOURCE_H
#define CONFIG_SOURCE_H

enum setting_source {
	SOURCE_NONE = 0,
	SOURCE_DEFAULT,
	SOURCE_CONFIG,      /* ~/.deepagents/config.toml */
	SOURCE_DOTENV_USER, /* ~/.deepagents/.env */
	SOURCE_DOTENV_PROJECT,
	SOURCE_ENV,    /* exported */
	SOURCE_STORED, /* dcode auth set */
	SOURCE_FLAG,   /* command line */
	SOURCE_POLICY, /* SETTINGS_POLICY_FILE */
};

#endif
