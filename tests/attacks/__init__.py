"""
Attacks on kconnect by people with stated rights, each as a test: who tries it, what is tried, and what must not happen.

`scripts/attack` runs them and prints a table. A mend that has a switch is first tried with the switch open, so that the attack
is known to work.
"""
