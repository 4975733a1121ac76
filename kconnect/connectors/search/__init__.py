"""
OpenSearch and Elasticsearch: a sink that writes records as documents, on opensearch-py: `pip install 'kconnect[search]'`.

`settings.py` has what a config may say, `connector.py` checks it and asks the cluster. `actions.py` makes the lines of bulk
requests, `indices.py` makes indexes and data streams, `service.py` sends, and knows what answers mean, `task.py` has the task.
"""
