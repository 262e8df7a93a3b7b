"""What holds for all tests."""

from hypothesis import HealthCheck, settings

# No test depends on how fast a machine is, or on what else it does at the time.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")
