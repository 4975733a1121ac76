"""
`kconnect describe`: all that is known of one thing, why it has failed, and what to do.

`connector_report.py` collects, `core/describe/` explains and says what to do, `note.py` writes it all down.
They only read. Scripts read `-o json`, so its keys stay; the note's words are for people and may change.
"""
