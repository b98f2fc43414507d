-- +goose Up
-- Reports that are made again and again. Each is an export; next_run is NULL while the schedule is off.
CREATE TABLE report_schedule (
	id             TEXT PRIMARY KEY,
	team_id        TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	user_id        TEXT NOT NULL,             -- with whose rights reports are made
	name           TEXT NOT NULL,
	active         BOOLEAN NOT NULL,
	spec           $JSON NOT NULL,            -- what is in a report, when it is made, whom it is sent to, how long it is kept
	runs           BIGINT NOT NULL DEFAULT 0, -- times that came due, or were asked for
	last_run       BIGINT,
	last_export_id TEXT NOT NULL DEFAULT '',  -- empty: none was made, and note says why
	note           TEXT NOT NULL DEFAULT '',
	next_run       BIGINT,
	created_at     BIGINT NOT NULL,
	updated_at     BIGINT NOT NULL
);
CREATE INDEX report_schedule_due ON report_schedule (next_run);
CREATE INDEX report_schedule_of_team ON report_schedule (team_id, created_at);

ALTER TABLE export ADD COLUMN schedule_id TEXT NOT NULL DEFAULT ''; -- that made it; empty: a person

-- +goose Down
ALTER TABLE export DROP COLUMN schedule_id;
DROP TABLE report_schedule;
