"""Names that 0.3 no longer has: messages about them say what to do instead. The table goes with 0.4."""

from collections.abc import Mapping

_BY_REMEDY = {
    "Leave it out.": "option solve --priority, option search --islands, option search --random, option figures --at, "
    "option evaluate --seconds, option evaluate --memory, option pack --count, option pack --seeds, "
    "option run --engine, option run --verbose, option run -v, workload.use.*.busiest, workload.use.*.persists, "
    "moves.fixed, moves.per_hour, workload.inflate.draws, workload.fitted, "
    "workload.parts.least, workload.parts.work, workload.flavours.parts.least, workload.flavours.parts.work, "
    "workload.networks.hose.group, workload.networks.hose.oversubscription, knowledge.training, "
    "rescheduling.within, overflow.make_room.within, overflow.wait.window, cluster.contention, "
    "cluster.cells, costs.servers.reserved, metric plans_late, train.device, train.threads, "
    "train.agent.cvd-rl.layers, train.agent.cvd-rl.width, train.agent.nara.width, train.agent.sched-rl.hidden, "
    "train.agent.sched-rl.width, train.agent.nara.value_clip, train.agent.padrl.learning, agents.tetris.near, "
    "agents.tetris.penalty, agents.tetris.routes, agents.tetris.score, agents.nulb.routes, agents.nulb.score, "
    "agents.nalb.routes, agents.nalb.score, agents.nalb.search, agents.nilas.steps, agents.in-line.reservations, "
    "train.agent.cvd-rl.lessons, train.agent.cvd-rl.teacher, train.agent.cvd-rl.paired, train.agent.sched-rl.lessons, "
    "train.agent.sched-rl.teacher, train.agent.sched-rl.paired, train.agent.cvd-rl.decomposition, "
    "agents.cvd-rl.decomposition",
    "Write how many candidates each rule names: `filter: {best-fit: 2, internal: 3}`.": "agents.cvd-rl.k, "
    "agents.random-top.k, train.agent.cvd-rl.k",
    "Train once for each setting: `--set train.agent.nara.rate=0.0005 --out FOLDER`.": "train.sweep",
    "Take value-es with `sizes: 12`, which knows kinds of servers.": "train.agent.cvd-rl.sizes",
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
    "Take `binwright traces describe --fit`.": "command fit",
    "Leave it out; `start` of a scenario's trace says where to begin.": "option traces describe --flavours, "
    "option traces describe --start",
    "Write it beside `groups`, for all servers.": "cluster.groups.overcommit",
    "Write the servers as `groups`, equal ones together; a few lines of Python make these of a file.": "cluster.csv",
    "Write `time_scale: 0.8` for a quarter more requests per hour; `keep` leaves some out.": "workload.changes",
    "Give each request's mean and peak in columns: `{mean: avg, peak: max}`.": "workload.use.*.path",
    "CSV is read as it is, compressed or not; `polars` writes Parquet of it.": "command traces convert",
    "Correct the rows that the message names, or leave them out with `keep`.": "workload.faulty, "
    "option traces describe --drop-faulty",
    "Size one kind at a time: `--set size.kind=GROUP`.": "option size --kind, option size --mix, size.mix, figure mix",
    "Write `keep: true`, and run these weights in that world: agents: [{nara: {path: FILE}}].": "train.validation.also",
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
}
_METRICS = (
    "blocked borrowed bought_hours contended_requests contended_worst contention_max contention_p95 cost_moves "
    "cost_servers downtime fragmented_gpu_end gang_racks income_booked links_allocation_end links_utilisation load "
    "moved moves_for_load moves_under_way plan_ms postponed postponed_by power power_peak running scheduled_bound "
    "server_hours server_hours_used servers_per_request spot_evicted wait_max wait_p50 wait_p99 woken turnaround_p50 "
    "turnaround_p95 turnaround_p99 slowdown_p50 slowdown_p95 slowdown_p99"
)

REMOVED: Mapping[str, str] = {
    name: remedy for remedy, names in _BY_REMEDY.items() for name in names.split(", ")
} | dict.fromkeys(
    (f"metric {name}" for name in _METRICS.split()),
    "Write a metric of your own, which gets a `FinishedRun`: page 'Results'.",
)
"""What to do instead of a key of the YAML (its path, without places in lists; * is any key), or of a `KIND NAME`."""
