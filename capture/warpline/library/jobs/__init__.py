"""Jobs of many ranks: `open_job` returns the ranks, their steps as matrices, and tables over all ranks."""

from warpline.library.jobs.finding import LeftOut
from warpline.library.jobs.job import JobRank, JobWatch, RankState, TrainingJob, open_job

__all__ = ["JobRank", "JobWatch", "LeftOut", "RankState", "TrainingJob", "open_job"]
