"""The loader, in this process or with a worker."""

import multiprocessing
import time

from torch.utils.data._utils import fetch, worker

INSIDE = [0.0]
"""Seconds that the code below ran in the process that trains, for batches that there were."""


class _BaseDataLoaderIter:
    def __init__(self, loader):
        self.loader = loader
        self.at = 0

    def __iter__(self):
        return self

    def __next__(self):
        began = time.monotonic()
        if self.at == self.loader.batches:
            raise StopIteration
        self.at += 1
        batch = self._next_data()
        INSIDE[0] += time.monotonic() - began
        return batch


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    def __init__(self, loader):
        super().__init__(loader)
        self.fetcher = fetch._MapDatasetFetcher(loader.dataset, True, list, False)

    def _next_data(self):
        return self.fetcher.fetch([self.at, self.at + 1])


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    def __init__(self, loader):
        super().__init__(loader)
        forking = multiprocessing.get_context("fork")
        self.asked, self.made = forking.SimpleQueue(), forking.Queue()
        arguments = (0, [loader.dataset], self.asked, self.made)
        self.worker = forking.Process(target=worker._worker_loop, args=arguments)
        self.worker.start()

    def _next_data(self):
        self.asked.put([self.at, self.at + 1])
        batch = self.made.get()
        if self.at == self.loader.batches:
            self.asked.put(None)
            self.worker.join()
        return batch


class DataLoader:
    def __init__(self, dataset, batches, num_workers=0):
        self.dataset = dataset
        self.batches = batches
        self.num_workers = num_workers

    def __iter__(self):
        began = time.monotonic()
        made = (_MultiProcessingDataLoaderIter if self.num_workers else _SingleProcessDataLoaderIter)(self)
        INSIDE[0] += time.monotonic() - began
        return made
