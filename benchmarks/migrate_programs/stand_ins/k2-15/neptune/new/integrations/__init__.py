"""Callbacks of the tracker."""
