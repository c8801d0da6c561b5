"""Hypothesis on shared machines: no deadlines; the same cases in every run, so that a red build stays red."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "verdict", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.filter_too_much]
)
settings.load_profile("verdict")
