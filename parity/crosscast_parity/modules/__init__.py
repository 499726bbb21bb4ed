"""Where models of two frameworks differ: module by module, in order of execution."""
