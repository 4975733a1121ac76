"""The command line."""
import sys
def main() -> None:
    from kconnect.worker.main import run
    sys.exit(run(sys.argv[2]))
