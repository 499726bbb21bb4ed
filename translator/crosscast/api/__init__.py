"""What `import crosscast` offers: the commands as functions with results. Commands call them."""
