"""perf script text to the Python package's labelled trace, streaming: parse, normalise, label, write.

perf_script_to_parquet.py TEXT PARQUET
"""

import sys

from mrm_trace.labeller import TraceLabeller
from mrm_trace.parser import normalise_rows, parse_perf_script, write_parquet

source, target = sys.argv[1:]
rows = TraceLabeller().label(normalise_rows(parse_perf_script(source, "bench")))
print(write_parquet(rows, target))
