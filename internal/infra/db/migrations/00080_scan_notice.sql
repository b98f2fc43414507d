-- +goose Up
-- Notifications of a run: one row per channel and event.
CREATE TABLE scan_notice (
	id         TEXT PRIMARY KEY,
	scan_id    TEXT NOT NULL REFERENCES scan (id) ON DELETE CASCADE,
	run        BIGINT NOT NULL,
	event      TEXT NOT NULL,              -- running, finished, failed_stopped or new_vuln
	config_id  TEXT NOT NULL,
	channel    BIGINT NOT NULL,            -- its place in the configuration
	provider   TEXT NOT NULL,
	state      TEXT NOT NULL,              -- waiting, sending, sent, failed or dropped
	attempts   BIGINT NOT NULL DEFAULT 0,
	note       TEXT NOT NULL DEFAULT '',   -- why it failed or was dropped
	body       $JSON NOT NULL,             -- what is told, as it was then
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL,
	UNIQUE (scan_id, run, event, config_id, channel)
);

-- +goose Down
DROP TABLE scan_notice;
