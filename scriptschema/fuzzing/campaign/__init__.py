"""Campaigns: fuzzing for as long as one likes, in a folder that is its whole state.

The folder of a campaign (`folder.Campaign`):

    campaign.json         targets, generator, oracles, seed: `config.Config`
    suspects/NAME/        what may be the bug of a find, or another: its reduction will tell
    corpus/HASH.pb        trees that showed something new, each by a hash of its bytes
    finds/NAME/           a bug, found once: `finds.Find`
        find.json         signature, verdict, runs, how often, how to run it again
        program.luau      the program as it was found; program.pb is its tree
        reduced.luau      the smallest that shows the same, once there is one; and reduced.pb
        requests.jsonl    the last that the process got that broke, if that was not reduced
    statistics.jsonl      a line every few seconds, what was done since: `statistics.Interval`
    log.txt               what happened, with the time, for people
    .lock                 held by the process that runs the campaign

A file is written whole or not at all, and a find's folder appears whole, before it is reported and
reduced; only `statistics.jsonl` and `log.txt` grow, and of them no more than the last line can be
cut off. So it does no harm to kill a campaign at any time, and to read it while it runs.
"""
