"""Exact inference on a junction tree: its compilation to a flat program, and the engines that run one."""
