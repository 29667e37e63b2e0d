# %% [markdown]
# # How much is touched
#
# The working set is the bytes that are touched within a window of time. A tier that holds them serves that window without the next one.

# %%
import sys
from pathlib import Path

import pandas as pd

# The folder of the run: the argument of a script; in Jupyter the one of the notebook, or what you write here.
run = Path(sys.argv[1] if len(sys.argv) > 1 and "ipykernel" not in sys.modules else ".")
metrics = pd.read_parquet(run / "metrics.parquet")
curves = pd.read_parquet(run / "curves.parquet")
timeline = pd.read_parquet(run / "process_timeline.parquet")

# %% [markdown]
# What each class has in memory and what of it is touched. A `bound` has one end alone.

# %%
figures = metrics[metrics.metric.isin(["allocated_bytes", "resident_bytes", "working_set_bytes", "unique_bytes_total"])]
shown = figures[figures.status.isin(["ok", "bound"])]
columns = ["region_type", "phase", "metric", "grain_bytes", "status", "lo", "value", "hi"]
print(shown[columns].to_string(index=False))
print(f"{len(figures) - len(shown)} others have no value, mostly for this reason: {figures.why.mode().iat[0]}")

# %% [markdown]
# The curve over windows: bytes touched within x.

# %%
for region_type, curve in curves[curves.curve == "working_set"].groupby("region_type"):
    points = curve[curve.x.notna()].sort_values("x")
    if points.empty:
        print(f"{region_type}: no curve: {curve.why.iloc[0]}")
    for point in points.itertuples():
        print(f"{region_type} {point.x / 1e9:10.3g} s {point.y / 2**20:10.3f} MiB")

# %% [markdown]
# Resident memory of the processes over time, as /proc told it.

# %%
if timeline.empty:
    print("no reading of /proc")
else:
    seconds = (timeline.timestamp_ns - timeline.timestamp_ns.min()) / 1e9
    most = timeline.rss_bytes.max()
    for second, rss in list(zip(seconds, timeline.rss_bytes))[:: max(1, len(timeline) // 20)]:
        print(f"{second:8.1f} s {rss / 2**20:9.1f} MiB {'#' * round(40 * rss / most)}")
