# %% [markdown]
# # How long bytes are kept
#
# Retention is the time from the write of a byte to the last read before it is written again or freed. Its survival curve says
# what share of the bytes written are needed longer than a time: a memory that forgets after that time would lose so much.

# %%
import sys
from pathlib import Path

import pandas as pd

# The folder of the run: the argument of a script; in Jupyter the one of the notebook, or what you write here.
run = Path(sys.argv[1] if len(sys.argv) > 1 and "ipykernel" not in sys.modules else ".")
metrics = pd.read_parquet(run / "metrics.parquet")
curves = pd.read_parquet(run / "curves.parquet")

# %% [markdown]
# The quantiles of each class. Where bytes outlived the run the figure is a bound: the run says at least so long.

# %%
quantiles = metrics[metrics.metric.str.match(r"retention_p\d+_ns")].copy()
for end in ["value", "lo", "hi"]:
    quantiles[end] /= 1e9
shown = quantiles[quantiles.status.isin(["ok", "bound"])]
columns = ["region_type", "phase", "metric", "status", "lo", "value", "hi", "n", "n_censored"]
print(shown[columns].to_string(index=False) if len(shown) > 0 else "no quantile is known")
if len(shown) < len(quantiles):
    why = quantiles.why.mode().iat[0]
    print(f"{len(quantiles) - len(shown)} others have no value, mostly for this reason: {why}")

# %% [markdown]
# The curves, a line a point: `#` is the share that is still needed after so many seconds.

# %%
for (region_type, phase), curve in curves[curves.curve == "retention"].groupby(["region_type", "phase"]):
    points = curve[curve.x.notna()].sort_values("x")
    if points.empty:
        print(f"\n{region_type} ({phase}): no curve: {curve.why.iloc[0]}")
        continue
    print(f"\n{region_type} ({phase})")
    for point in points.iloc[:: max(1, len(points) // 12)].itertuples():
        print(f"{point.x / 1e9:10.3g} s {point.y:6.1%} {'#' * round(40 * point.y)}")
