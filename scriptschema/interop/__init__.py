"""Data exchange with protobuf's own tools: the `.proto` file, descriptors, text format and JSON.

Everything is derived from `messages.py`. Text format and descriptors use protobuf's Python runtime.
"""

from scriptschema.codec.errors import FormatError
from scriptschema.interop.descriptors import file_descriptor_set, proto_source
from scriptschema.interop.protojson import Unknown, from_json, to_json
from scriptschema.interop.text import from_text, to_text

__all__ = [
    "FormatError",
    "Unknown",
    "file_descriptor_set",
    "from_json",
    "from_text",
    "proto_source",
    "to_json",
    "to_text",
]
