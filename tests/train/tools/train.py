# SPDX-License-Identifier: MIT
"""Stand-in for MMDetection's tools/train.py in the tests and the demo.

It takes the command line that MMDetection 3.x's takes, reads the variables that MMEngine's
launchers read (mmengine/dist/utils.py), picks its GPU as torch.cuda.set_device(LOCAL_RANK) would
among the visible ones, and then really trains: a tiny model under DistributedDataParallel on
CPUs with gloo. Every rank writes what it saw and got to WORK_DIR/rank-N.json.
"""
import argparse
import ast
import datetime
import glob
import json
import os
import runpy
import subprocess
import sys
import time

# Against the 30 minutes that torch waits for a rank that never comes. Sixteen ranks on two
# CPUs need half a minute for their imports alone.
TIMEOUT = datetime.timedelta(minutes=5)


def option(text):
    key, sep, value = text.partition('=')
    if not sep or not key:
        raise argparse.ArgumentTypeError(f"'{text}' is not of the form key=value")
    try:
        return key, ast.literal_eval(value)
    except (SyntaxError, ValueError):
        return key, {'true': True, 'false': False}.get(value.lower(), value)


def parse_args(argv):
    parser = argparse.ArgumentParser(description='Train a detector')
    parser.add_argument('config')
    parser.add_argument('--work-dir')
    parser.add_argument('--amp', action='store_true')
    parser.add_argument('--auto-scale-lr', action='store_true')
    parser.add_argument('--resume', nargs='?', const='auto')
    parser.add_argument('--cfg-options', nargs='+', type=option, default=[])
    parser.add_argument('--launcher', choices=['none', 'pytorch', 'slurm', 'mpi'], default='none')
    # torch.distributed.launch passes the one spelling before 2.0 and the other after.
    parser.add_argument('--local_rank', '--local-rank', type=int, default=0)
    return parser.parse_args(argv)


def read_config(path, options):
    config = {k: v for k, v in runpy.run_path(path).items() if not k.startswith('_')}
    for key, value in options:
        *sections, last = key.split('.')
        place = config
        for section in sections:
            place = place.setdefault(section, {})
        place[last] = value
    return config


def launch_none():
    os.environ.update(RANK='0', WORLD_SIZE='1', LOCAL_RANK='0',
                      MASTER_ADDR='127.0.0.1', MASTER_PORT='0')


def launch_pytorch():
    # A KeyError here is what MMEngine's users get when a launcher sets no ranks.
    for name in ('RANK', 'LOCAL_RANK', 'WORLD_SIZE'):
        int(os.environ[name])


def launch_slurm():
    rank = int(os.environ['SLURM_PROCID'])
    world = int(os.environ['SLURM_NTASKS'])
    nodes = os.environ['SLURM_NODELIST']
    if 'MASTER_ADDR' not in os.environ:
        names = subprocess.run(['scontrol', 'show', 'hostnames', nodes], check=True,
                               stdout=subprocess.PIPE, text=True).stdout.split()
        os.environ['MASTER_ADDR'] = names[0]
    os.environ.setdefault('MASTER_PORT', '29500')
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(world),
                      LOCAL_RANK=os.environ['SLURM_LOCALID'])


def launch_mpi():
    os.environ['LOCAL_RANK'] = os.environ['OMPI_COMM_WORLD_LOCAL_RANK']
    os.environ['RANK'] = os.environ['OMPI_COMM_WORLD_RANK']
    os.environ['WORLD_SIZE'] = os.environ['OMPI_COMM_WORLD_SIZE']
    os.environ.setdefault('MASTER_PORT', '29500')
    if 'MASTER_ADDR' not in os.environ:
        raise KeyError('The environment variable MASTER_ADDR is not set')


LAUNCHERS = {'none': launch_none, 'pytorch': launch_pytorch,
             'slurm': launch_slurm, 'mpi': launch_mpi}


def visible_gpus():
    """Tokens of the GPUs that this process may use, in the order in which it numbers them."""
    for name in ('CUDA_VISIBLE_DEVICES', 'HIP_VISIBLE_DEVICES', 'ROCR_VISIBLE_DEVICES',
                 'ZE_AFFINITY_MASK'):
        if name in os.environ:
            return [token.strip() for token in os.environ[name].split(',') if token.strip()]
    return [str(k) for k in range(len(glob.glob('/dev/nvidia[0-9]*')))]


def pick_gpu(local_rank):
    gpus = visible_gpus()
    if not gpus:
        return None
    if local_rank >= len(gpus):
        raise RuntimeError(f'invalid device ordinal: local rank {local_rank}, '
                           f'but {len(gpus)} GPU(s) visible: {",".join(gpus)}')
    return gpus[local_rank]


