"""The Python package's side of the comparison.

layout FROM TO  rewrites a trace as the package writes it: its columns, zstd, 100,000 rows a group
analyse FILE    times compute_all on the trace, read beforehand; prints one JSON object
"""

import json
import resource
import sys
import time

import pyarrow.parquet as pq
from mrm_trace import analyser
from mrm_trace.parser import ALL_COLUMNS


def layout(source, target):
    pq.write_table(pq.read_table(source, columns=list(ALL_COLUMNS)), target, compression="zstd", row_group_size=100_000)


def analyse(path):
    trace = pq.read_table(path).to_pandas()
    own = analyser.compute_iai
    iai = [0.0, 0.0]

    def timed(frame):
        wall, cpu = time.perf_counter(), time.process_time()
        result = own(frame)
        iai[0] += time.perf_counter() - wall
        iai[1] += time.process_time() - cpu
        return result

    analyser.compute_iai = timed
    wall, cpu = time.perf_counter(), time.process_time()
    analyser.compute_all(trace)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"seconds": wall, "cpu_s": cpu, "iai_s": iai[0], "iai_cpu_s": iai[1], "peak_rss_bytes": rss}))


{"layout": layout, "analyse": analyse}[sys.argv[1]](*sys.argv[2:])
