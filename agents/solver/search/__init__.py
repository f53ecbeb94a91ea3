"""Search for a placement of all balls in a given number of bins, on the dense form of bin-local problems.

`published` is the search of Wrasse, one lane per attempt; `ruin` is ours. An attempt is determined by the problem, the
seed and the attempt's number. `lowest` runs attempts on all cores, and the successful one with the lowest number is the
answer: neither time nor the number of cores decides which it is.
"""
