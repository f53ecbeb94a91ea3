"""What OpenEvolve and its like call: `evaluate(program_path)`, and a short and a long evaluation of a cascade.

A program is a file with a function `score` of features of a place. It is read as a formula, never imported.
"""

from functools import cache

import binwright as bw

CHANGES = {"workload.requests": 2000, "cluster.servers": 7}
try:
    from openevolve.evaluation_result import EvaluationResult
except ImportError:  # without it, what is returned is plain data

    def EvaluationResult(metrics, artifacts):
        return {"metrics": metrics, "artifacts": artifacts}


@cache
def evaluator():
    """Draw the requests once: 10 seeds for the short evaluation and 40 for the long one."""
    return bw.Evaluator("quickstart", CHANGES, seeds=10, validation=40, baseline="best-fit")


def judged(program_path, split):
    """Score a program on some seeds: `combined_score` is 0 where it has none, and the artifacts say why."""
    evaluation = evaluator()(f"{program_path}:score", on=split)
    if evaluation.reason:
        return EvaluationResult(metrics={"combined_score": 0.0}, artifacts={"reason": evaluation.reason})
    low, high = evaluation.interval
    text = f"{evaluation.difference:+.4f} [{low:+.4f}, {high:+.4f}] beside best-fit on {len(evaluation.values)} seeds"
    metrics = {"combined_score": evaluator().sign * evaluation.score, "difference": evaluation.difference, "low": low}
    return EvaluationResult(metrics=metrics, artifacts={"beside the baseline": text})


def evaluate_stage1(program_path):
    """Tell soon which programs are not worth more."""
    return judged(program_path, "search")


def evaluate_stage2(program_path):
    """Score a program on the seeds of validation."""
    return judged(program_path, "validation")


def evaluate(program_path):
    """Score a program as it counts."""
    return evaluate_stage2(program_path)
