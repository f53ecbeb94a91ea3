"""Names that 0.3 no longer has: messages about them say what to do instead. The table goes with 0.4."""

from __future__ import annotations

from collections.abc import Mapping

_BY_REMEDY = {
    "Leave it out.": "option solve --priority, option search --islands, option search --random, "
    "option evaluate --seconds, option evaluate --memory, option pack --count, option run --engine, "
    "option traces describe --flavours, workload.inflate.draws, workload.fitted, workload.parts.least, "
    "workload.parts.work, workload.flavours.parts.least, workload.flavours.parts.work, workload.networks.hose.group, "
    "workload.networks.hose.oversubscription, knowledge.training, rescheduling.within, overflow.make_room.within, "
    "cluster.contention, cluster.cells, costs.servers.reserved, metric plans_late, train.device, "
    "train.agent.cvd-rl.layers, train.agent.cvd-rl.width, train.agent.nara.width, train.agent.sched-rl.hidden, "
    "train.agent.sched-rl.width, agents.tetris.near, agents.tetris.penalty, agents.tetris.routes, "
    "agents.tetris.score, agents.nulb.routes, agents.nulb.score, agents.nalb.routes, agents.nalb.score, "
    "agents.nalb.search, agents.nilas.steps, agents.in-line.reservations",
    "In Python, it is an argument of `bw.solve`, `bw.search`, `bw.tune` or `bw.Evaluator`.": "option solve --seed, "
    "option solve --search, option search --seeds, option search --validation, option search --test, "
    "option search --seed, option tune --seed, option evaluate --baseline, option evaluate --on",
    "Take `binwright COMMAND --help`.": "command man, command completion, command help",
    "Take `binwright list` with movers, scenarios, topology, traces, devices, figures or schema.": "command movers, "
    "command scenarios, command schema, command topology, command traces list, command workloads, "
    "option solve --devices, option figures --list",
    "Take `binwright.Client`, or curl.": "command jobs, option solve --server, option solve --token-file",
    "`binwright run` shows how far it is; `binwright report` draws what is finished.": "command watch",
    "Other tools read runs.parquet; in Python, `bw.load(FOLDER).runs.write_csv(FILE)`.": "command export",
    "Take `binwright solve FILE --explain ANSWER`.": "command explain",
    "Take `binwright traces describe FILE --fit`.": "command fit",
    "CSV is read as it is, compressed or not; `polars` writes Parquet of it.": "command traces convert",
    "Correct the rows that the message names, or leave them out with `keep`.": "workload.faulty, "
    "option traces describe --drop-faulty",
    "Write `workload: {start: ...}` in a scenario, and fit that.": "option traces describe --start",
    "Size one kind at a time: `--set size.kind=GROUP`.": "option size --kind, option size --mix, size.mix, figure mix",
    "Take `--set size.most=N`.": "option size --most",
    "Take cpu.": "device reference",
    "Take the pages that are written into --out.": "option reproduce --pages",
    "Name them in a scenario: agents: [{nara: {path: FILE.safetensors}}].": "option reproduce --weights",
    "Jobs run on the processor; `binwright solve --device opencl` uses a graphics card.": "option serve --device",
    "Begin the training: its line says how long the rest takes.": "option train --dry-run",
    "Write it into the scenario, below `figures` or `headings`, and run that again.": "option figures --font, "
    "option figures --format, option figures --no-titles, option figures --size, option figures --style, "
    "option figures --text, option figures --width, option compare --heading, option figures --heading, "
    "option report --heading",
    "Leave it out; `binwright run --on` uses a Ray cluster.": "option search --on, option serve --on, "
    "option train --on, option tune --on",
    "Name both folders; --baseline BEFORE/AGENT sets the others beside it.": "option compare --since",
    "Take --out FILE.csv; in Python, `bw.load(FOLDER).compare(...).frame`.": "option compare --fail-if",
    "Name a file with --out: its ending says the format.": "option compare --format",
    "Take --json, or in Python `bw.solve(FILE).alloc`.": "option solve --csv",
    "Change it in the scenario that is written.": "option init --overflow, option init --agents",
    "Open the file that the command names.": "option report --open",
    "Add it to the scenario's `agents`.": "option search --beside",
    "Take --evaluations.": "option search --minutes",
    "Name another folder with --out.": "option search --fresh",
    "Write each instance into a file.": "option pack --instance",
    "In Python, what `pack(...)` gives has in `found` after how many seconds it was there.": "option pack --figure",
    "Take azure or azure-like.": "demand openb",
    "Draw requests by a workload of your own, or take a log as swf.": "workload.lublin, "
    "workload.arrivals.poisson.growth, sites.flexible",
    "Write `holding: H`: requests stay 1 to H steps.": "workload.load",
    "Move every so often (`every`), or take another number in `overcommit`.": "rescheduling.on_load",
    "Give those who are to stay a higher priority.": "overflow.preempt.budgets",
    "Take dot-product, or a `formula`.": "agent alpha-evolve",
    "Take worst-fit.": "agent least-peak",
    "Take vm-first-fit.": "agent vm-random",
    "Take a formula, value-es or a heuristic, the best under your load.": "agent adaptive",
    "Take `{best-home: {cut_off: 1}}`.": "agent cheapest-candidate",
    "Take fgd.": "agent gpu-lookahead",
    "Take nilas.": "agent lava",
    "Take in-line with an order, such as f1.": "agent rl-scheduler, trainer rl-scheduler",
    "Take empty, or agent.": "mover defragment, mover deschedule, mover lars, mover vmr, trainer vmr",
    "Write a row per machine into a CSV (first and last Timestamp, largest size), and take table.": "trace bitbrains",
    "Write `form: text` for the publication's reading; ours is `form: ours`.": "train.agent.nara.features, "
    "train.agent.nara.free, train.agent.nara.initial, train.agent.nara.normalise, train.agent.nara.readout, "
    "train.agent.nara.value",
    "Take `fair`, or a function of your own of `(view, request)`.": "agents.in-line.order.multifactor",
    "Draw `differences`.": "figure summary, figure bars, figure seeds, figure critical-difference",
    "Draw `sweep`, with --x and --metric.": "figure load, figure runtime",
    "Draw `timeline` of runs with `record: [use]` or `[sites]`.": "figure contention, figure sites",
    "Draw `spread`; the requests' `links` and `servers` are recorded.": "figure distances",
    "Draw a figure of your own from what `record` keeps.": "figure decisions, figure demands",
    "Take a `style`: ieee, acm, lncs, slides.": "figures.size, figures.font, figures.text",
    "Average what `record: [devices]` keeps.": "metric fragmented_gpu_both, metric fragmented_gpu_devices, "
    "metric fragmented_gpu_cpu, metric fragmented_gpu_model, metric fragmented_gpu_no_devices_asked, "
    "metric fragmented_gpu_no_devices_asked_no_cpu",
    "Take income_month, cost_month or net_month.": "metric income_year, metric cost_year, metric net_year, metric net",
REMOVED: Mapping[str, str] = {
    "command watch": "`binwright run` shows how far it is; `binwright report` draws what is finished.",
    "command export": "Other tools read runs.parquet; in Python, `bw.load(FOLDER).runs.write_csv(FILE)`.",
    "command man": "Take `binwright COMMAND --help`.",
    "command completion": "Take `binwright --help`.",
    "command explain": "Take `binwright solve FILE --explain ANSWER`.",
    "command fit": "Draw new traces from blocks of the old one: `workload: {resample: {block: 1 d}}`.",
    "command help": "Take `binwright COMMAND --help`.",
    "command jobs": "Take `binwright.Client`, or curl: GET /v1/problems, GET or DELETE /v1/problems/ID.",
    "command movers": "Take `binwright list movers`.",
    "command scenarios": "Take `binwright list scenarios`.",
    "command schema": "Take `binwright list schema > FILE`.",
    "command topology": "Take `binwright list topology NAME`; `binwright figures --kind topology` draws one.",
    "command traces convert": "CSV is read as it is, compressed or not; `polars` writes Parquet of it.",
    "option traces describe --drop-faulty": "Correct the rows that the message names, or leave them out with `keep`.",
    **{
        f"workload.{of}.{key}": "Gangs get places for all of their parts: take it out."
        for of in ("parts", "flavours.parts")
        for key in ("least", "work")
    },
    **{
        f"workload.networks.hose.{key}": "Every machine has the bandwidth to one virtual switch: take it out."
        for key in ("group", "oversubscription")
    },
    "workload.changes": "Write `time_scale: 0.8` for a quarter more requests per hour; `keep` leaves some out.",
    "workload.use.others.path": "Give each request's mean and peak in columns: `{mean: avg, peak: max}`.",
    "workload.faulty": "Correct the rows that the message names, or leave them out with `keep`.",
    "workload.load": "Write `holding: H`: requests stay 1 to H steps.",
    "workload.inflate.draws": "Leave it out: seeds have the requests of FGD's experiments.",
    "workload.lublin": "Take the trace lublin-1 or another log as swf, or draw jobs by a workload of your own.",
    "command traces list": "Take `binwright list traces`.",
    "command workloads": "Take `binwright list workloads`.",
    "option size --kind": "Take `--set size.kind=GROUP`.",
    "option size --mix": "Size one kind at a time: `--set size.kind=GROUP`.",
    "option size --most": "Take `--set size.most=N`.",
    "option solve --devices": "Take `binwright list devices`.",
    "device reference": "Take cpu.",
    "option solve --priority": "Leave it out: the service is first come first served.",
    "option solve --server": "Take `binwright.client.Client(URL).solve(TEXT, tables=...)`, or curl.",
    "option solve --token-file": "Take `binwright.client.Client(URL, TOKEN)`.",
    "option reproduce --pages": "Take the pages that are written into --out.",
    "option reproduce --weights": "Name them in a scenario: agents: [{nara: {path: FILE.safetensors}}].",
    "option serve --device": "Jobs run on the processor; `binwright solve --device opencl` uses a graphics card.",
    "option train --dry-run": "Begin the training: its line says how long the rest takes.",
    "option figures --list": "Take `binwright list figures`.",
    **{
        f"option figures --{look}": "Write it below `figures` in the scenario, and run that again."
        for look in ("font", "format", "no-titles", "size", "style", "text", "width")
    },
    **{
        f"option {command} --heading": "Write `headings: {NAME: TEXT}` in the scenario, and run that again."
        for command in ("compare", "figures", "report")
    },
    **{
        f"option {command} --on": "Leave it out; `binwright run --on` uses a Ray cluster."
        for command in ("search", "serve", "train", "tune")
    },
    "option compare --since": "Name both folders; --baseline BEFORE/AGENT sets the others beside it.",
    "option compare --fail-if": "Take --out FILE.csv; in Python, `bw.load(FOLDER).compare(...).frame`.",
    "option solve --csv": "Take --json, or in Python `bw.solve(FILE).alloc`.",
    "option solve --seed": "In Python: `bw.solve(FILE, seed=N)`.",
    "option compare --format": "Name a file with --out: its ending says the format.",
    "option init --overflow": "Change `overflow` in the scenario that is written.",
    "option init --agents": "Change `agents` in the scenario that is written.",
    **{
        f"option traces describe --{option}": "Draw from blocks of the trace: `workload: {resample: {block: 1 d}}`."
        for option in ("fit", "flavours", "start")
    },
    "option search --seeds": "In Python: `bw.search(..., seeds=N)`.",
    "option search --validation": "In Python: `bw.search(..., validation=N)`.",
    "option search --test": "In Python: `bw.search(..., test=N)`.",
    "option evaluate --baseline": "In Python: `bw.Evaluator(..., baseline=POLICY)`.",
    "option evaluate --on": "In Python: `bw.Evaluator(...)(POLICY, on='test')`.",
    "option report --open": "Open the file that the command names.",
    "option solve --search": "In Python: `bw.solve(FILE, search='published')`.",
    "option tune --seed": "In Python: `bw.tune(..., seed=N)`.",
    "option search --beside": "Add it to the scenario's `agents`.",
    "option search --islands": "Leave it out: every rule is proposed at random.",
    "option search --random": "Leave it out: every rule is proposed at random.",
    "option search --minutes": "Take --evaluations.",
    "option search --seed": "In Python: `bw.search(..., seed=N)`.",
    "option search --fresh": "Name another folder with --out.",
    "option evaluate --seconds": "Leave it out: formulas are played, and none runs for ever.",
    "option evaluate --memory": "Leave it out: formulas are played, which need none.",
    "option pack --count": "Leave it out: inputs have machines of their own.",
    "option pack --instance": "Write each instance into a file; those of the OR-Library are `binpack1` to `binpack4`.",
    "demand openb": "Take azure or azure-like.",
    "option pack --figure": "In Python, what `pack(...)` gives has in `found` after how many seconds it was there.",
    "option run --engine": "Leave it out: one loop plays every run.",
    "figure mix": "Draw `size`: how many servers of one kind each agent needs.",
    "size.mix": "Size one kind at a time: `kind`.",
    "rescheduling.on_load": "Move every so often (`every`), or take another number in `overcommit`.",
    "workload.arrivals.poisson.growth": "Draw requests that come more often by a workload of your own.",
    "workload.fitted": "Leave it out.",
    "sites.flexible": "Draw requests that come later by a workload of your own.",
    "knowledge.training": "Leave it out: predictors learn from the rows before the first possible start.",
    "moves.per_hour": "Leave it out: `at_once` and the `moves` of each plan bound them.",
    "moves.fixed": "Leave it out, or write a mover of your own.",
    "autoscale.below": "Leave it out, or reschedule every so often with the mover empty.",
    "rescheduling.within": "Leave it out: how long plans take is not counted.",
    "overflow.make_room.within": "Leave it out: how long plans take is not counted.",
    "overflow.preempt.budgets": "Give those who are to stay a higher priority.",
    "metric plans_late": "Leave it out: how long plans take is not counted.",
    "agent alpha-evolve": "Take dot-product; or write its rule as a `formula` of `free_cpu` and `demand_cpu`.",
    "agent least-peak": "Take worst-fit.",
    "agent vm-random": "Take vm-first-fit, a control that looks at no bandwidth either.",
    "agent adaptive": "Compare rules under your load, and take the best: a formula, value-es or a heuristic.",
    "agent cheapest-candidate": "Take `{best-home: {cut_off: 1}}`.",
    "agent gpu-lookahead": "Take fgd.",
    "agent lava": "Take nilas.",
    "agent rl-scheduler": "Take in-line with an order, such as f1.",
    "trainer rl-scheduler": "Orders of a queue are not learned; take in-line with an order, such as f1.",
    "mover defragment": "Take empty, or agent with an agent of yours, which lower fragments, too.",
    "mover deschedule": "Take `{agent: {agent: fgd}}`.",
    "mover lars": "Take empty, or agent.",
    "mover vmr": "Take empty, or agent.",
    "trace bitbrains": "Write a row per machine into a CSV (first and last Timestamp, largest size), and take table.",
    "trainer vmr": "Movers do not learn; take empty, or agent.",
    "train.device": "Leave it out: training is on CPUs.",
    "train.agent.cvd-rl.layers": "Leave it out: the network has six layers of weights.",
    "train.agent.cvd-rl.width": "Leave it out: the network has 32 units between layers.",
    "train.agent.nara.width": "Leave it out: the network has 16 numbers per vertex.",
    "train.agent.sched-rl.hidden": "Leave it out: the network has two shared layers.",
    "train.agent.sched-rl.width": "Leave it out: the network has 128 units in its shared layers.",
    **{
        f"train.agent.nara.{part}": "Write `form: text` for the publication's reading; ours is `form: ours`."
        for part in ("features", "free", "initial", "normalise", "readout", "value")
    },
    "agents.in-line.order.multifactor": "Take `fair`, or a function of your own of `(view, request)`.",
    "agents.tetris.near": "Leave it out; with `links: misplaced` the rack of earlier requests counts, as published.",
    **{
        f"agents.{agent}.{option}": "Leave it out."
        for agent, options in {
            "tetris": ("penalty", "routes", "score"),
            "nulb": ("routes", "score"),
            "nalb": ("routes", "score", "search"),
            "nilas": ("steps",),
            "in-line": ("reservations",),
        }.items()
        for option in options
    },
    "cluster.cells": "Leave it out: one cluster of a million servers is as fast, and `sites` route.",
    "figure summary": "Draw `differences`, which begins with the paired differences.",
    "figure bars": "Draw `differences`: the means of every agent with their intervals, too.",
    "figure seeds": "Draw `differences`: its faint dots are the seeds.",
    "figure load": "Draw `sweep --x load_RESOURCE`.",
    "figure runtime": "Draw `sweep --x servers --metric decision_us`.",
    "figure contention": "Draw `timeline` of runs with `record: [use]`.",
    "figure sites": "Draw `timeline` of runs with `record: [sites]`.",
    "figure distances": "Draw `spread`; the requests' `links` and `servers` are recorded.",
    "figure decisions": "Draw a figure of your own from what `record: [times]` keeps.",
    "figure critical-difference": "`differences` shows each agent against the baseline, `compare` all pairs.",
    **{
        f"metric fragmented_gpu_{cause}": f"Average `fragments_{cause}` of what `record: [devices]` keeps."
        for cause in ("both", "devices", "cpu", "model", "no_devices_asked", "no_devices_asked_no_cpu")
    },
    **{
        f"metric {name}": "Write a metric of your own, which gets a `FinishedRun`: page 'Results'."
        for name in (
            *("blocked", "borrowed", "bought_hours", "contended_requests", "contended_worst", "contention_max"),
            *("contention_p95", "cost_moves", "cost_servers", "downtime", "fragmented_gpu_end", "gang_racks"),
            *("income_booked", "links_allocation_end", "links_utilisation", "moved", "moves_for_load"),
            *("moves_under_way", "plan_ms", "postponed", "postponed_by", "power", "power_peak", "running"),
            *("scheduled_bound", "server_hours", "server_hours_used", "servers_per_request", "spot_evicted"),
            *("wait_max", "wait_p50", "wait_p99", "woken"),
            *(f"{what}_{part}" for what in ("turnaround", "slowdown") for part in ("p50", "p95", "p99")),
        )
    },
    **{f"metric {what}_year": f"Take {what}_month." for what in ("income", "cost", "net")},
    "metric net": "Take net_month.",
    **dict.fromkeys(("figures.size", "figures.font", "figures.text"), "Take a `style`: ieee, acm, lncs, slides."),
    "cluster.contention": "Leave it out: requests on a node lack the same share.",
    "costs.servers.reserved": "Leave it out; pay all servers that are on at one `price`.",
    "figure demands": "Draw the columns of `results.requests(RUN)`, which `record: [requests]` keeps.",
}
_METRICS = (
    "blocked borrowed bought_hours contended_requests contended_worst contention_max contention_p95 cost_moves "
    "cost_servers downtime fragmented_gpu_end gang_racks income_booked links_allocation_end links_utilisation moved "
    "moves_for_load moves_under_way plan_ms postponed postponed_by power power_peak running scheduled_bound "
    "server_hours server_hours_used servers_per_request spot_evicted wait_max wait_p50 wait_p99 woken turnaround_p50 "
    "turnaround_p95 turnaround_p99 slowdown_p50 slowdown_p95 slowdown_p99"
)

REMOVED: Mapping[str, str] = {
    name: remedy for remedy, names in _BY_REMEDY.items() for name in names.split(", ")
} | dict.fromkeys(
    (f"metric {name}" for name in _METRICS.split()),
    "Write a metric of your own, which gets a `FinishedRun`: page 'Results'.",
)
"""What to do instead of a key of the YAML (its path, without places in lists), or of a `KIND NAME`."""
