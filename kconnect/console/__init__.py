"""
The web console: the files that `rest/console.py` serves, as they are. Nothing builds them, or is loaded from elsewhere.

`main.js` begins: it shows the view that the address names. Views (`connectors.js`, `connector.js`, `cluster.js`) ask the worker
through `api.js` only, which uses the public REST API, so whatever the console can do, others can. `feed.js` follows what
changes. `dom.js` makes elements: texts are always texts, and never markup. Types are in comments; the tests have TypeScript's
compiler check them.
"""
