"""Holds the reading of a user's program, a recipe, against what a run of the program recorded.

The levels that need no second program decide (L0b, L1b); what the objects of the framework tell of
themselves names the value where they object, and stands where they cannot see.
"""
