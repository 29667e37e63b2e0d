"""What a run says, in pandas."""

import sys
from pathlib import Path

import pandas as pd

run = Path(sys.argv[1])
pd.options.display.float_format = "{:.4g}".format

# Figures with a value, by class of data; times in s.
metrics = pd.read_parquet(run / "metrics.parquet")
known = metrics[(metrics.status == "ok") & (metrics.scope == "class")].copy()
in_ns = known.unit == "ns"
known.loc[in_ns, ["value", "lo", "hi"]] /= 1e9
known.loc[in_ns, "unit"] = "s"
print(known[["metric", "region_type", "phase", "value", "lo", "hi", "unit", "n", "step"]].to_string(index=False))

# Why the others have none, and how often.
print(metrics[metrics.status != "ok"].groupby(["status", "why"], dropna=False).size().sort_values(ascending=False).head(5))

# The regions that were seen to be used most.
regions = pd.read_parquet(run / "region_map.parquet")
regions["lived_s"] = (regions.death_ns - regions.birth_ns) / 1e9
used = regions.sort_values(["access_count", "size_bytes"], ascending=False).head(10)
print(used[["name", "region_type", "size_bytes", "lived_s", "access_count"]].to_string(index=False))
