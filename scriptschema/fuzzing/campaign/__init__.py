"""Campaigns: fuzzing runs of any length, whose entire state is in one folder.

A campaign's folder (`folder.Campaign`):

    campaign.json         the targets, generator, oracles and seed: `config.Config`
    corpus/HASH.pb        a tree with new behaviour, named by a hash of its bytes
    suspects/NAME/        a program whose reduction will show whether its bug is known or new
    finds/NAME/           a bug: `finds.Find`
        find.json         signature, verdict, runs and count, among other things
        program.luau      the original program; program.pb is its tree
        reduced.luau      the smallest known program that shows the bug; its tree is reduced.pb
        members/NAME/     another program that probably shows the bug, stored like a find
        requests.jsonl    the last requests to the service that failed, if any
    endless/HASH.luau     a mutant or seed that hangs in all runs, and is probably endless itself
    statistics.jsonl      a line every few seconds, with the counts since the previous line:
                          `statistics.Interval`
    seeds.txt             the names of the corpus trees from `--seeds` that have not been run yet
    log.txt               a log with timestamps, for people to read
    .lock                 held by the process that runs the campaign

A campaign can be killed at any time, and read while it runs. Files are written atomically, and a
find's folder is created atomically before the find is reported. Only files to which lines are
appended, such as `log.txt`, may end in a truncated line.
"""
