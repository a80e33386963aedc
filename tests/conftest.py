"""Settings for all tests."""

from hypothesis import settings

# The first call of a kernel compiles it, and the machine may be busy: a slow example says nothing.
settings.register_profile("bntk", deadline=None)
settings.load_profile("bntk")