def ranges(numbers):
    """[0, 1, 2, 5] -> '0-2,5', as taskset and Slurm write CPU lists."""
    runs = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ','.join(str(a) if a == b else f'{a}-{b}' for a, b in runs)


def number(name):
    value = os.environ.get(name, '')
    return int(value) if value.isdigit() else None


def train(config, args):
    # torch takes seconds to import: only when the command line and variables are right.
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    if args.launcher == 'none':
        dist.init_process_group('gloo', store=dist.HashStore(), rank=0, world_size=1)
    else:
        dist.init_process_group('gloo', init_method='env://', timeout=TIMEOUT)
    rank, world = dist.get_rank(), dist.get_world_size()

    total = torch.tensor([float(rank)])
    dist.all_reduce(total)

    batch = config['train_dataloader']['batch_size']
    lr = config['optim_wrapper']['optimizer']['lr']
    if args.auto_scale_lr:
        lr *= world * batch / config['auto_scale_lr']['base_batch_size']

    torch.manual_seed(config.get('randomness', {}).get('seed', 0))
    model = torch.nn.parallel.DistributedDataParallel(
        torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    truth = torch.randn(16, 1)
    exam = torch.randn(64, 16)

    def examine():
        with torch.no_grad():
            return torch.nn.functional.mse_loss(model.module(exam), exam @ truth).item()

    before = examine()
    # Each rank learns from data of its own. Only when the gradients were summed over all ranks
    # do the models agree, and only then is the loss on the common exam the same everywhere.
    own = torch.Generator().manual_seed(1000 + rank)
    data = torch.randn(batch, 16, generator=own)
    for step in range(config['train_cfg']['steps']):
        loss = torch.nn.functional.mse_loss(model(data), data @ truth)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if rank == 0:
            print(f'step {step + 1}: loss {loss.item():.4f}', flush=True)
    after = examine()

    losses = [None] * world
    dist.all_gather_object(losses, after)
    dist.barrier()
    # The model goes along: torch 1.13 joins gloo's threads when the last of model and process
    # group is destroyed, with Python's lock held, and can wait for ever for one of them that
    # wants the lock to free a tensor.
    return model, {'rank': rank, 'world_size': world, 'rank_sum': int(total.item()),
                   'loss_before': before, 'loss': after,
                   'losses_equal': len(set(losses)) == 1,
                   'lr': lr, 'torch': torch.__version__}


def main(argv):
    began = time.monotonic()
    args = parse_args(argv)
    config = read_config(args.config, args.cfg_options)
    os.environ.setdefault('LOCAL_RANK', str(args.local_rank))
    stem = os.path.splitext(os.path.basename(args.config))[0]
    work_dir = args.work_dir or os.path.join('work_dirs', stem)

    LAUNCHERS[args.launcher]()
    local_rank = int(os.environ['LOCAL_RANK'])
    report = {
        'node': os.uname().nodename,
        'node_rank': number('NODE_RANK'),
        'group_rank': number('GROUP_RANK'),
        'local_rank': local_rank,
        'local_world_size': number('LOCAL_WORLD_SIZE'),
        'gpu': pick_gpu(local_rank),
        'gpus': visible_gpus(),
        'cpus': ranges(os.sched_getaffinity(0)),
        'omp_num_threads': number('OMP_NUM_THREADS'),
        'master': f"{os.environ.get('MASTER_ADDR', '')}:{os.environ.get('MASTER_PORT', '')}",
        'srank': os.environ.get('SRANK_VERSION'),
        'job': os.environ.get('SLURM_JOB_ID'),
        'step': os.environ.get('SLURM_STEP_ID'),
        'launcher': args.launcher,
        'config': args.config,
        'arguments': argv,
    }
    model, result = train(config, args)
    report.update(result)
    report['seconds'] = round(time.monotonic() - began, 1)

    os.makedirs(work_dir, exist_ok=True)
    path = os.path.join(work_dir, f"rank-{report['rank']}.json")
    # Complete or absent, for those who watch the folder.
    with open(path + '.new', 'w', encoding='utf-8') as file:
        json.dump(report, file)
        file.write('\n')
    os.replace(path + '.new', path)
    if report['rank'] == 0:
        print(f"world size {report['world_size']}, sum of ranks {report['rank_sum']}, loss "
              f"{report['loss_before']:.4f} -> {report['loss']:.4f}, equal on every rank: "
              f"{'yes' if report['losses_equal'] else 'NO'}", flush=True)
    # Everything is said and the model still alive; see train().
    assert model is not None
    sys.stdout.flush()
    os._exit(0 if report['losses_equal'] else 1)


if __name__ == '__main__':
    main(sys.argv[1:])
