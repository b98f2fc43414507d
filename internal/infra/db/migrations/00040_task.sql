-- +goose Up
CREATE TABLE task (
	id                  TEXT PRIMARY KEY,      -- uuid v7: later tasks sort later
	team_id             TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	user_id             TEXT NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
	instruction         TEXT NOT NULL,
	status              TEXT NOT NULL,
	completion_delivery TEXT NOT NULL DEFAULT '',
	options             $JSON NOT NULL,        -- the further fields of the request
	stream_id           TEXT NOT NULL,
	job_id              BIGINT NOT NULL DEFAULT 0,
	run                 BIGINT NOT NULL DEFAULT 0, -- fencing token: grows with each start, a late run's writes are refused
	last_seq            BIGINT NOT NULL DEFAULT 0,
	plan                $JSON,
	summary             TEXT NOT NULL DEFAULT '',
	created_at          BIGINT NOT NULL,
	updated_at          BIGINT NOT NULL,
	started_at          BIGINT,
	completed_at        BIGINT
);
CREATE INDEX task_of_user ON task (team_id, user_id, id);
CREATE INDEX task_open ON task (status) WHERE status IN ('queued', 'running');

CREATE TABLE task_event (
	task_id TEXT NOT NULL REFERENCES task (id) ON DELETE CASCADE,
	seq     BIGINT NOT NULL,
	type    TEXT NOT NULL,
	data    $JSON NOT NULL,
	at      BIGINT NOT NULL,
	PRIMARY KEY (task_id, seq)
);

CREATE TABLE task_step (
	task_id  TEXT NOT NULL REFERENCES task (id) ON DELETE CASCADE,
	seq      BIGINT NOT NULL,
	tool     TEXT NOT NULL,
	input    $JSON NOT NULL,
	done     $JSON,                            -- NULL: begun and not finished
	begun_at BIGINT NOT NULL,
	ended_at BIGINT,
	PRIMARY KEY (task_id, seq)
);

CREATE TABLE issue (
	id           TEXT PRIMARY KEY,
	team_id      TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	task_id      TEXT NOT NULL REFERENCES task (id) ON DELETE CASCADE,
	hash         TEXT NOT NULL,                -- of what was found where: the same finding again is the same row
	status       TEXT NOT NULL,
	verification TEXT NOT NULL,
	severity     TEXT NOT NULL,
	title        TEXT NOT NULL,
	description  TEXT NOT NULL,
	remediation  TEXT NOT NULL,
	template_id  TEXT NOT NULL,
	target       TEXT NOT NULL,
	matched_at   TEXT NOT NULL,
	evidence     $JSON NOT NULL,
	event        $JSON NOT NULL,               -- what the engine saw first
	note         TEXT NOT NULL DEFAULT '',     -- why it is not verified
	created_at   BIGINT NOT NULL,
	updated_at   BIGINT NOT NULL,
	UNIQUE (task_id, hash)
);
CREATE INDEX issue_of_team ON issue (team_id, verification, id);

CREATE TABLE task_artifact (
	task_id    TEXT PRIMARY KEY REFERENCES task (id) ON DELETE CASCADE,
	body       $BYTES NOT NULL,
	created_at BIGINT NOT NULL
);

-- +goose Down
DROP TABLE task_artifact;
DROP TABLE issue;
DROP TABLE task_step;
DROP TABLE task_event;
DROP TABLE task;
