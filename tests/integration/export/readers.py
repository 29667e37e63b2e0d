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


@reader
def perfetto(path):
    """Tracks by name, with their slices and counts in order of time, by Perfetto's own definitions."""
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as definitions

    trace = definitions.Trace()
    trace.ParseFromString(path.read_bytes())
    names, parents, tracks, open_slices, unknown = {}, {}, {}, {}, 0
    for packet in trace.packet:
        unknown += len(packet.ListFields()) == 0
        if packet.HasField("track_descriptor"):
            about = packet.track_descriptor
            names[about.uuid] = about.process.process_name if about.HasField("process") else about.name
            parents[about.uuid] = names.get(about.parent_uuid)
        elif packet.HasField("track_event"):
            event = packet.track_event
            track = tracks.setdefault(names[event.track_uuid], [])
            if event.type == definitions.TrackEvent.TYPE_SLICE_BEGIN:
                about = {one.name: getattr(one, one.WhichOneof("value")) for one in event.debug_annotations}
                open_slices.setdefault(event.track_uuid, []).append((packet.timestamp, event.name, about))
            elif event.type == definitions.TrackEvent.TYPE_SLICE_END:
                begin, name, about = open_slices[event.track_uuid].pop()
                track.append([begin, packet.timestamp, name, about])
            else:
                assert event.HasField("counter_value")
                track.append([packet.timestamp, event.counter_value])
    clocks = trace.packet[0].clock_snapshot
    return {
        "tracks": tracks,
        "parents": {names[uuid]: parent for uuid, parent in parents.items()},
        "open": sum(len(left) for left in open_slices.values()),
        "unknown": unknown,
        "clock": clocks.primary_trace_clock == definitions.BUILTIN_CLOCK_MONOTONIC,
    }


@reader
def otlp_json(path):
    """The metrics by OpenTelemetry's own definitions, which refuse a field that they do not know."""
    from google.protobuf.json_format import Parse
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

    request = Parse(path.read_text(), ExportMetricsServiceRequest())
    [resource] = request.resource_metrics
    [scope] = resource.scope_metrics

    def value_of(one):
        return getattr(one, one.WhichOneof("value"))

    def points(metric):
        data = metric.gauge if metric.HasField("gauge") else metric.sum
        for point in data.data_points:
            about = {pair.key: value_of(pair.value) for pair in point.attributes}
            shown = None if point.flags & 1 else getattr(point, point.WhichOneof("value"))
            yield {**about, "value": shown, "time": point.time_unix_nano, "since": point.start_time_unix_nano}

    return {
        "resource": {pair.key: value_of(pair.value) for pair in resource.resource.attributes},
        "metrics": {metric.name: list(points(metric)) for metric in scope.metrics},
        "units": {metric.name: metric.unit for metric in scope.metrics},
    }


@reader
def hf(path):
    """Every configuration that the card names, loaded as people load it."""
    import os

    os.environ.update(HF_HUB_OFFLINE="1", HF_HOME=str(path.parent / "hf-home"), HF_DATASETS_DISABLE_PROGRESS_BARS="1")
    import datasets

    names = datasets.get_dataset_config_names(str(path))
    loaded = {name: datasets.load_dataset(str(path), name, split="train") for name in names}
    return {
        "rows": {name: table.num_rows for name, table in loaded.items()},
        "columns": {name: table.column_names for name, table in loaded.items()},
        "default": datasets.get_dataset_default_config_name(str(path)),
        "first": loaded["trace"][0],
    }


print(json.dumps(READERS[sys.argv[1].replace("-", "_")](Path(sys.argv[2])), default=str))
