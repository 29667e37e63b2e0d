# %% [markdown]
# # How often bytes are written
#
# Memory whose cells wear out, or whose writes are dear, wants data that is written once and read often. That depends on the grain:
# of a block that is written in two halves no byte is written twice.

# %%
import sys
from pathlib import Path

import pandas as pd

# The folder of the run: the argument of a script; in Jupyter the one of the notebook, or what you write here.
run = Path(sys.argv[1] if len(sys.argv) > 1 and "ipykernel" not in sys.modules else ".")
metrics = pd.read_parquet(run / "metrics.parquet")
kv = pd.read_parquet(run / "kv_block_lifecycle.parquet")

# %% [markdown]
# By class and grain: the share of what was written that was written once, and how often a byte is read for each write of it.

# %%
figures = metrics[metrics.metric.isin(["write_once_ratio", "reads_per_write", "writes_per_byte_per_token"])]
shown = figures[figures.status.isin(["ok", "bound"])]
columns = ["metric", "region_type", "phase", "grain_bytes", "status", "lo", "value", "hi", "n"]
print(shown[columns].to_string(index=False))
print(f"{len(figures) - len(shown)} others have no value, mostly for this reason: {figures.why.mode().iat[0]}")

# %% [markdown]
# Rows of the KV cache one by one: each is written when its token is decoded, and needed by every later step of its sequence.

# %%
if kv.empty:
    print("no engine told of a KV cache")
else:
    needed = kv.groupby("layer").agg(
        rows=("block_id", "size"), reads=("total_reads", "mean"), kept_s=("lifetime_ns", lambda ns: ns.mean() / 1e9)
    )
    print(needed)
