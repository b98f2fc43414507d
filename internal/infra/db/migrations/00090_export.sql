-- +goose Up
-- A file that is written in the background, and kept for some days.
CREATE TABLE export (
	id         TEXT PRIMARY KEY,
	team_id    TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	user_id    TEXT NOT NULL,
	name       TEXT NOT NULL,              -- for people: what is in it
	format     TEXT NOT NULL,
	scan_id    TEXT NOT NULL,              -- empty: findings across scans
	filter     $JSON NOT NULL,             -- as it was when the export was asked for
	state      TEXT NOT NULL,              -- queued, running, finished, failed
	total      BIGINT NOT NULL DEFAULT 0,  -- findings
	done       BIGINT NOT NULL DEFAULT 0,  -- of them, written
	size       BIGINT NOT NULL DEFAULT 0,  -- bytes of the file
	job_id     BIGINT NOT NULL DEFAULT 0,
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL,
	expires_at BIGINT NOT NULL
);
CREATE INDEX export_team ON export (team_id, created_at);
CREATE INDEX export_expires ON export (expires_at);

-- The file in parts, each compressed separately.
CREATE TABLE export_part (
	export_id TEXT NOT NULL REFERENCES export (id) ON DELETE CASCADE,
	n         BIGINT NOT NULL,
	bytes     $BYTES NOT NULL,
	PRIMARY KEY (export_id, n)
);

-- +goose Down
DROP TABLE export_part;
DROP TABLE export;
