"""What runs emitted steps of a framework, in a process of that framework."""
