#!/usr/bin/python3
# modal_messages.py - Modal's messages for the emulator, from providers/*.proto.
# SPDX-License-Identifier: MIT
"""pb.SandboxCreateRequest and so on: classes that python3-protobuf makes from
what protoc-c says about the file. parse() is strict: a field that the file does
not have is refused, unless the official SDK sends it."""
import pathlib
import subprocess
import tempfile
import types

from google.protobuf import (
    descriptor_pb2, descriptor_pool, json_format, message_factory)

from cloud import Invalid

TOP = pathlib.Path(__file__).resolve().parents[2]


def load():
    with tempfile.NamedTemporaryFile() as f:
        subprocess.run(["protoc-c", f"--descriptor_set_out={f.name}",
                        "--proto_path=providers/modal", "modal.proto"], cwd=TOP,
                       check=True)
        files = descriptor_pb2.FileDescriptorSet.FromString(f.read())
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    factory = message_factory.MessageFactory(pool)
    return types.SimpleNamespace(**{
        name: factory.GetPrototype(pool.FindMessageTypeByName(f"modal.{name}"))
        for file in files.file for name in
        (m.name for m in file.message_type)})


pb = load()


def unknown(message, where):
    """Numbers of fields that the file does not have, at any depth."""
    for field in message.UnknownFields():
        yield f"{where}.{field.field_number}"
    for field, value in message.ListFields():
        if field.type != field.TYPE_MESSAGE or \
                field.message_type.GetOptions().map_entry:
            continue
        for item in value if field.label == field.LABEL_REPEATED else [value]:
            yield from unknown(item, f"{where}.{field.name}")


def as_json(message):
    """The message as the JSON that the protocol's mapping gives it."""
    return json_format.MessageToDict(message, preserving_proto_field_name=True)


def parse(kind, data, lenient):
    try:
        message = kind.FromString(data)
    except Exception as e:
        raise Invalid(f"{kind.DESCRIPTOR.name}: {e}") from e
    strange = list(unknown(message, kind.DESCRIPTOR.name))
    if strange and not lenient:
        raise Invalid(f"unknown fields: {strange}")
    return message
