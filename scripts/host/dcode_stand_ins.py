# dcode_stand_ins.py - replaces modules that provider classes import.
# SPDX-License-Identifier: MIT
"""Defines the names that provider classes import from the packages deepagents
and deepagents_code. Used only if these are not installed: see StandIns.
"""
import abc
import asyncio
import dataclasses
import importlib.abc
import importlib.machinery
import os
import pathlib
import types

WORKDIR = "/workspace"


class SandboxError(Exception):
    """Base class of a provider's exceptions."""

    @property
    def original_exc(self):
        return self.__cause__


class SandboxNotFoundError(SandboxError):
    """There is no sandbox with this id."""


@dataclasses.dataclass(frozen=True)
class SandboxInstallHint:
    """The package to install. kind: "extra" or "package"."""

    kind: str
    name: str

    def command(self, *, in_app):
        words = ["/install" if in_app else "dcode install", self.name]
        if self.kind == "package":
            words.append("--package")
        return " ".join(words)


@dataclasses.dataclass(frozen=True)
class SandboxProviderMetadata:
    """Describes a provider, before it makes a sandbox."""

    name: str
    working_dir: str = WORKDIR
    install: object = None
    supports_sandbox_id: bool = True
    supports_snapshot_name: bool = False
    backend_module: str = None


class SandboxProvider(abc.ABC):
    """Creates and deletes sandboxes."""

    def __class_getitem__(cls, _item):
        return cls

    @property
    def metadata(self):
        return None

    @abc.abstractmethod
    def get_or_create(self, *, sandbox_id=None, **kwargs):
        raise NotImplementedError

    @abc.abstractmethod
    def delete(self, *, sandbox_id, **kwargs):
        raise NotImplementedError

    async def aget_or_create(self, *, sandbox_id=None, **kwargs):
        return await asyncio.to_thread(
            self.get_or_create, sandbox_id=sandbox_id, **kwargs
        )

    async def adelete(self, *, sandbox_id, **kwargs):
        await asyncio.to_thread(self.delete, sandbox_id=sandbox_id, **kwargs)


class ListingSandboxProvider(SandboxProvider):
    """The older interface, which also has list()."""

    def list(self, *, cursor=None, **kwargs):
        raise NotImplementedError

    async def alist(self, *, cursor=None, **kwargs):
        return await asyncio.to_thread(self.list, cursor=cursor, **kwargs)


@dataclasses.dataclass
class ExecuteResponse:
    """The output and the exit code of a command."""

    output: str
    exit_code: int = None
    truncated: bool = False


@dataclasses.dataclass
class FileUploadResponse:
    path: str
    error: str = None


@dataclasses.dataclass
class FileDownloadResponse:
    path: str
    content: bytes = None
    error: str = None


class BackendProtocol(abc.ABC):
    """Stores files. dcode calls none of its methods."""


class SandboxBackendProtocol(BackendProtocol):
    """Stores files and runs commands."""

    @property
    def id(self):
        raise NotImplementedError

    def execute(self, command, *, timeout=None):
        raise NotImplementedError

    async def aexecute(self, command, *, timeout=None):
        return await asyncio.to_thread(self.execute, command, timeout=timeout)

    def upload_files(self, files):
        raise NotImplementedError

    async def aupload_files(self, files):
        return await asyncio.to_thread(self.upload_files, files)

    def download_files(self, paths):
        raise NotImplementedError

    async def adownload_files(self, paths):
        return await asyncio.to_thread(self.download_files, paths)


class BaseSandbox(SandboxBackendProtocol):
    """A backend that accesses files by commands."""


class Record(dict):
    """Any other type. Backends return it from methods that dcode never calls.
    """

    def __init__(self, *args, **kwargs):
        super().__init__(**kwargs)
        self.args = args

    def __class_getitem__(cls, _item):
        return cls

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


def prefixed_variable(name):
    """Returns DEEPAGENTS_CODE_NAME if it is set, even to "", else NAME."""
    value = os.environ.get("DEEPAGENTS_CODE_" + name)
    return (os.environ.get(name) if value is None else value) or None


class ProjectContext:
    """The directory in which dcode was started."""

    def __init__(self):
        self.user_cwd = self.project_root = pathlib.Path.cwd()


def other_name(module):
    """Makes a module's __getattr__, for names that only methods of backends
    need."""

    def find(name):
        if name.startswith("__"):
            raise AttributeError(f"module {module!r} has no {name!r}")
        return type(name, (Record,), {"__module__": module})

    return find


PROVIDER_NAMES = {
    "SandboxError": SandboxError,
    "SandboxInstallHint": SandboxInstallHint,
    "SandboxNotFoundError": SandboxNotFoundError,
    "SandboxProvider": SandboxProvider,
    "SandboxProviderMetadata": SandboxProviderMetadata,
}
PROTOCOL_NAMES = {
    "ASYNC_GREP_TIMEOUT": 35,
    "BackendProtocol": BackendProtocol,
    "ExecuteResponse": ExecuteResponse,
    "FILE_NOT_FOUND": "file_not_found",
    "FileDownloadResponse": FileDownloadResponse,
    "FileOperationError": str,
    "FileUploadResponse": FileUploadResponse,
    "INVALID_PATH": "invalid_path",
    "IS_DIRECTORY": "is_directory",
    "PERMISSION_DENIED": "permission_denied",
    "SandboxBackendProtocol": SandboxBackendProtocol,
}
SANDBOX_NAMES = {
    **PROTOCOL_NAMES,
    "BaseSandbox": BaseSandbox,
    "SandboxError": SandboxError,
    "SandboxNotFoundError": SandboxNotFoundError,
    "SandboxProvider": ListingSandboxProvider,
}
# These contain modules. In other modules, an unknown name is a Record.
PACKAGES = (
    "deepagents",
    "deepagents_cli",
    "deepagents_cli.integrations",
    "deepagents_code",
    "deepagents_code.integrations",
)
STAND_INS = {
    "deepagents.backends": PROTOCOL_NAMES,
    "deepagents.backends.protocol": PROTOCOL_NAMES,
    "deepagents.backends.sandbox": SANDBOX_NAMES,
    "deepagents_code._env_vars": {
        "SERVER_ENV_PREFIX": "DEEPAGENTS_CODE_SERVER_"
    },
    "deepagents_code.integrations": PROVIDER_NAMES,
    "deepagents_code.integrations.sandbox_provider": PROVIDER_NAMES,
    "deepagents_code.model_config": {"resolve_env_var": prefixed_variable},
    "deepagents_code.project_utils": {
        "get_server_project_context": ProjectContext
    },
    "deepagents_cli.integrations": PROVIDER_NAMES,
    "deepagents_cli.integrations.sandbox_provider": PROVIDER_NAMES,
}


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """The last finder: finds only modules that are not installed."""

    ROOTS = ("deepagents", "deepagents_code", "deepagents_cli")

    def find_spec(self, fullname, path=None, target=None):
        if fullname.partition(".")[0] not in self.ROOTS:
            return None
        return importlib.machinery.ModuleSpec(
            fullname, self, is_package=True
        )

    def create_module(self, spec):
        return types.ModuleType(spec.name)

    def exec_module(self, module):
        module.__dict__.update(STAND_INS.get(module.__name__, {}))
        if module.__name__ not in PACKAGES:
            module.__getattr__ = other_name(module.__name__)
