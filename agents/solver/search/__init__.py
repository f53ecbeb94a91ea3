"""Search for a placement of all balls in a given number of bins, on the dense form of bin-local problems.

`published` is the search of Wrasse, one lane per attempt; `ruin` is ours. An attempt is determined by the problem, the
seed and the attempt's number. The successful one with the lowest number is the answer: neither time nor the number of
cores decides which it is. The general forms of both are some ten times as slow here: local search in place of `ruin`
needed up to two bins more (u1000 in 5 s), and published attempts at ImgProc came to nothing in 5 s.
"""
