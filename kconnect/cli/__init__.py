"""
The command line, `kconnect`: a folder for each noun, and a roof that all of them share.

Where is it? `main.py` lists the commands and where each one is; `lazy.py` imports it when it is called. The roof is the files
of this folder: `connection.py` (which worker), `selection.py` (which connectors), `output.py` and `layout.py` (what `-o` and
the terminal show), `manifests.py` (connectors in files). A command uses the roof and its own folder. What takes long to import
(the client of REST, Kafka's client, rich, YAML) is imported in the functions that need it, so that `--help`, completion and
wrong options are answered at once.

What may I touch? The words that a command writes for people. Its JSON and YAML, its exit statuses (`main.py`) and its options
are what scripts rely on. What breaks? docs/cli.md is a copy of `--help` and is compared; commands over REST must work with
Apache Kafka Connect, too, and tests try them on it.
"""
