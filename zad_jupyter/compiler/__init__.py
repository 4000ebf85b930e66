"""What does a function become?

A function and the types of its arguments go through small steps, one module each, every one a function from one
representation to the next:

    source → normal → infer (types and selection) → reverse → simplify → emit → cache

The representation in between is always the same small language (`ir`), so what comes out can go in again:
that is how derivatives nest.
"""
