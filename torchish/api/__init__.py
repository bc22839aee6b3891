"""The public functions, between the floors of autograd and nn: wrappers made from the op table, and hand-written overloads."""
