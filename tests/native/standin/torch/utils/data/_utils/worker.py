"""What a loader worker does."""

from torch.utils.data._utils.fetch import _MapDatasetFetcher


def _worker_loop(dataset_kind, dataset_holder, index_queue, data_queue):
    fetcher = _MapDatasetFetcher(dataset_holder.pop(), True, list, False)
    while (batch := index_queue.get()) is not None:
        data_queue.put(fetcher.fetch(batch))
