"""Search for a placement of all balls in a given number of bins, on the dense form of bin-local problems.

An attempt is determined by the problem, the seed and the attempt's number. The successful one with the lowest number is
the answer: neither time nor the number of cores decides which it is. Local search on the general form is some ten times
as slow here: it needed up to two bins more (u1000 in 5 s).
"""
