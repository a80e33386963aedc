"""The fuzzing script is run by hand; atheris is not needed for the tests."""

collect_ignore = ["fuzz_atheris.py"]
