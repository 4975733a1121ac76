/**
 * Configs to begin with: those of the connectors' pages in the documentation, of which this is made.
 *
 * Used by `create.js`.
 */

/** @type {{title: string, what: string, config: Record<string, string>}[]} */
export const EXAMPLES = [
  {
    "title": "Files: lines as records",
    "what": "Lines of a file, and what is appended to it:",
    "config": {
      "name": "lines",
      "connector.class": "FileStreamSource",
      "file": "/var/log/lines.txt",
      "topic": "lines"
    }
  },
  {
    "title": "Files: records as lines",
    "what": "Records as lines at the end of a file:",
    "config": {
      "name": "lines-to-file",
      "connector.class": "FileStreamSink",
      "topics": "lines",
      "file": "/tmp/lines.txt"
    }
  },
  {
    "title": "Datagen: made-up records",
    "what": "Orders of some customers, ten a second, as JSON:",
    "config": {
      "name": "orders",
      "connector.class": "Datagen",
      "kafka.topic": "orders",
      "quickstart": "orders",
      "records.per.second": "10",
      "key.converter": "org.apache.kafka.connect.storage.StringConverter",
      "value.converter": "org.apache.kafka.connect.json.JsonConverter",
      "value.converter.schemas.enable": "false"
    }
  },
  {
    "title": "Delta: records as rows of Delta Lake tables",
    "what": "Orders by city, in S3:",
    "config": {
      "name": "orders-to-delta",
      "connector.class": "DeltaSink",
      "topics": "orders",
      "store": "s3://lake/tables",
      "s3.region": "eu-central-1",
      "delta.tables": "shop.orders",
      "delta.tables.auto-create-enabled": "true",
      "delta.tables.evolve-schema-enabled": "true",
      "delta.tables.default-partition-by": "city",
      "delta.commit.interval-ms": "60000",
      "value.converter": "org.apache.kafka.connect.json.JsonConverter",
      "value.converter.schemas.enable": "true",
      "errors.tolerance": "all",
      "errors.deadletterqueue.topic.name": "orders-refused"
    }
  },
  {
    "title": "HTTP: records to and from a service",
    "what": "Orders go to a service, ten at a time, as JSON arrays, with a token that the service of tokens gives:",
    "config": {
      "name": "orders-to-shop",
      "connector.class": "HttpSink",
      "topics": "orders",
      "http.api.url": "https://shop.example.com/api/orders",
      "batch.max.size": "10",
      "auth.type": "OAUTH2",
      "oauth2.token.url": "https://login.example.com/token",
      "oauth2.client.id": "kconnect",
      "oauth2.client.secret": "${file:/etc/kconnect/secrets:shop}",
      "value.converter": "org.apache.kafka.connect.json.JsonConverter",
      "value.converter.schemas.enable": "false",
      "errors.tolerance": "all",
      "errors.deadletterqueue.topic.name": "orders-refused"
    }
  },
  {
    "title": "HTTP: records to and from a service",
    "what": "Issues of a tracker that were changed, page by page, once a minute:",
    "config": {
      "name": "issues",
      "connector.class": "HttpSource",
      "kafka.topic": "issues",
      "http.api.url": "https://tracker.example.com/api/issues?updated_since=${since}&per_page=100",
      "headers": "Authorization: Bearer ${file:/etc/kconnect/secrets:tracker}",
      "request.interval.ms": "60000",
      "page.mode": "link",
      "since.path": "updated_at",
      "since.first": "2026-01-01T00:00:00Z",
      "key.path": "id",
      "value.converter": "org.apache.kafka.connect.json.JsonConverter",
      "value.converter.schemas.enable": "false"
    }
  },
  {
    "title": "Iceberg: records as rows of a lake's tables",
    "what": "Orders by their day, through a REST catalog, with files in S3:",
    "config": {
      "name": "orders-to-lake",
      "connector.class": "IcebergSink",
      "topics": "orders",
      "iceberg.catalog.type": "rest",
      "iceberg.catalog.uri": "https://catalog.example.com",
      "iceberg.catalog.warehouse": "lake",
      "iceberg.catalog.credential": "${file:/etc/kconnect/secrets:catalog}",
      "iceberg.tables": "shop.orders",
      "iceberg.tables.auto-create-enabled": "true",
      "iceberg.tables.evolve-schema-enabled": "true",
      "iceberg.tables.default-partition-by": "day(ordered_at)",
      "iceberg.control.commit.interval-ms": "60000",
      "value.converter": "org.apache.kafka.connect.json.JsonConverter",
      "value.converter.schemas.enable": "true",
      "errors.tolerance": "all",
      "errors.deadletterqueue.topic.name": "orders-refused"
    }
  },
  {
    "title": "Object stores: files as records",
    "what": "What was written to S3 goes back to its topics, in another cluster, say:",
    "config": {
      "name": "orders-from-backup",
      "connector.class": "ObjectStoreSource",
      "tasks.max": "2",
      "s3.bucket.name": "backup",
      "s3.region": "eu-central-1",
      "mode": "RESTORE_BACKUP",
      "topics.dir": "topics",
      "format.class": "ParquetFormat",
      "value.converter": "org.apache.kafka.connect.json.JsonConverter"
    }
  },
  {
    "title": "Object stores: files as records",
    "what": "Files that others put into a folder:",
    "config": {
      "name": "clicks",
      "connector.class": "ObjectStoreSource",
      "store": "gs://clicks",
      "mode": "GENERIC",
      "topics.dir": "",
      "topic.regex.list": "clicks:^clicks/.*[.]json[.]gz$,errors:^errors/",
      "format.class": "JsonFormat",
      "s3.poll.interval.ms": "30000",
      "value.converter": "org.apache.kafka.connect.json.JsonConverter",
      "value.converter.schemas.enable": "false"
    }
  },
  {
    "title": "Object stores: records as files",
    "what": "Orders go to S3 as Parquet, in a folder for each day, exactly once:",
    "config": {
      "name": "orders-to-lake",
      "connector.class": "ObjectStoreSink",
      "topics": "orders",
      "s3.bucket.name": "lake",
      "s3.region": "eu-central-1",
      "format.class": "ParquetFormat",
      "flush.size": "100000",
      "rotate.interval.ms": "600000",
      "partitioner.class": "DailyPartitioner",
      "timestamp.extractor": "Record",
      "value.converter": "org.apache.kafka.connect.json.JsonConverter",
      "value.converter.schemas.enable": "true",
      "errors.tolerance": "all",
      "errors.deadletterqueue.topic.name": "orders-refused"
    }
  },
  {
    "title": "OpenSearch and Elasticsearch: records as documents",
    "what": "Customers by their keys; who is deleted in Kafka is deleted in the index:",
    "config": {
      "name": "customers-to-search",
      "connector.class": "OpenSearchSink",
      "topics": "customers",
      "connection.url": "https://search-1.example.com:9200,https://search-2.example.com:9200",
      "connection.username": "kconnect",
      "connection.password": "${file:/etc/kconnect/secrets:search}",
      "behavior.on.null.values": "delete",
      "key.converter": "org.apache.kafka.connect.storage.StringConverter",
      "value.converter": "org.apache.kafka.connect.json.JsonConverter",
      "value.converter.schemas.enable": "false",
      "errors.tolerance": "all",
      "errors.deadletterqueue.topic.name": "customers-refused"
    }
  },
  {
    "title": "SQL: rows as records",
    "what": "New and changed orders, each once:",
    "config": {
      "name": "orders-from-shop",
      "connector.class": "SqlSource",
      "tasks.max": "4",
      "connection.url": "jdbc:postgresql://db.example.com:5432/shop",
      "connection.user": "kconnect",
      "connection.password": "${file:/etc/kconnect/secrets:shop}",
      "table.whitelist": "public.orders,public.customers",
      "mode": "timestamp+incrementing",
      "timestamp.column.name": "changed_at",
      "incrementing.column.name": "id",
      "timestamp.delay.interval.ms": "5000",
      "topic.prefix": "shop-",
      "transforms": "key,id",
      "transforms.key.type": "org.apache.kafka.connect.transforms.ValueToKey",
      "transforms.key.fields": "id",
      "transforms.id.type": "org.apache.kafka.connect.transforms.ExtractField$Key",
      "transforms.id.field": "id",
      "value.converter": "org.apache.kafka.connect.json.JsonConverter"
    }
  },
  {
    "title": "SQL: records as rows",
    "what": "Orders go into PostgreSQL, exactly once. The tables are made by the schemas of the records:",
    "config": {
      "name": "orders-to-shop",
      "connector.class": "SqlSink",
      "topics": "orders",
      "connection.url": "jdbc:postgresql://db.example.com:5432/shop",
      "connection.user": "kconnect",
      "connection.password": "${file:/etc/kconnect/secrets:shop}",
      "insert.mode": "upsert",
      "pk.mode": "record_value",
      "pk.fields": "id",
      "auto.create": "true",
      "auto.evolve": "true",
      "offsets.table": "kconnect_offsets",
      "value.converter": "org.apache.kafka.connect.json.JsonConverter",
      "value.converter.schemas.enable": "true",
      "errors.tolerance": "all",
      "errors.deadletterqueue.topic.name": "orders-refused"
    }
  }
];
