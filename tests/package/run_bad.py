import sys
import tempfile
import collections
import time
from pathlib import Path
import matplotlib; matplotlib.use("Agg")
from tests.package.bad_calls import attack, cases
from tests.package.doors import doors

only = sys.argv[1:]
with tempfile.TemporaryDirectory() as f:
    found = doors(Path(f))
    n = bad = 0
    for name, each in found.items():
        if only and not any(o in name for o in only): continue
        try: each.call(**each.good)
        except Exception as e:
            print("GOOD CALL FAILS", name, type(e).__name__, str(e)[:200])
            if 'fetch' not in name: continue
        start = time.time(); here = 0
        groups = collections.defaultdict(list)
        for argument, text, make in cases(each):
            n += 1; here += 1
            wrong = attack(each, argument, text, make)
            if wrong: bad += 1; groups[argument, wrong].append(text)
        for (argument, wrong), texts in groups.items():
            print(f"{name} | {argument} = {' / '.join(texts)} | {wrong}")
        if time.time()-start > 5: print(f"   ({name}: {here} in {time.time()-start:.1f}s)")
        sys.stdout.flush()
    print(n, bad)
