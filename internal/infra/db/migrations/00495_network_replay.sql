-- +goose Up
-- Requests that people had sent again.
CREATE TABLE network_replay (
	id        TEXT PRIMARY KEY,
	team_id   TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	event_id  TEXT NOT NULL REFERENCES network_event (id) ON DELETE CASCADE,
	state     TEXT NOT NULL,               -- queued, sent, failed
	note      TEXT NOT NULL,               -- why it failed
	result_id TEXT NOT NULL,               -- the event with the answer; '': none yet
	edits     $BYTES NOT NULL,             -- sealed
	asked_by  TEXT NOT NULL,               -- an e-mail address
	asked_at  BIGINT NOT NULL,
	ended_at  BIGINT
);
CREATE INDEX network_replay_event ON network_replay (event_id);
CREATE INDEX network_replay_team ON network_replay (team_id, state);

-- +goose Down
DROP TABLE network_replay;
