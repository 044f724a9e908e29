# SPDX-License-Identifier: MIT
"""Reads the reports of tools/train.py's ranks, prints them as a table, and judges them.

report.py [--world N] [--per-node N] WORK_DIR: exit 0 when all ranks met as they should have, 1 when
not, with a line for each thing that is wrong. Every expectation comes from the rule, none from
srank: ranks run from 0, node by node in the order of node ranks.
"""
import argparse
import glob
import json
import os
import sys

COLUMNS = [
    ('rank', lambda r: r['rank']),
    ('node', lambda r: r['node']),
    ('NODE_RANK', lambda r: node_rank(r)),
    ('LOCAL_RANK', lambda r: r['local_rank']),
    ('GPU', lambda r: r['gpu']),
    ('CPUs', lambda r: r['cpus']),
    ('MASTER_ADDR:MASTER_PORT', lambda r: r['master']),
]


def node_rank(report):
    """torchrun says GROUP_RANK; where it ran, NODE_RANK is what its launcher was given."""
    return report['node_rank'] if report['node_rank'] is not None else report['group_rank']


def table(reports):
    rows = [[name for name, _ in COLUMNS]]
    rows += [['-' if value(r) is None else str(value(r)) for _, value in COLUMNS]
             for r in reports]
    widths = [max(len(row[k]) for row in rows) for k in range(len(COLUMNS))]
    for row in rows:
        print('  '.join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def faults(reports, world, per_node):
    if [r['rank'] for r in reports] != list(range(world)):
        yield (f'ranks 0 to {world - 1} should have reported once each, but these did: '
               + (' '.join(str(r['rank']) for r in reports) or 'none'))
        return
    for r in reports:
        who = f"rank {r['rank']}"
        if r['world_size'] != world:
            yield f"{who}: WORLD_SIZE {r['world_size']}, not {world}"
        if (node_rank(r), r['local_rank']) != divmod(r['rank'], per_node):
            yield (f"{who}: NODE_RANK {node_rank(r)} and LOCAL_RANK {r['local_rank']}, not "
                   '{} and {}'.format(*divmod(r['rank'], per_node)))
        if r['group_rank'] is not None and r['group_rank'] != node_rank(r):
            yield f"{who}: GROUP_RANK {r['group_rank']}, but NODE_RANK {node_rank(r)}"
        if r['local_world_size'] not in (None, per_node):
            yield f"{who}: LOCAL_WORLD_SIZE {r['local_world_size']}, not {per_node}"
        if r['rank_sum'] != world * (world - 1) // 2:
            yield f"{who}: sum of ranks {r['rank_sum']}, not {world * (world - 1) // 2}"
    if len({r['job'] for r in reports}) != 1:
        yield 'the reports are of several jobs'
    if len({r['master'] for r in reports}) != 1:
        yield 'MASTER: ' + ', '.join(sorted({r['master'] for r in reports}))
    if reports[0]['master'].rpartition(':')[0] != reports[0]['node']:
        yield f"MASTER_ADDR {reports[0]['master']} is not rank 0's node {reports[0]['node']}"
    nodes = {}
    for r in reports:
        nodes.setdefault(node_rank(r), set()).add((r['node'], r['gpu']))
    for k, members in sorted(nodes.items(), key=str):
        names = {name for name, _ in members}
        if len(names) != 1:
            yield f"node {k} is several hosts: {' '.join(sorted(names))}"
        gpus = {gpu for _, gpu in members}
        if None in gpus or len(gpus) != per_node:
            yield f'node {k}: {len(gpus - {None})} different GPUs for {per_node} ranks'
    if len({r['node'] for r in reports}) != len(nodes):
        yield 'the same host has several node ranks'
    if len({r['loss'] for r in reports}) != 1:
        yield 'the loss differs: ' + ' '.join(repr(r['loss']) for r in reports)
    elif not reports[0]['loss'] < reports[0]['loss_before']:
        yield f"nothing was learnt: loss {reports[0]['loss_before']} -> {reports[0]['loss']}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--world', type=int, default=16)
    parser.add_argument('--per-node', type=int, default=8)
    parser.add_argument('--quiet', action='store_true', help='no table')
    parser.add_argument('work_dir')
    args = parser.parse_args()
    reports = []
    for path in glob.glob(os.path.join(glob.escape(args.work_dir), 'rank-*.json')):
        with open(path, encoding='utf-8') as file:
            reports.append(json.load(file))
    reports.sort(key=lambda r: r['rank'])
    if reports and not args.quiet:
        table(reports)
    wrong = list(faults(reports, args.world, args.per_node))
    for fault in wrong:
        print(f'WRONG: {fault}')
    if not wrong:
        first = reports[0]
        print(f"DDP (torch {first['torch']}, gloo): loss {first['loss_before']:.6f} -> "
              f"{first['loss']:.6f}, the same on all {args.world} ranks; sum of ranks "
              f"{first['rank_sum']}")
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
