-- +goose Up
-- A team's session with the out-of-band server: its names, and the key that interactions are encrypted for.
CREATE TABLE interaction_session (
	team_id TEXT   NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	server  TEXT   NOT NULL, -- its URL
	sealed  $BYTES NOT NULL, -- oast.State as JSON, sealed with the team's id
	PRIMARY KEY (team_id, server)
);
-- Requests of scans whose out-of-band names may be contacted until a time.
CREATE TABLE interaction_request (
	name        TEXT   NOT NULL PRIMARY KEY, -- the identifier in an interaction
	team_id     TEXT   NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	scan_id     TEXT   NOT NULL REFERENCES scan (id) ON DELETE CASCADE,
	run         BIGINT NOT NULL,
	template_id TEXT   NOT NULL,
	request     $BYTES NOT NULL,             -- event.Pending as JSON
	heard       BIGINT NOT NULL DEFAULT 0,   -- interactions so far
	until       BIGINT NOT NULL
);
CREATE INDEX interaction_request_until ON interaction_request (until);
CREATE INDEX interaction_request_team ON interaction_request (team_id, until);
CREATE INDEX interaction_request_scan ON interaction_request (scan_id);

-- +goose Down
DROP TABLE interaction_request;
DROP TABLE interaction_session;
