-- +goose Up
-- What joins and splits of weaknesses have changed, so that they can be undone (package core/finding/identity): which
-- weakness a hash belonged to before, and where comments and tickets were.
CREATE TABLE finding_regroup (
	team_id   TEXT NOT NULL REFERENCES team (id) ON DELETE CASCADE,
	operation TEXT NOT NULL,               -- as in the timelines
	kind      TEXT NOT NULL,               -- hash, comment, ticket
	id        TEXT NOT NULL,               -- the hash, the comment's id, or the configuration and the provider
	was       TEXT NOT NULL,               -- the weakness before
	became    TEXT NOT NULL,               -- and after
	rule      TEXT NOT NULL DEFAULT '',    -- of the link before; empty: there was none
	actor     TEXT NOT NULL DEFAULT '',    -- of the link before
	at        BIGINT,                      -- of the link before
	PRIMARY KEY (team_id, operation, kind, id, was)
);

-- +goose Down
DROP TABLE finding_regroup;
