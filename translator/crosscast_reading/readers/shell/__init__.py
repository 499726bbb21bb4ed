"""Shell and batch scripts, Dockerfiles, and the flags they give to programs."""
