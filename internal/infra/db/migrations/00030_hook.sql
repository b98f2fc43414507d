-- +goose Up
CREATE TABLE hook_delivery (
	id          TEXT PRIMARY KEY,      -- uuid v7: later deliveries sort later
	team_id     TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	subject     TEXT NOT NULL,         -- what the event is about, such as a task's id
	event       TEXT NOT NULL,
	url         TEXT NOT NULL,
	body        $BYTES NOT NULL,       -- frozen: what was sent is what is here
	state       TEXT NOT NULL,
	attempts    BIGINT NOT NULL DEFAULT 0,
	status_code BIGINT NOT NULL DEFAULT 0, -- 0: no answer
	error       TEXT NOT NULL DEFAULT '',
	created_at  BIGINT NOT NULL,
	started_at  BIGINT,
	finished_at BIGINT,
	duration_ms BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX hook_delivery_of_team ON hook_delivery (team_id, id);

-- +goose Down
DROP TABLE hook_delivery;
