"""Lightning's Trainer, with validation."""

import sys
import tempfile
import warnings

import lightning
import torch
from own_clock import Clock
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.simplefilter("ignore")


class Task(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))

    def training_step(self, batch, _index):
        return nn.functional.cross_entropy(self.net(batch[0]), batch[1])

    def validation_step(self, batch, _index):
        self.net(batch[0])

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1)


torch.set_num_threads(1)
clock = Clock()
data = TensorDataset(torch.randn(32, 8), torch.randint(0, 2, (32,)))
with tempfile.TemporaryDirectory() as folder:
    trainer = lightning.Trainer(
        max_epochs=2,
        accelerator="cpu",
        default_root_dir=folder,
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Task(), DataLoader(data, batch_size=4), DataLoader(data, batch_size=8))
clock.steps = trainer.global_step
clock.say()
sys.stdout.flush()
