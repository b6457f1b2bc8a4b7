/* presets.c - the hosts that projects of one kind need, as data. */
/* SPDX-License-Identifier: MIT */
/*
 * Each list is what the package manager of that language contacts with its
 * default configuration (documentation of pip, npm, cargo, go and apt, read
 * 2026-11). `dcode sandbox network presets` prints the lists.
 */
#include "sandbox/network/network.h"

const struct network_preset network_presets[] = {
	{ .name = "python",
	  .help = "pip, uv and poetry",
	  .hosts = { "pypi.org", "files.pythonhosted.org" } },
	{ .name = "node",
	  .help = "npm, yarn and pnpm; headers of Node.js",
	  .hosts = { "registry.npmjs.org", "registry.yarnpkg.com",
		     "nodejs.org" } },
	{ .name = "rust",
	  .help = "cargo and rustup",
	  .hosts = { "crates.io", "index.crates.io", "static.crates.io",
		     "static.rust-lang.org" } },
	{ .name = "go",
	  .help = "modules, checksums and toolchains",
	  .hosts = { "proxy.golang.org", "sum.golang.org", "go.dev",
		     "dl.google.com" } },
	{ .name = "debian",
	  .help = "apt of Debian",
	  .hosts = { "deb.debian.org", "security.debian.org" } },
	{ .name = "github",
	  .help = "git over HTTPS, the API, downloads and packages",
	  .hosts = { "github.com", "api.github.com", "codeload.github.com",
		     "raw.githubusercontent.com",
		     "objects.githubusercontent.com",
		     "release-assets.githubusercontent.com",
		     "github-cloud.githubusercontent.com", "ghcr.io",
		     "pkg-containers.githubusercontent.com" } },
	{ 0 },
};
