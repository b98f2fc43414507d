-- +goose Up
-- What a team's admin decided about the capture of traffic; without a row, the defaults hold.
CREATE TABLE network_policy (
	team_id        TEXT PRIMARY KEY REFERENCES team (id) ON DELETE CASCADE,
	tasks          BOOLEAN NOT NULL,
	scans          TEXT NOT NULL,          -- off, on_request, on
	retention_days BIGINT NOT NULL,
	max_bytes      BIGINT NOT NULL,        -- of all events of the team
	updated_by     TEXT NOT NULL,          -- an e-mail address
	updated_at     BIGINT NOT NULL
);

-- What was captured of a task or a scan, and what not.
CREATE TABLE network_capture (
	id         TEXT PRIMARY KEY,           -- of the task or the scan
	team_id    TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	task_id    TEXT REFERENCES task (id) ON DELETE CASCADE,
	scan_id    TEXT REFERENCES scan (id) ON DELETE CASCADE,
	kept       BIGINT NOT NULL,
	dropped    BIGINT NOT NULL,            -- they came faster than they were stored, or were too many
	removed    BIGINT NOT NULL             -- they made room for newer ones, were too old, or were deleted
);
CREATE INDEX network_capture_team ON network_capture (team_id);
CREATE INDEX network_capture_task ON network_capture (task_id);
CREATE INDEX network_capture_scan ON network_capture (scan_id);

-- A request of a task or a scan, and its answer.
CREATE TABLE network_event (
	id             TEXT PRIMARY KEY,       -- uuid v7: later events sort later
	team_id        TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	capture_id     TEXT NOT NULL,          -- of the task or the scan
	task_id        TEXT REFERENCES task (id) ON DELETE CASCADE,
	scan_id        TEXT REFERENCES scan (id) ON DELETE CASCADE,
	replay_of      TEXT NOT NULL,          -- the event that was sent again; '': none
	sent_at        BIGINT NOT NULL,
	took_us        BIGINT NOT NULL,
	tool           TEXT NOT NULL,
	method         TEXT NOT NULL,
	host           TEXT NOT NULL,          -- host:port
	status         BIGINT NOT NULL,        -- 0: there was no answer
	request_bytes  BIGINT NOT NULL,
	response_bytes BIGINT NOT NULL,
	size           BIGINT NOT NULL,        -- of the sealed columns
	sealed_url     $BYTES NOT NULL,
	sealed         $BYTES NOT NULL
);
CREATE INDEX network_event_team ON network_event (team_id, id, size);
CREATE INDEX network_event_capture ON network_event (capture_id, id);
CREATE INDEX network_event_task ON network_event (task_id);
CREATE INDEX network_event_scan ON network_event (scan_id);

-- +goose Down
DROP TABLE network_event;
DROP TABLE network_capture;
DROP TABLE network_policy;
