"""Jobs of many ranks: `open_job` gives the ranks, their steps as matrices, and the tables over all of them."""

from warpline.library.jobs.finding import LeftOut
from warpline.library.jobs.job import JobRank, JobWatch, RankState, TrainingJob, open_job

__all__ = ["JobRank", "JobWatch", "LeftOut", "RankState", "TrainingJob", "open_job"]
