"""
Predicates (KIP-585), one a module: Connect's three, and Expression in CEL.

They are plugins like any other and import the public API only. Results and refusals are Connect's, held by golden cases.
"""
