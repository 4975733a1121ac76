"""
Traces, metrics and logs for a collector of OpenTelemetry (OTLP over HTTP), by the SDK of OpenTelemetry for Python.

Off by default: then nothing here but `switch.py` is imported, and nothing of `opentelemetry`. `switch.py` begins; `sdk.py`
makes what sends; `lines.py` are logs, `numbers.py` metrics, `requests.py` is a request's way from REST to the log, `starts.py`
that from the log to a running task, `batches.py` a batch's way. No other folder imports `opentelemetry`.
"""
