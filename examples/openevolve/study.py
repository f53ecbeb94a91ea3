"""The loop of an evolutionary search, with a proposer that is written down instead of a language model.

Run it with `python examples/openevolve/study.py`; it needs no network and writes results/openevolve.png.
"""

import random
import runpy
from pathlib import Path

import matplotlib.pyplot as plt

FOLDER = Path(__file__).parent
ROUNDS = 60
FEATURES = "share_cpu, share_mem, server_free_cpu, other_share_cpu, least_share_mem"
TERMS = (
    "share_cpu",
    "share_mem",
    "server_free_cpu",
    "other_share_cpu",
    "least_share_mem",
    "abs(share_cpu - share_mem)",
)


def proposed(weights, draw):
    """Change one weight, as a language model would rewrite the block between the marks; now and then it errs."""
    changed = dict(weights)
    changed[draw.choice(TERMS)] = round(draw.gauss(0, 1), 2)
    terms = " + ".join(f"{weight} * {term}" for term, weight in changed.items() if weight)
    mistake = draw.choice(["import os", "return free_gold", "while True: pass"]) if draw.random() < 0.05 else ""
    return changed, f"def score({FEATURES}):\n    {mistake}\n    return {terms or '0'}\n"


def sought(judge, program, draw):
    """Search from the initial program: keep what is better; returns the best source and the best score by round."""
    initial = (FOLDER / "initial_program.py").read_text()
    program.write_text(initial)
    best, weights, source, course = judge["evaluate_stage1"](program), {}, initial, []
    best = of(best, "metrics")["combined_score"]
    for number in range(ROUNDS):
        changed, text = proposed(weights, draw)
        program.write_text(text)
        result = judge["evaluate_stage1"](program)
        if reason := of(result, "artifacts").get("reason"):
            print(f"{number:3}  {reason.splitlines()[0][:100]}")
        elif of(result, "metrics")["combined_score"] > best:
            best, weights, source = of(result, "metrics")["combined_score"], changed, text
            print(f"{number:3}  {best:.4f}  {text.splitlines()[-1].strip()}")
        course.append(best)
    return source, course


def of(result, part):
    """Read metrics or artifacts of a result, whether OpenEvolve is there or not."""
    return result[part] if isinstance(result, dict) else getattr(result, part)


def main():
    """Search, judge the best program on other seeds, and draw how the search went."""
    Path("results").mkdir(exist_ok=True)
    program = Path("results/openevolve.py")
    judge = runpy.run_path(str(FOLDER / "evaluator.py"))
    source, course = sought(judge, program, random.Random(3))
    program.write_text(source)
    result = of(judge["evaluate_stage2"](program), "artifacts")
    print(f"{program}: {result['beside the baseline']}")
    figure, axes = plt.subplots(figsize=(4.5, 3), layout="constrained")
    axes.step(range(ROUNDS), [100 * score for score in course], where="post", color="#0072B2")
    axes.set(xlabel="proposals", ylabel="accepted %, best so far", title="What a search finds, on 10 seeds")
    figure.savefig("results/openevolve.png", dpi=110)


if __name__ == "__main__":
    main()
