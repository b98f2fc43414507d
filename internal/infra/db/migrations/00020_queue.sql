-- +goose Up
-- The jobs themselves are in River's tables, which River migrates. A lease names the process that
-- runs a job. A job has a row from its first run to its final end.
CREATE TABLE queue_lease (
	job_id  BIGINT PRIMARY KEY,
	node    TEXT   NOT NULL, -- one start of one process; empty while nobody runs the job
	token   BIGINT NOT NULL, -- grows with every change of hands: a late writer shows an old one
	beat_at BIGINT NOT NULL  -- microseconds, by the database's clock
);
CREATE INDEX queue_lease_node ON queue_lease (node, beat_at);

-- +goose Down
DROP TABLE queue_lease;
