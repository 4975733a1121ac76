"""
What REST and the CLI may ask of the herder, a module for each noun. Each request is a class with the procedure that answers it.

A new one is a class here, an operation in `kconnect/rest/`, and a method of `kconnect/rest/client.py`: nothing else lists them.
Read next: `request.py`.
"""
