"""What a run says, in polars: only the columns and rows that are asked for are read."""

import sys
from pathlib import Path

import polars as pl

run = Path(sys.argv[1])
pl.Config(tbl_cols=-1, tbl_width_chars=160, tbl_rows=40, fmt_str_lengths=40)

# Figures with a value, by class of data.
known = (
    pl.scan_parquet(run / "metrics.parquet")
    .filter((pl.col("status") == "ok") & (pl.col("scope") == "class"))
    .select("metric", "region_type", "phase", "value", "lo", "hi", "unit", "n", "step")
    .sort("metric", "region_type", "phase")
    .collect()
)
print(known)

# Loads and stores seen of each class. A row stands for as many accesses as its period says.
accesses = (
    pl.scan_parquet(run / "trace" / "*.parquet")
    .group_by("region_type", "source", "op_type")
    .agg(pl.col("period").sum().alias("accesses"))
    .sort("accesses", descending=True)
    .collect()
)
print(accesses)
