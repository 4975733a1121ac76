"""
Three real workers, a real broker and real Spark, hurt at random points and checked by their history: `scripts/chaos`.

`cluster.py` is what is hurt, `faults.py` how, `watch.py` what is seen from outside meanwhile, `run.py` puts it together; the
checkers are in `tests/rig/systems/history.py`. Read next: `run.py`.
"""
