# %% [markdown]
# # Which allocator is better, by how much, and can the seeds tell?
#
# An editor that knows `# %%` (VS Code, PyCharm, Jupytext) shows this file as a notebook. It also runs as a script:
# results go to `results/` where it is started. The tests run it cell by cell.

# %%
from pathlib import Path

import polars as pl

import binwright as bw

# %% [markdown]
# ## Run
#
# The shipped scenario with fewer requests, servers and seeds. The same cell again computes nothing.

# %%
CHANGED = ("workload.requests=1000", "replications=8", "agents=[best-fit, first-fit, worst-fit]")
results = bw.run("quickstart", *CHANGED, "cluster.servers=4", out="results/small")
results.table()

# %% [markdown]
# ## Compare
#
# In any later notebook these three lines are all: every agent beside the baseline, paired by seed.

# %%
results = bw.load("results/small")
comparison = results.compare(baseline="best-fit")
comparison

# %% [markdown]
# The same as a polars frame, to filter and to draw. docs/results/results.md describes its columns.

# %%
comparison.frame.filter(pl.col("verdict").is_in(["better", "worse"])).select(
    "agent", "metric", "diff", "diff_low", "diff_high", "relative", "p"
)

# %% [markdown]
# ## Two settings side by side
#
# The same requests on one more server. The folder's name is added to agents that both folders have.

# %%
larger = bw.run("quickstart", *CHANGED, "cluster.servers=5", out="results/larger")
both = bw.Comparison([results, larger], baseline="small/best-fit", metrics=["acceptance", "income_month"])
both

# %% [markdown]
# ## Into a paper

# %%
Path("results/comparison.tex").write_text(both.latex(), encoding="utf-8")
Path("results/comparison.csv").write_text(both.csv(), encoding="utf-8")

# %% [markdown]
# ## The runs themselves
#
# A row per run, with every metric.

# %%
results.runs.group_by("agent", maintain_order=True).agg(pl.col("acceptance", "wait_p95", "decision_us").mean())
