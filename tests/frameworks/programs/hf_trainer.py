"""Transformers' Trainer (with Accelerate below it) on a tiny BERT, gradients accumulated over two batches."""

import tempfile

import torch
from own_clock import Clock
from torch.utils.data import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments


class Texts(Dataset):
    def __len__(self):
        return 32

    def __getitem__(self, index):
        return {"input_ids": torch.arange(8) + index, "labels": torch.tensor(index % 2)}


torch.set_num_threads(1)
clock = Clock()
config = BertConfig(
    vocab_size=100,
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=64,
)
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(
        output_dir=folder,
        num_train_epochs=2,
        per_device_train_batch_size=4,
        gradient_accumulation_steps=2,
        eval_strategy="epoch",
        save_strategy="epoch",
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
    )
    trainer = Trainer(
        model=BertForSequenceClassification(config),
        args=arguments,
        train_dataset=Texts(),
        eval_dataset=Texts(),
    )
    trainer.train()
clock.steps = trainer.state.global_step
clock.say()
