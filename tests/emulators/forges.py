"""forges.py - the REST APIs of GitHub and GitLab, as far as --pr needs them.

What is checked of a request, from the vendors' OpenAPI descriptions: GitHub's
rest-api-description (2022-11-28, "pulls/list", "pulls/create") and GitLab's
openapi_v3.yaml ("getApiV4ProjectsIdMergeRequests", "postApiV4..."); required
and known members, their types, headers, statuses and bodies of errors.
"""
# SPDX-License-Identifier: MIT
import json
import re
import urllib.parse

GITHUB = {"title": str, "head": str, "head_repo": str, "base": str,
          "body": str, "maintainer_can_modify": bool, "draft": bool,
          "issue": int}
GITLAB = {"source_branch": str, "target_branch": str, "title": str,
          "description": str, "target_project_id": int, "labels": str,
          "remove_source_branch": bool, "squash": bool, "draft": bool}


class Forge:
    """answer() gives (status, JSON) for one request; opened has the bodies."""

    def __init__(self, token, host):
        self.token, self.host = token, host
        self.opened, self.fail = [], None

    def answer(self, method, target, headers, body):
        path, _, query = target.partition("?")
        query = dict(urllib.parse.parse_qsl(query))
        assert headers.get("User-Agent"), "GitHub refuses requests without"
        if headers.get("Authorization") != f"Bearer {self.token}":
            return 401, {"message": "Bad credentials"}
        if self.fail:
            return self.fail
        if hit := re.fullmatch(r"/api/v3/repos/([^/]+)/([^/]+)/pulls", path):
            return self.github(method, hit, query, headers, body)
        if hit := re.fullmatch(
                r"/api/v4/projects/([^/]+)/merge_requests", path):
            return self.gitlab(method, hit, query, body)
        return 404, {"message": "Not Found"}

    @staticmethod
    def check(body, known, required):
        body = json.loads(body)
        assert set(required) <= set(body) <= set(known), body
        for name, value in body.items():
            assert isinstance(value, known[name]), (name, value)
        return body

    def github(self, method, hit, query, headers, body):
        owner, repo = hit.groups()
        assert headers["Accept"] == "application/vnd.github+json"
        assert headers["X-GitHub-Api-Version"] == "2022-11-28"
        base = f"https://{self.host}/{owner}/{repo}/pull"
        if method == "GET":
            assert query["state"] in ("open", "closed", "all")
            return 200, [
                {"number": n, "html_url": f"{base}/{n}", "state": "open"}
                for n, one in enumerate(self.opened, 1)
                if query["head"] == f"{owner}:{one['head']}"]
        made = self.check(body, GITHUB, ("title", "head", "base"))
        if made["head"] in [one["head"] for one in self.opened]:
            return 422, {"message": "Validation Failed", "errors": [
                {"resource": "PullRequest", "code": "custom", "message":
                 f"A pull request already exists for {owner}:{made['head']}."
                 }]}
        self.opened.append(made)
        n = len(self.opened)
        return 201, {"number": n, "html_url": f"{base}/{n}", "state": "open"}

    def gitlab(self, method, hit, query, body):
        project = urllib.parse.unquote(hit.group(1))
        base = f"https://{self.host}/{project}/-/merge_requests"
        if method == "GET":
            assert query["state"] in ("opened", "closed", "merged", "all")
            return 200, [
                {"iid": n, "web_url": f"{base}/{n}", "state": "opened"}
                for n, one in enumerate(self.opened, 1)
                if one["source_branch"] == query["source_branch"]]
        made = self.check(body, GITLAB, ("source_branch", "target_branch",
                                         "title"))
        self.opened.append(made)
        n = len(self.opened)
        return 201, {"iid": n, "web_url": f"{base}/{n}", "state": "opened"}
