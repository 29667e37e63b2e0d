"""Reads what an export wrote with the library that people use for its format; prints one JSON object.

usage: readers.py FORMAT PATH
"""

import json
import sys
from pathlib import Path

READERS = {}


def reader(function):
    READERS[function.__name__] = function
    return function


@reader
def arrow(path):
    import polars
    import pyarrow

    with pyarrow.memory_map(str(path)) as source:
        table = pyarrow.ipc.open_file(source).read_all()
        return {
            "rows": table.to_pylist(),
            "types": {field.name: str(field.type) for field in table.schema},
            "units": {field.name: field.metadata[b"unit"].decode() for field in table.schema},
            "named": table.schema.metadata[b"mrm_trace_table"].decode(),
            "polars": polars.read_ipc(path).to_dicts() == table.to_pylist(),
        }


@reader
def csv(path):
    import polars

    table = polars.read_csv(path, infer_schema_length=None)
    return {"rows": table.to_dicts()}


print(json.dumps(READERS[sys.argv[1]](Path(sys.argv[2])), default=str))
