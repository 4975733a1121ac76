"""What `kconnect doctor` looks at: this machine, the workers, the brokers. Start reading at `run.py`."""
