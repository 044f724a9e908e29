# SPDX-License-Identifier: MIT
# Stands where MMDetection's YOLOX-x configuration does; read by ../../tools/train.py.
train_dataloader = dict(batch_size=8, num_workers=4)
optim_wrapper = dict(optimizer=dict(type='SGD', lr=0.01))
auto_scale_lr = dict(base_batch_size=64)
train_cfg = dict(steps=5)
