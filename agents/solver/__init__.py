"""Solve allocation problems that are stated in a language of their own.

Each folder imports only those above it:

    model           the data of a problem, and what can be said of it without a search
    language        from text to tree, constants and tables; from UTILFN's tree to a program, and what is proven of it
    specification   from declarations to a problem; files, shipped examples, and Python
    backends        the published search: processors, OpenCL; first fit of vector problems
    local           our search
    solving         from a problem to a verified answer: `solve`
    packing         balls into equal bins, all known at once; heuristics beside our search
    online          the agent `solver` of simulations

`examples` and `templates` are specifications that are shipped.
"""

from binwright.agents.solver.specification.spec import examples, load_problem, problem

__all__ = ["examples", "load_problem", "problem"]
