"""
SQL: a sink that writes records as rows, on SQLAlchemy 2, which knows databases' dialects: `pip install 'kconnect[sql]'`.

`settings.py` has what a config may say, `connector.py` checks it and asks the database. The rest needs SQLAlchemy: `urls.py`
and `database.py` reach a database and know its errors, `types.py` has types and values, `tables.py` finds, makes and widens
tables, `rows.py` makes rows of records, `statements.py` writes them, `offsets.py` keeps offsets beside them, `task.py` has the
task.
"""
