"""Campaigns: fuzzing runs of any length, whose entire state is a folder.

The folder of a campaign (`folder.Campaign`):

    campaign.json         targets, generator, oracles, seed: `config.Config`
    suspects/NAME/        a program whose reduction will show whether its bug is known or new
    corpus/HASH.pb        trees with new behaviour, each named by a hash of its bytes
    finds/NAME/           a bug: `finds.Find`
        find.json         signature, verdict, runs and count, among other things
        program.luau      the original program; program.pb is its tree
        reduced.luau      the smallest program with the same verdict, once known; its tree is
                          reduced.pb
        members/NAME/     other programs that probably show the bug, stored like finds
        requests.jsonl    the last requests to the process that failed, if the bug was not reduced
    statistics.jsonl      every few seconds, a line with the counts since the previous line:
                          `statistics.Interval`
    log.txt               a log with timestamps, for people to read
    .lock                 held by the process that runs the campaign

A campaign can be killed at any time, and read while it runs. Files are written atomically, and a
find's folder is created atomically before the find is reported and reduced. The exceptions are
files to which lines are appended, such as `statistics.jsonl` and `log.txt`: if the process is
killed, the line that it is writing may be truncated.
"""
