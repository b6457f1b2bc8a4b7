"""test_trust_c1_unknown_keys.py - what config.toml says in vain is said."""
# SPDX-License-Identifier: MIT


def test_unknown_keys_and_params_are_warned_about_once(config, run):
    path = config('[models]\ndefalt = "x:y"\n'
                  '[sandboxes.providers.docker.params]\nnetwrok = "none"\n'
                  '[models.providers.mine]\nbase_ur = "http://x"\n'
                  '[sandbox]\na = 1\nb = 2\n[nothing_like_it_at_all]\nx = 1\n')
    for command in (["config"], ["doctor"], ["sandbox", "list"]):
        err = run(*command).err
        for line, key, near in (
                (2, "models.defalt", "default"),
                (4, "sandboxes.providers.docker.params.netwrok", "network"),
                (6, "models.providers.mine.base_ur", "base_url"),
                (7, "sandbox", "sandboxes")):
            assert f"{path}:{line}:" in err and err.count(f" {key} is ") == 1
            assert f"{key} is not a known setting; ignored (did you mean " \
                f"{near}?)" in err
        assert "nothing_like_it_at_all is not a known setting; ignored " \
            "(dcode help toml)\n" in err
        assert err.count("Warning: ") == 5


def test_known_keys_are_not_warned_about(config, run):
    config('[models]\ndefault = "anthropic:m"\nallowed = ["anthropic:*"]\n'
           '[models.providers.mine]\nbase_url = "http://127.0.0.1:1/v1"\n'
           'api_key_env = "A"\nmodels = ["m"]\n[models.providers.mine.params]\n'
           'top_k = 3\n[retries]\nmax_retries = 2\n[retries.openai]\n'
           'max_retries = 3\n[shell]\nallow_list = ["ls"]\n[ui]\ntheme = "x"\n'
           '[sandboxes]\ndefault = "docker"\ncopy_limit = 5\n'
           '[sandboxes.providers.docker]\nworking_dir = "/w"\n'
           '[sandboxes.providers.docker.params]\nimage = "x"\n'
           '[sandboxes.providers.acme]\ncommand = ["true"]\n'
           'params = { anything = { below = 1 } }\n'
           '[sandboxes.providers.modal]\ncommand = ["true"]\n'
           'params = { own = 1 }\n')
    assert run("config").err == ""
