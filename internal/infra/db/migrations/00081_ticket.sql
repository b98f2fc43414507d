-- +goose Up
-- Issues in trackers by the hash of a finding, shared by all scans of a team.
CREATE TABLE ticket (
	team_id       TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	hash          TEXT NOT NULL,
	config_id     TEXT NOT NULL,
	provider      TEXT NOT NULL,
	issue_id      TEXT NOT NULL DEFAULT '', -- empty: none is on record yet
	issue_url     TEXT NOT NULL DEFAULT '',
	seen_in       TEXT NOT NULL DEFAULT '', -- the scan and run that was told of last
	claimed_until BIGINT,                   -- somebody is at the tracker; NULL: nobody
	claim         TEXT NOT NULL DEFAULT '', -- who
	created_at    BIGINT NOT NULL,
	updated_at    BIGINT NOT NULL,
	PRIMARY KEY (team_id, hash, config_id, provider)
);

-- +goose Down
DROP TABLE ticket;
